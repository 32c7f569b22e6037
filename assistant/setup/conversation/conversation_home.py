"""The home of one conversation: the one that its client has sent, instead of the server's."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from assistant.home import HomeFault, HomePort, HomeState, ServiceCall
from assistant.home.client_home import ClientHome, SentHome, SentState
from assistant.setup.answering.services import home_skill
from assistant.skills.effects import SkillEffects
from assistant.skills.kinds import MatchingSkill


@dataclass(slots=True)
class ConversationHome:
    """Gives a conversation the home of its client. Other conversations do not see it.

    Attributes:
        effects: Returns the effects of the conversation's skills.
        send: Sends a call to the client, with its id.
        in_thread: Calls a function that blocks.
        sent: The home in use; None: the client has sent none.
        port: Its connection; None: the client has never sent one.
    """

    effects: Callable[[], SkillEffects]
    send: Callable[[str, ServiceCall], None]
    in_thread: Callable[..., Awaitable[None]] = asyncio.to_thread
    sent: SentHome | None = None
    port: ClientHome | None = None
    _skill: tuple[MatchingSkill, Callable[[HomeState, str], None]] | None = None
    _servers: HomePort | None = None

    async def use(self, sent: SentHome | None) -> None:
        """Uses what the client has sent; None: the server's home again.

        Tables are built in a thread. The first home of a process takes a moment; a reply that is requested afterwards
        knows the names.
        """
        if sent is self.sent:
            return
        self.sent, effects = sent, self.effects()
        if sent is None:
            if effects.own_home is not None:
                effects.home, effects.own_home = self._servers, None
                self._leave_directory()
            return
        if self.port is None or self._skill is None:
            self.port = ClientHome(self.send, sent.state, sent.kinds)
            self._skill = home_skill(self.port)
        skill, prepare = self._skill
        await self.in_thread(prepare, sent.state, effects.language)
        if effects.own_home is None:
            self._servers = effects.home
        self.port.replace_devices(sent)
        if effects.timers.homes is not None:  # for commands that are planned
            effects.timers.homes.add_home(self.port)
        effects.home, effects.own_home = self.port, skill

    def end_call(self, call_id: str, fault: HomeFault | None, states: Sequence[SentState]) -> None:
        """Takes the result of a call."""
        if self.port is not None:
            self.port.end_call(call_id, fault, states)

    def update_states(self, states: Sequence[SentState]) -> None:
        """Takes over states that have changed."""
        if self.port is not None:
            self.port.update_states(states)

    def on_disconnect(self) -> None:
        """Fails the calls in progress: their client is gone."""
        if self.port is not None:
            self.port.on_disconnect()
            self.sent = None  # a client that is back sends its home again, though nothing may have changed

    async def aclose(self) -> None:
        """Ends the calls in progress."""
        if self.port is not None:
            self._leave_directory()
            await self.port.aclose()

    def _leave_directory(self) -> None:
        """Makes no more planned commands in this home."""
        homes = self.effects().timers.homes
        if homes is not None and self.port is not None:
            homes.remove_home(self.port)
