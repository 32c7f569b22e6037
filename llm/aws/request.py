"""Region, address and signature (SigV4) of requests to an AWS service."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm.aws.credentials import Keys
from llm.aws.sdk import sdk

_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")

_SUFFIXES = (
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-iso-", "c2s.ic.gov"),
)
"""Domains of AWS's partitions by region prefix; all other regions: amazonaws.com."""


@dataclass(frozen=True, slots=True)
class AwsApi:
    """One of AWS's services.

    Attributes:
        signing_name: Its name in signatures.
        host: First part of its address.
        action: The action that an IAM policy must allow.
    """

    signing_name: str
    host: str
    action: str

    def url(self, region: str) -> str:
        """Returns its address in a region."""
        suffix = next((suffix for prefix, suffix in _SUFFIXES if region.startswith(prefix)), "amazonaws.com")
        return f"https://{self.host}.{region}.{suffix}"


SAGEMAKER = AwsApi("sagemaker", "runtime.sagemaker", "sagemaker:InvokeEndpointWithResponseStream")
BEDROCK = AwsApi("bedrock", "bedrock-runtime", "bedrock:InvokeModelWithResponseStream")


def region_of(endpoint: str, region: str | None, profile: str | None) -> str:
    """Returns the region: `region`, else the environment's, else the profile's.

    Raises:
        ValueError: There is no region, or it is invalid; the text names the endpoint and the remedy.
    """
    name = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _of_profile(profile)
    if not name:
        places = "set region, AWS_REGION, or region in the profile in ~/.aws/config"
        raise ValueError(f"llm endpoint {endpoint!r}: no AWS region: {places}")
    if not _REGION.fullmatch(name):
        raise ValueError(f"llm endpoint {endpoint!r}: region must look like us-east-1, not {name!r}")
    return name


def _of_profile(profile: str | None) -> str | None:
    try:
        region: str | None = sdk("session").Session(profile=profile).get_config_variable("region")
    except sdk("exceptions").BotoCoreError:
        return None  # no such profile: the look-up of the credentials reports it
    return region


def signed_headers(
    api: AwsApi, region: str, keys: Keys, url: str, *, body: bytes, headers: Mapping[str, str]
) -> dict[str, str]:
    """Returns the headers of a POST request with its signature: date, session token, authorization.

    Args:
        api: The service.
        region: The region.
        keys: The keys to sign with.
        url: Exactly as sent. botocore encodes its path again for the signature, as these services do: a `%3A` in it
            must be passed as `%3A`.
        body: The body.
        headers: Headers to sign, in addition to the host.
    """
    request = sdk("awsrequest").AWSRequest("POST", url, headers=dict(headers), data=body)
    sdk("auth").SigV4Auth(keys, api.signing_name, region).add_auth(request)
    return dict(request.headers.items())
