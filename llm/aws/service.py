"""An AWS service over HTTP: credentials, signature, connections and refusals. It does not parse the answers."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from urllib.parse import quote

from llm.address import base_url_of, checked_headers, own_headers, route_url
from llm.aws.credentials import AwsCredentials
from llm.aws.errors import AwsRefusals, fault_of_answer
from llm.aws.request import AwsApi, region_of, signed_headers
from llm.chat import CONNECT_TIMEOUT_S, ChatOptions, Message, RequestSent, SlotAcquired, texts_of
from llm.errors import LlmError
from llm.http.request_body import encoded
from llm.http.stream import HttpStream
from llm.token_deadlines import DeadlineOptions, TokenDeadlines

WARM_ROUTE = "/ping"
"""Any answer will do, even a refusal: the request only opens a connection."""


class AwsSettings(DeadlineOptions, total=False):
    """Connection settings of a service; all are optional.

    Attributes:
        region: Default: AWS_REGION, AWS_DEFAULT_REGION, or the profile's region.
        profile: A profile in ~/.aws; default: the environment's choice.
        url: Address of a VPC endpoint or a test server; default: the region's public address.
        headers: Additional signed headers of every request; their values are as private as a key.
        connect_timeout_s: For TCP and for TLS each; default 3 s.
    """

    region: str | None
    profile: str | None
    url: str | None
    headers: Mapping[str, str]
    connect_timeout_s: float


class AwsService:
    """Signed requests to one service over a connection pool.

    Attributes:
        where: Its address, for messages.
        deadlines: The deadlines of its answers.
        refusals: Converts its faults into errors, including those inside an answer.
    """

    def __init__(self, endpoint: str, api: AwsApi, model: str, settings: AwsSettings) -> None:
        """Initializes the pool without I/O. `model`: the model's name, for messages.

        Raises:
            ValueError: A region is missing, or a setting is invalid; the text names the endpoint and the
                remedy.
        """
        profile = settings.get("profile")
        self._api = api
        self._region = region_of(endpoint, settings.get("region"), profile)
        self._base = base_url_of(endpoint, settings.get("url") or api.url(self._region), route="")
        self._credentials = AwsCredentials(endpoint, profile)
        self._headers = _checked(endpoint, settings.get("headers", {}))
        self._http = HttpStream(
            endpoint,
            self._base,
            model=model,
            api_key=None,
            headers={"accept": "application/vnd.amazon.eventstream"},
            connect_timeout_s=settings.get("connect_timeout_s", CONNECT_TIMEOUT_S),
            parse_refusal=self._parse_refusal,
        )
        self.where = self._http.where.rstrip("/")
        self.deadlines = TokenDeadlines.of(endpoint, self.where, settings)
        self.refusals = AwsRefusals(endpoint, self.where, model, api.action, self._region)

    async def load(self) -> None:
        """Fetches credentials and opens two idle connections. Call it again later to keep them. Never fails."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._find_credentials(), name="aws credentials")
            group.create_task(self._http.warm(WARM_ROUTE), name="aws connections")

    def private(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Returns the texts that errors must not quote: the conversation and the secrets."""
        return (*texts_of(messages), *self._headers.values())

    async def post(
        self,
        route: str,
        fields: Mapping[str, object],
        options: ChatOptions,
        private: Sequence[str],
        headers: Mapping[str, str],
    ) -> AsyncGenerator[SlotAcquired | RequestSent | bytes]:
        """Sends the fields as signed JSON: see `HttpStream.post`. `route` is in its encoded form: see `path_part`.

        The headers of `options` are not signed: a proxy may rewrite the trace context, which would break a signature.
        """
        keys, body = await self._credentials.current(), encoded(fields)
        url = str(route_url(self._base, route))
        fixed = {"content-type": "application/json", **self._headers, **headers}
        signed = signed_headers(self._api, self._region, keys, url, body=body, headers=fixed)
        secrets = (keys.secret_key, keys.token or "")
        posting = self._http.post(route, body, private=(*private, *secrets), headers={**signed, **options.headers})
        async with aclosing(posting) as answer:
            async for item in answer:
                yield item

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._http.aclose()

    async def _find_credentials(self) -> None:
        with suppress(LlmError):
            await self._credentials.current()

    def _parse_refusal(self, status: int, headers: Mapping[str, str], body: bytes, private: Sequence[str]) -> LlmError:
        fault = fault_of_answer(status, headers, body)
        if fault.has_outdated_keys:
            self._credentials.forget()
        return self.refusals.error_of(fault, private)


def _checked(endpoint: str, headers: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the headers. Raises ValueError for headers that the signature sets or that HTTP cannot carry."""
    for name in headers:
        if name.lower().startswith("x-amz-"):
            raise ValueError(f"llm endpoint {endpoint!r}: headers: {name} is set by the program: leave it out")
    return own_headers(endpoint, None, checked_headers(endpoint, headers, keyed=True))


def path_part(name: str) -> str:
    """Returns a name encoded as one path segment: the colons and slashes of an ARN belong to it."""
    return quote(name, safe="-_.~")
