"""One service over HTTP, as its client needs it: address, key, connections, deadlines, and what no error may quote."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from llm.address import base_url_of, checked_headers, is_private
from llm.chat import ChatOptions, Message, RequestSent, SlotAcquired, texts_of
from llm.http.request_body import encoded
from llm.http.stream import CONNECT_TIMEOUT_S, HttpStream
from llm.token_deadlines import DeadlineOptions, TokenDeadlines


class HttpSettings(DeadlineOptions, total=False):
    """How a service is asked; all may be left out.

    Attributes:
        api_key: Sent as bearer token.
        headers: Further ones of every request; their values are as private as the key.
        connect_timeout_s: For TCP and for TLS each; 3 s.
    """

    api_key: str | None
    headers: Mapping[str, str]
    connect_timeout_s: float


class HttpService:
    """A pool of connections to one service.

    Attributes:
        where: Its address for people.
        private_address: It is on this machine or in a network of one's own.
        pace: The deadlines of its answers.
    """

    def __init__(
        self,
        endpoint: str,
        url: str,
        settings: HttpSettings,
        *,
        route: str,
        model: str,
        example: str = "http://127.0.0.1:8000/v1",
    ) -> None:
        """`url` with or without `route`; `model` as people know it; `example`: of an address, for the error.

        Raises ValueError, naming the endpoint and the setting, for what can never work.
        """
        # A key read from a file or a shell often ends in a newline.
        key = (settings.get("api_key") or "").strip() or None
        headers = checked_headers(endpoint, settings.get("headers", {}), keyed=key is not None)
        self._secrets = (*headers.values(), *(() if key is None else (key,)))
        base = base_url_of(endpoint, url, route=route, example=example)
        self.private_address = is_private(base.host)
        self._http = HttpStream(
            endpoint,
            base,
            model=model,
            api_key=key,
            headers=headers,
            connect_timeout_s=settings.get("connect_timeout_s", CONNECT_TIMEOUT_S),
            under="/v1" if example.endswith("/v1") else "",
        )
        self.where = self._http.where
        self.pace = TokenDeadlines.of(endpoint, self.where, settings)

    async def warm(self, route: str) -> bytes:
        """As `HttpStream.warm`."""
        return await self._http.warm(route)

    def private(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """What no error may quote: what was said, and what is secret."""
        return (*texts_of(messages), *self._secrets)

    def post(
        self, route: str, fields: Mapping[str, object], options: ChatOptions, private: Sequence[str]
    ) -> AsyncGenerator[SlotAcquired | RequestSent | bytes]:
        """As `HttpStream.post`, the body as JSON."""
        return self._http.post(route, encoded(fields), private=private, headers=options.headers)

    async def aclose(self) -> None:
        """Close connections. Idempotent; bounded in time."""
        await self._http.aclose()
