"""The conversations of one server: each is kept open while it may go on."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from homeassistant.components import persistent_notification
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from .connection import Conversation, Question
from .const import DOMAIN
from .home import ExposedHome
from .server import Offer, Server

IDLE_S = 300.0
"""Time after the last question after which a conversation ends, in seconds; as in Home Assistant."""

MAX_CONVERSATIONS = 8
"""Conversations that are open at the same time. The one that has been idle for longest ends for another one."""

Key = tuple[str, str | None]
"""Id of a conversation and of the user: calls are made with the rights of the one who asked."""


@dataclass
class Agent:
    """Asks a server. Use it on the event loop.

    Attributes:
        hass: Home Assistant.
        server: The server.
        offer: What it offers.
        home: The home that it sees.
    """

    hass: HomeAssistant
    server: Server
    offer: Offer
    home: ExposedHome
    _open: dict[Key, Conversation] = field(default_factory=dict)
    _asked_s: dict[Key, float] = field(default_factory=dict)

    def start(self) -> None:
        """Follows the changes of the home until `aclose`."""
        self.home.on_home = self._send_home
        self.home.on_states = self._send_states
        self.home.start()

    async def aclose(self) -> None:
        """Ends all conversations."""
        self.home.stop()
        for key in tuple(self._open):
            await self._end(key)

    @property
    def conversations(self) -> list[dict[str, Any]]:
        """Facts about the open conversations, without words."""
        return [
            {"connected": conversation.connected, "has_timers": conversation.has_timers}
            for conversation in self._open.values()
        ]

    async def ask(self, conversation_id: str, question: Question) -> AsyncGenerator[str]:
        """Yields the parts of the answer. Raises ServerError."""
        key = conversation_id, question.context.user_id
        await self._end_idle(key)
        conversation = self._open.get(key)
        if conversation is None:
            http = async_get_clientsession(self.hass)
            conversation = self._open[key] = Conversation(http, self.server, self.home, self._announce)
        self._asked_s[key] = self.hass.loop.time()
        async for part in conversation.ask(question):
            yield part
        self._asked_s[key] = self.hass.loop.time()

    def language_of(self, language: str) -> str:
        """Returns the language that a conversation asks for: "" for the server's own, or one that it does not offer."""
        code = language.partition("-")[0].partition("_")[0].lower()
        own = self.offer.language.partition("-")[0].lower()
        return code if code != own and code in self.offer.languages else ""

    # ---- private ----

    async def _end_idle(self, kept: Key) -> None:
        """Ends conversations that do not go on, and the oldest ones beyond the bound."""
        now_s = self.hass.loop.time()
        others = sorted((key for key in self._open if key != kept), key=lambda key: self._asked_s[key])
        surplus = len(others) + 1 - MAX_CONVERSATIONS
        for index, key in enumerate(others):
            is_idle = now_s - self._asked_s[key] > IDLE_S and not self._open[key].has_timers
            if is_idle or index < surplus:
                await self._end(key)

    async def _end(self, key: Key) -> None:
        self._asked_s.pop(key, None)
        await self._open.pop(key).aclose()

    def _send_home(self, home: dict[str, Any]) -> None:
        for conversation in self._open.values():
            conversation.send_home(home)

    def _send_states(self, states: list[dict[str, Any]]) -> None:
        for conversation in self._open.values():
            conversation.send_states(states)

    def _announce(self, text: str, device_id: str | None) -> None:
        """Tells a text at the satellite that has asked; without one, as a notification."""
        entries = er.async_entries_for_device(er.async_get(self.hass), device_id) if device_id else []
        satellites = [entry.entity_id for entry in entries if entry.domain == "assist_satellite"]
        if satellites and self.hass.services.has_service("assist_satellite", "announce"):
            data = {ATTR_ENTITY_ID: satellites[:1], "message": text}
            self.hass.async_create_task(self.hass.services.async_call("assist_satellite", "announce", data))
        else:
            persistent_notification.async_create(self.hass, text, title="Repartee", notification_id=f"{DOMAIN}_said")
