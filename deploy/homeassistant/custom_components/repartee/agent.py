"""The conversations of one server: each is kept open while it may go on."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from homeassistant.components import persistent_notification
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import CALLBACK_TYPE, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.storage import Store

from .connection import Conversation, Question
from .const import DOMAIN
from .home import ExposedHome
from .server import Offer, Server

IDLE_S = 300.0
"""Time after the last question after which a conversation ends, in seconds; as in Home Assistant."""

MAX_CONVERSATIONS = 32
"""Conversations that are open at the same time. The one that has been idle for longest ends for another one; none ends
while it is being answered."""

STORE_VERSION = 1

CHECK_EVERY_S = 60.0
"""Interval at which idle conversations end."""

Key = tuple[str, str | None]
"""Id of a conversation and of the user: calls are made with the rights of the one who asked."""

STANDBY: Key = ("", None)
"""A conversation without questions, which is always open: commands that are planned for later need a connection.

Users with planned commands have one of their own, with their rights: ("", id of the user).
"""


@dataclass
class Agent:
    """Asks a server. Use it on the event loop.

    Attributes:
        hass: Home Assistant.
        server: The server.
        offer: What it offers.
        home: The home that it sees.
        store: Keeps the ids of the users who may have planned commands.
    """

    hass: HomeAssistant
    server: Server
    offer: Offer
    home: ExposedHome
    store: Store[list[str]]
    _planners: set[str] = field(default_factory=set)
    _open: dict[Key, Conversation] = field(default_factory=dict)
    _asked_s: dict[Key, float] = field(default_factory=dict)
    _end_checks: CALLBACK_TYPE = field(default=lambda: None)

    async def start(self) -> None:
        """Follows the changes of the home until `aclose`, and connects for the users with planned commands."""
        self._planners = set(await self.store.async_load() or ())
        self.home.on_home = self._send_home
        self.home.on_states = self._send_states
        self.home.start()
        for key in (STANDBY, *(("", user_id) for user_id in self._planners)):
            self._conversation(key).stay_connected()
        self._end_checks = async_track_time_interval(self.hass, self._check, timedelta(seconds=CHECK_EVERY_S))

    async def aclose(self) -> None:
        """Ends all conversations."""
        self._end_checks()
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

    @property
    def planners(self) -> frozenset[str]:
        """Ids of the users who may have planned commands."""
        return frozenset(self._planners)

    async def ask(self, conversation_id: str, question: Question) -> AsyncGenerator[str]:
        """Yields the parts of the answer. Raises ServerError."""
        key = conversation_id, question.context.user_id
        await self._end_idle(key)
        conversation = self._conversation(key)
        async for part in conversation.ask(question):
            yield part
        if key in self._open:
            self._asked_s[key] = self.hass.loop.time()

    def language_of(self, language: str) -> str:
        """Returns the language that a conversation asks for: "" for the server's own, or one that it does not offer."""
        code = language.partition("-")[0].partition("_")[0].lower()
        own = self.offer.language.partition("-")[0].lower()
        return code if code != own and code in self.offer.languages else ""

    # ---- private ----

    def _conversation(self, key: Key) -> Conversation:
        """Returns the conversation; opens it if there is none."""
        self._asked_s[key] = self.hass.loop.time()
        if key not in self._open:
            http = async_get_clientsession(self.hass)
            made = self._open[key] = Conversation(http, self.server, self.home, self._announce, key[1] or "")
            made.on_plans = lambda any_plans: self._note_plans(key[1], any_plans=any_plans)
        return self._open[key]

    async def _check(self, _now: datetime) -> None:
        await self._end_idle(STANDBY)

    async def _end_idle(self, kept: Key) -> None:
        """Ends conversations that do not go on, and the oldest ones beyond the bound."""
        now_s = self.hass.loop.time()
        standing = {STANDBY, *(("", user_id) for user_id in self._planners)}
        others = sorted((key for key in self._open if key not in {kept, *standing}), key=lambda key: self._asked_s[key])
        surplus = len(others) + (kept != STANDBY) - MAX_CONVERSATIONS
        for index, key in enumerate(key for key in others if not self._open[key].busy):
            is_idle = now_s - self._asked_s[key] > IDLE_S and not self._rings_here(key)
            if is_idle or index < surplus:
                await self._end(key)

    def _note_plans(self, user_id: str | None, *, any_plans: bool) -> None:
        """Keeps who needs a connection after a restart: the server makes a command with the rights of its user only."""
        if user_id is None or any_plans == (user_id in self._planners):
            return
        (self._planners.add if any_plans else self._planners.discard)(user_id)
        self.hass.async_create_task(self.store.async_save(sorted(self._planners)), "users with plans of Repartee")

    def _rings_here(self, key: Key) -> bool:
        """Returns whether something is set, and this is the latest conversation of the user at this satellite."""
        places = {key: _place(conversation) for key, conversation in self._open.items()}
        latest = max(
            (other for other in self._open if places[other] == places[key]), key=lambda key: self._asked_s[key]
        )
        return self._open[key].has_timers and key == latest

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


def _place(conversation: Conversation) -> tuple[str | None, str | None]:
    """Returns the user and the satellite of a conversation."""
    question = conversation.question
    return (None, None) if question is None else (question.context.user_id, question.device_id)
