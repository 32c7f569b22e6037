"""What a client has sent ahead of real time: held here, so that its socket is read on and its pings are answered."""

import asyncio
from collections import deque

from web.wire.commands import Append, ClearInput, Command, CommitInput, CreateResponse, PlayoutReport

MOST_BYTES = 8 << 20
"""Of one client: 174 s of pcm. With more of them its socket is not read."""

LEAST_BYTES = 1 << 20
"""Every client may have so many, however many there are."""

MOST_BYTES_OF_ALL = 64 << 20
"""Of all clients of a server."""


class BacklogRoom:
    """How much the backlogs of all clients hold together."""

    def __init__(self) -> None:
        self.bytes = 0


class AudioBacklog:
    """Sound that is held back, and the commands that refer to it, in order. Of one connection; bounded by its reader.

    A commit, a clear and a request for a response refer to the sound before them: they wait for it, and what comes
    behind them waits for them. No other command is held back.
    """

    def __init__(self, room: BacklogRoom | None = None) -> None:
        """`room`: shared with other clients."""
        self._room = room or BacklogRoom()
        self._held: deque[Command] = deque()
        self._commands = 0
        self._bytes = 0
        self._came = asyncio.Event()

    @property
    def empty(self) -> bool:
        """Nothing is held."""
        return not self._held

    @property
    def full(self) -> bool:
        """Nothing more should be put in."""
        return self._bytes >= MOST_BYTES or (self._bytes >= LEAST_BYTES and self._room.bytes >= MOST_BYTES_OF_ALL)

    def holds_up(self, command: Command, *, behind: bool = False) -> bool:
        """Whether this command, which is no sound, has to wait in here.

        `behind`: the conversation has not heard yet what was taken from here.
        """
        if isinstance(command, PlayoutReport):
            return False
        refers_to_sound = isinstance(command, CommitInput | ClearInput | CreateResponse)
        return bool(self._held) or behind if refers_to_sound else self._commands > 0

    def put(self, command: Command) -> None:
        """Hold it. A clear drops the sound that it would clear."""
        if isinstance(command, ClearInput):
            while self._held and isinstance(self._held[-1], Append):
                self._forget(self._held.pop())
        self._held.append(command)
        if isinstance(command, Append):
            self._count(len(command.audio))
        else:
            self._commands += 1
        self._came.set()

    async def first(self) -> Command:
        """The next one. It stays in here until it is `done`."""
        while not self._held:
            self._came.clear()
            await self._came.wait()
        return self._held[0]

    def is_wanted(self, command: Command) -> bool:
        """Whether it is still the first: it was not dropped."""
        return bool(self._held) and self._held[0] is command

    def done(self, command: Command) -> None:
        """It was taken."""
        if self.is_wanted(command):
            self._forget(self._held.popleft())

    def close(self) -> None:
        """Drop everything: the connection is over."""
        while self._held:
            self._forget(self._held.pop())

    def _forget(self, command: Command) -> None:
        if isinstance(command, Append):
            self._count(-len(command.audio))
        else:
            self._commands -= 1

    def _count(self, size: int) -> None:
        self._bytes += size
        self._room.bytes += size
