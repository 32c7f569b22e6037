"""Reports to the server how much of a reply was played, and how long after the user's speech it began."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.turns.events import ReplyId
from audio.units import REPLY_RATE_HZ, Samples
from web.remote.conversation import commands as say
from web.remote.conversation.replies import Replies
from web.remote.sound.reply_playback import ReplyPlayback
from web.remote.sound.sent_audio_map import SentAudioMap
from web.wire.values.reply_ids import response_id


@dataclass(slots=True)
class PlayoutReports:
    """The reports on the replies of one conversation.

    Attributes:
        send: Queues a text for the server.
        replies: The replies of the conversation.
        sent: Where the sent audio lies on the microphone line.
        captured_s: Returns the loop time at which a position of the microphone line was captured.
        playing: Returns the reply that is played.
    """

    send: Callable[[str], bool]
    replies: Replies
    sent: SentAudioMap
    captured_s: Callable[[Samples], float]
    playing: Callable[[], ReplyId | None]
    _speech_end_s: float | None = None
    _speech_ends_s: dict[ReplyId, float] = field(default_factory=dict)  # reply -> end of the speech that it answers

    def speech_ended(self, sent_ms: float) -> None:
        """Notes the end of the user's speech, as a length of the audio that was sent."""
        position = self.sent.captured(sent_ms)
        self._speech_end_s = None if position is None else self.captured_s(position)

    def reply_started(self, reply_id: ReplyId) -> None:
        """Notes which speech the reply answers; typed texts have none."""
        self._speech_ends_s = {} if self._speech_end_s is None else {reply_id: self._speech_end_s}
        self._speech_end_s = None

    def forget(self) -> None:
        """Forgets all replies, because another conversation uses the same reply ids."""
        self._speech_ends_s.clear()

    def audible(self, reply_id: ReplyId, played: ReplyPlayback) -> None:
        """Reports that a reply has become audible."""
        speech_end_s, latency_ms = self._speech_ends_s.get(reply_id), None
        if speech_end_s is not None and played.audible_s is not None:
            latency_ms = (played.audible_s - speech_end_s) * 1000
        heard_ms = played.heard_ms(asyncio.get_running_loop().time())
        self.send(
            say.playout(
                response_id(reply_id), heard_ms, finished=False, latency_ms=latency_ms, device_ms=played.device_ms
            )
        )

    def progress(self, reply_id: ReplyId, played: ReplyPlayback) -> None:
        """Reports how much of a reply was played, and cuts it in the history where the loudspeaker was lost."""
        heard_ms = played.heard_ms(asyncio.get_running_loop().time())
        self.send(say.playout(response_id(reply_id), heard_ms, finished=played.finished))
        if played.lost_at is not None and (played.finished or self.playing() != reply_id):
            lost_ms = played.lost_at * 1000 / REPLY_RATE_HZ
            item = self.replies.unheard(reply_id, lost_ms)  # the history must not contain unheard words
            if item is not None:
                self.send(say.truncate(item, lost_ms))
