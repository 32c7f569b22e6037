"""Queues audio that a client sent ahead of real time, so that its socket is still read and its pings are answered."""

import asyncio
from collections import deque

from web.wire.incoming.commands import Append, ClearInput, Command, CommitInput, CreateResponse, PlayoutReport

MAX_BYTES = 8 << 20
"""Limit for one client, 174 s of 24 kHz PCM. Beyond it the client's socket is not read."""

MIN_BYTES = 1 << 20
"""Bytes every client may queue even if `MAX_BYTES_OF_ALL` is reached."""

MAX_BYTES_OF_ALL = 64 << 20
"""Limit for all clients of a server together."""


class BacklogRoom:
    """Counts the bytes in the backlogs of all clients."""

    def __init__(self) -> None:
        self.bytes = 0


class AudioBacklog:
    """Queue of one connection's audio and of the commands that refer to it, in order. Its reader keeps it bounded.

    A commit, a clear and a response request refer to the audio before them: they wait for it, and later commands wait
    for them. Other commands are not queued while none of these waits.
    """

    def __init__(self, room: BacklogRoom | None = None) -> None:
        """`room` counts the bytes of all clients."""
        self._room = room or BacklogRoom()
        self._queue: deque[Command] = deque()
        self._commands = 0
        self._bytes = 0
        self._changed = asyncio.Event()

    @property
    def empty(self) -> bool:
        """Whether nothing is queued."""
        return not self._queue

    @property
    def full(self) -> bool:
        """Whether nothing more should be put in."""
        return self._bytes >= MAX_BYTES or (self._bytes >= MIN_BYTES and self._room.bytes >= MAX_BYTES_OF_ALL)

    def must_wait(self, command: Command, *, behind: bool = False) -> bool:
        """Returns whether this command, which is not audio, has to wait in the queue.

        `behind`: whether the conversation has not processed yet what was taken from the queue.
        """
        if isinstance(command, PlayoutReport):
            return False
        refers_to_sound = isinstance(command, CommitInput | ClearInput | CreateResponse)
        return bool(self._queue) or behind if refers_to_sound else self._commands > 0

    def append_command(self, command: Command) -> None:
        """Appends a command. A clear drops the queued audio that it refers to."""
        if isinstance(command, ClearInput):
            while self._queue and isinstance(self._queue[-1], Append):
                self._uncount(self._queue.pop())
        self._queue.append(command)
        if isinstance(command, Append):
            self._count(len(command.audio))
        else:
            self._commands += 1
        self._changed.set()

    async def first(self) -> Command:
        """Waits for the first command and returns it. It stays in the queue until `done`."""
        while not self._queue:
            self._changed.clear()
            await self._changed.wait()
        return self._queue[0]

    def is_wanted(self, command: Command) -> bool:
        """Returns whether this command is still the first one, that is, was not dropped."""
        return bool(self._queue) and self._queue[0] is command

    def done(self, command: Command) -> None:
        """Removes a command that was processed."""
        if self.is_wanted(command):
            self._uncount(self._queue.popleft())

    def close(self) -> None:
        """Drops everything: the connection is closed."""
        while self._queue:
            self._uncount(self._queue.pop())

    def _uncount(self, command: Command) -> None:
        if isinstance(command, Append):
            self._count(-len(command.audio))
        else:
            self._commands -= 1

    def _count(self, size: int) -> None:
        self._bytes += size
        self._room.bytes += size
