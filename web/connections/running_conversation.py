"""A conversation of the server and the socket of its client, which may be lost and replaced."""

import asyncio
from dataclasses import dataclass, field

from web.connections.client_socket import ClientSocket
from web.handover.keeper import HandoverKeeper
from web.session.realtime_session import RealtimeSession

RESUMED_ELSEWHERE = "session_resumed: the conversation continues on another connection"


@dataclass(slots=True)
class RunningConversation:
    """A conversation and its current socket.

    Attributes:
        lost_s: Loop time at which its last socket was lost.
        handover: Lets other gateways continue it; None: they cannot.
        hand_over: Whether it ends here although its client may resume it at another gateway.
    """

    realtime_session: RealtimeSession
    token: str
    client_socket: ClientSocket | None = None
    lost_s: float = 0.0
    has_socket: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False
    handover: HandoverKeeper | None = None
    hand_over: bool = False

    @property
    def busy(self) -> bool:
        """Whether a turn or a response is in progress and the client is connected."""
        realtime_session, session = self.realtime_session, self.realtime_session.session
        busy = not session.idle or realtime_session.responses.pending or bool(session.out_of_band.active)
        return self.client_socket is not None and busy

    @property
    def silent(self) -> bool:
        """Whether it is no load: it sleeps until a wake word, or no sound came from the client."""
        sleeps = self.realtime_session.session.wake_word
        return self.realtime_session.microphone.received_ms == 0 or (sleeps is not None and not sleeps.awake)

    def has_newer(self, arrival: int) -> bool:
        """Returns whether a connection that arrived later has the conversation."""
        return self.client_socket is not None and self.client_socket.arrival > arrival

    def take_socket(self, client_socket: ClientSocket) -> None:
        """Continues on this socket. The handler of an earlier one ends."""
        if self.client_socket is not None:
            self.client_socket.farewell = RESUMED_ELSEWHERE
            self.client_socket.lost.set()
        self.client_socket = client_socket
        self.has_socket.set()
        self.realtime_session.changed = client_socket.changed.set
        client_socket.changed.set()

    def lose_socket(self, *, ended: bool, draining: bool) -> None:
        """Continues without a socket, or ends.

        Args:
            ended: Whether the client does not reconnect.
            draining: Whether the server shuts down, so that the client may resume at another gateway.
        """
        self.client_socket = None
        self.lost_s = asyncio.get_running_loop().time()
        self.has_socket.clear()
        self.ended = self.ended or ended
        self.hand_over = self.hand_over or draining
        self.realtime_session.on_disconnect()
        if self.handover is not None:
            self.handover.note_change()

    def make_room(self) -> None:
        """Ends the conversation here, because another client needs its slot."""
        self.ended = self.hand_over = True
        self.has_socket.set()

    def on_taken(self) -> None:
        """Ends the conversation here, because another gateway continues it."""
        self.ended = True
        self.has_socket.set()
        if self.client_socket is not None:
            self.client_socket.farewell = RESUMED_ELSEWHERE
            self.client_socket.lost.set()
