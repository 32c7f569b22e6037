"""Addresses and signatures, compared with botocore's own."""

import importlib
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from support.services.aws_server import KEY_ID, REGION, SECRET, TOKEN, own_environment, signature_of
from support.services.llm_server import Seen
from support.texts.text_cases import text_cases

from llm.aws.request import BEDROCK, SAGEMAKER, AwsApi, signed_headers
from llm.aws.service import path_part

REGIONS = ("us-east-1", "eu-central-1", "ap-south-1", "us-gov-west-1", "cn-north-1")


@pytest.mark.parametrize("api", [SAGEMAKER, BEDROCK], ids=["sagemaker", "bedrock"])
@text_cases("region", [*REGIONS, "us-iso-east-1", "us-isob-east-1", "eusc-de-east-1"])
def test_addresses_match_botocore(
    api: AwsApi, region: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own_environment(monkeypatch, tmp_path_factory.mktemp("aws"))
    service = {"sagemaker": "sagemaker-runtime", "bedrock": "bedrock-runtime"}[api.signing_name]
    session = importlib.import_module("botocore.session").Session()
    client = session.create_client(service, region_name=region)
    endpoint, signing = client.meta.endpoint_url, client.meta.service_model.signing_name
    client.close()
    assert api.url(region) == endpoint
    assert api.signing_name == signing


@pytest.mark.parametrize("token", [TOKEN, None], ids=["with token", "without token"])
@pytest.mark.parametrize(
    "name",
    ["plain", "arn:aws:bedrock:eu-central-1:1:provisioned-model/abc", "a b~%+é"],
    ids=["plain name", "ARN", "special characters"],
)
def test_signature_matches_botocore_for_encoded_names(name: str, token: str | None) -> None:
    keys = SimpleNamespace(access_key=KEY_ID, secret_key=SECRET, token=token)
    url = f"https://vpce-1.example:8443/model/{path_part(name)}/converse-stream?a=b"
    signed = signed_headers(BEDROCK, REGION, keys, url, body=b"{}", headers={"content-type": "application/json"})
    headers = {key.lower(): value for key, value in signed.items()}
    authorization = headers["authorization"]
    names = authorization.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert names == sorted({"content-type", "host", "x-amz-date"} | ({"x-amz-security-token"} if token else set()))
    parts = urlsplit(url)
    seen = Seen("POST", f"{parts.path}?{parts.query}", {**headers, "host": parts.netloc}, b"{}")
    signature = authorization.rpartition("Signature=")[2]
    assert signature == signature_of(seen, REGION, "bedrock", names)
    for changed in (
        Seen("POST", seen.path, seen.headers, b"{ }"),
        Seen("POST", seen.path.replace("converse", "reverse"), seen.headers, b"{}"),
        Seen("POST", seen.path, {**seen.headers, "host": "other"}, b"{}"),
    ):
        assert signature != signature_of(changed, REGION, "bedrock", names)


def test_path_part_encodes_name_as_one_segment() -> None:
    assert path_part("arn:a/b") == "arn%3Aa%2Fb"
