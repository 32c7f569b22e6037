"""Fake SageMaker and Bedrock services: scripted answers, as in `llm_server`, with AWS's request signatures.

botocore computes the signature of every request again from the received bytes; a wrong one is refused as AWS refuses
it.
So what passes here for our client must also pass for the real boto3 client, and vice versa.
"""

import asyncio
import base64
import importlib
import json
import re
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest
from support.services.llm_server import LAST_CHUNK, Script, Seen, Server, chunk

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\n"
    b"x-amzn-sagemaker-content-type: application/jsonlines\r\ntransfer-encoding: chunked\r\n\r\n"
)
KEY_ID = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "FwoGZXIvYXdzEXAMPLEsessionTOKEN//////////wEaDE=="
REGION = "eu-central-1"

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)


def frame(name: str, payload: bytes = b"", *, kind: str = "event", **headers: str) -> bytes:
    """Returns one message of an event stream."""
    named = {"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}[kind]
    fields = {":message-type": kind, named: name, ":content-type": "application/json", **headers}
    head = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for key, value in fields.items()
    )
    start = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    message = start + struct.pack("!I", crc32(start)) + head + payload
    return message + struct.pack("!I", crc32(message))


def fault(name: str, **fields: object) -> bytes:
    """Returns an exception frame."""
    return frame(name, json.dumps(fields).encode(), kind="exception")


def part(data: bytes) -> bytes:
    """Returns SageMaker's PayloadPart, which holds the container's bytes unchanged."""
    return frame("PayloadPart", data, **{":content-type": "application/octet-stream"})


def event(name: str, **fields: object) -> bytes:
    """Returns one event of ConverseStream; `p` is the padding that the service adds."""
    return frame(name, json.dumps({**fields, "p": "abcdefgh"}).encode())


def wrapped(**fields: object) -> bytes:
    """Returns one event of InvokeModelWithResponseStream: the model's JSON in base64."""
    return event("chunk", bytes=base64.b64encode(json.dumps(fields).encode()).decode())


def said(*texts: str) -> bytes:
    """Returns the text of a ConverseStream."""
    begin = event("messageStart", role="assistant")
    deltas = [event("contentBlockDelta", contentBlockIndex=0, delta={"text": text}) for text in texts]
    return begin + b"".join(deltas) + event("contentBlockStop", contentBlockIndex=0)


def usage(**counts: int) -> bytes:
    """Returns the token counts at the end of a ConverseStream."""
    counted = {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11, **counts}
    return event("metadata", usage=counted, metrics={"latencyMs": 7})


def answer(*pieces: bytes) -> Script:
    """Returns a complete answer; each piece is an HTTP chunk."""
    return (HEAD, *map(chunk, pieces), LAST_CHUNK)


def refusal(code: int, kind: str, **fields: object) -> Script:
    """Returns an AWS error response."""
    body = json.dumps(fields).encode()
    head = f"HTTP/1.1 {code} X\r\nx-amzn-errortype: {kind}:http://internal.amazon.com/\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return (head.encode() + body,)


@dataclass
class AwsServer(Server):
    """State of the server for tests.

    Attributes:
        verified: Services whose signatures were right, in order.
        token: Required session token; "" for none.
    """

    verified: list[str] = field(default_factory=list)
    token: str = ""

    def _next_script(self) -> Script:
        if problem := self._problem(self.seen[-1]):
            return refusal(403, problem, message="no")
        return super()._next_script()

    def _problem(self, seen: Seen) -> str:
        found = _AUTHORIZATION.fullmatch(seen.headers.get("authorization", ""))
        if found is None:
            return "MissingAuthenticationTokenException"
        key_id, _, region, service, names, signature = found.groups()
        if key_id != KEY_ID or seen.headers.get("x-amz-security-token", "") != self.token:
            return "UnrecognizedClientException"
        if self.token and "x-amz-security-token" not in names.split(";"):
            return "IncompleteSignatureException"
        if signature != signature_of(seen, region, service, names.split(";")):
            return "InvalidSignatureException"
        self.verified.append(service)
        return ""


def signature_of(seen: Seen, region: str, service: str, names: list[str]) -> str:
    """Returns the expected signature of a request, computed only from the received bytes."""
    auth = importlib.import_module("botocore.auth")
    request = importlib.import_module("botocore.awsrequest").AWSRequest(
        seen.method,
        f"http://{seen.headers['host']}{seen.path}",
        headers={name: seen.headers[name] for name in names},
        data=seen.body,
    )
    request.context["timestamp"] = seen.headers["x-amz-date"]
    keys = SimpleNamespace(access_key=KEY_ID, secret_key=SECRET, token=None)
    signer = auth.SigV4Auth(keys, service, region)
    return str(signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request))


@asynccontextmanager
async def serving_aws(*scripts: Script, token: str = "") -> AsyncGenerator[AwsServer]:
    """Serves scripts on a free loopback port."""
    server = AwsServer(list(scripts), token=token)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        await server.hang_up()


def own_environment(patch: pytest.MonkeyPatch, tmp_path: Path, *, keys: bool = True) -> None:
    """Sets up an environment in which only the test's own credentials are found."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                 "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                 "AWS_CREDENTIAL_EXPIRATION"):  # fmt: skip
        patch.delenv(name, raising=False)
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    patch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    if keys:
        patch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def boto3_client(service: str, url: str, *, token: str = "") -> Any:
    """Returns the real boto3 client, pointed at a test server."""
    config = importlib.import_module("botocore.config").Config(retries={"total_max_attempts": 1})
    return importlib.import_module("boto3").client(
        service,
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        aws_session_token=token or None,
        config=config,
    )
