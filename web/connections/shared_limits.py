"""Limits that all conversations of a server share, besides those of each one."""

from dataclasses import dataclass, field

from web.access.rate_limits import RateLimits, loop_rates
from web.client_audio.audio_backlog import BacklogRoom
from web.session.realtime_session import RealtimeSession
from web.session.recording_transcriber import RecordingRoom


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits that all conversations share.

    Attributes:
        backlog: Counts the sound that clients sent ahead of real time.
        recordings: Counts the recordings that wait for their transcript.
        rates: How fast connections to MCP servers may be made.
    """

    backlog: BacklogRoom = field(default_factory=BacklogRoom)
    recordings: RecordingRoom = field(default_factory=RecordingRoom)
    rates: RateLimits = field(default_factory=loop_rates)

    def apply_to(self, session: RealtimeSession) -> None:
        """Lets a conversation share the limits. Call it before the conversation begins."""
        session.items.transcriber.room = self.recordings
        session.mcp.rates = self.rates
