"""Lowers a reply after a wake word until the server has decided which satellite answers.

state    event                                    next state
plays    the wake word is heard                   lowered
lowered  another satellite answers                plays, at its own volume
lowered  `DECIDED_S` later                        interrupted: this satellite answers
lowered  the reply ends, or the client leaves     over
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from web.remote.sound.playback import RemotePlayback

DECIDED_S = 0.5
"""Time in seconds after which the server has decided: `wake_contest.WINDOW_S`, and the way there and back."""


@dataclass(slots=True)
class ContestedReply:
    """The reply that played when the wake word was heard. Not thread-safe: use it on the event loop.

    Attributes:
        playback: Plays the replies.
        interrupt: Stops the reply.
    """

    playback: RemotePlayback
    interrupt: Callable[[], None]
    _decision: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Lowers the reply that plays now."""
        self.end()
        self.playback.loudness(lower=True)
        self._decision = asyncio.get_running_loop().call_later(DECIDED_S, self._interrupt, self.playback.playing)

    def end(self) -> None:
        """Lets the reply go on, if one is lowered."""
        if self._decision is not None:
            self._decision.cancel()
            self._decision = None
            self.playback.loudness(lower=False)

    def _interrupt(self, reply: object) -> None:
        self.end()
        if self.playback.sounding and self.playback.playing == reply:
            self.interrupt()
