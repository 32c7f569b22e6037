"""An HTTP service as its client uses it: address, key, connections, deadlines, and the texts errors must not quote."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from llm.address import base_url_of, checked_headers, is_private
from llm.chat import CONNECT_TIMEOUT_S, ChatOptions, Message, RequestSent, SlotAcquired, texts_of
from llm.http.request_body import encoded
from llm.http.stream import HttpStream
from llm.token_deadlines import DeadlineOptions, TokenDeadlines


class HttpSettings(DeadlineOptions, total=False):
    """Connection settings of a service; all are optional.

    Attributes:
        api_key: Sent as bearer token.
        headers: Additional headers of every request; their values are as private as the key.
        connect_timeout_s: For TCP and for TLS each; default 3 s.
    """

    api_key: str | None
    headers: Mapping[str, str]
    connect_timeout_s: float


class HttpService:
    """A connection pool for one service.

    Attributes:
        where: Its address, for messages.
        private_address: Whether it is on this machine or in a private network.
        deadlines: The deadlines of its answers.
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
        """Initializes the pool without I/O.

        Args:
            endpoint: The endpoint's name in the configuration.
            url: The address, with or without `route`.
            settings: See HttpSettings.
            route: The path of the requests.
            model: The model's name, for messages.
            example: A valid address, for error messages.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
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
            usual_ending="/v1" if example.endswith("/v1") else "",
        )
        self.where = self._http.where
        self.deadlines = TokenDeadlines.of(endpoint, self.where, settings)

    async def warm(self, route: str) -> bytes:
        """Opens connections: see `HttpStream.warm`."""
        return await self._http.warm(route)

    def private(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Returns the texts that errors must not quote: the conversation and the secrets."""
        return (*texts_of(messages), *self._secrets)

    def post(
        self, route: str, fields: Mapping[str, object], options: ChatOptions, private: Sequence[str]
    ) -> AsyncGenerator[SlotAcquired | RequestSent | bytes]:
        """Sends the fields as JSON: see `HttpStream.post`."""
        return self._http.post(route, encoded(fields), private=private, headers=options.headers)

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        await self._http.aclose()
