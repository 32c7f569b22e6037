"""Loads the speaker embedder if `voice.focus` needs it, and the voices that a conversation listens to."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assistant.models.needs import installed
from assistant.setup.loading import Loading, now_s
from assistant.support.paths import HomeError
from audio.errors import EngineError, EngineLoadError
from audio.speaker_embedding.catalogue import MODELS, SPEAKER_EMBEDDER

if TYPE_CHECKING:
    from assistant.speakers.focus import VoiceFocus
    from assistant.speakers.voiceprint import Voiceprint
    from audio.speaker_embedding.service import SpeakerService

log = logging.getLogger(__name__)

STAGE = "voice"

READ_TIMEOUT_S = 0.1
"""Longest wait in s for another process that writes the file of voices. The next conversation reads it again."""


async def load_speaker_embedder(loading: Loading) -> "SpeakerService | None":
    """Returns the loaded embedder; None if nobody asks who speaks, or if it is not available, which is reported."""
    focus, began_s = loading.settings.voice.focus, now_s()
    if focus == "off":
        return None
    from audio.speaker_embedding.service import SpeakerService  # noqa: PLC0415 - on use: a default run needs none

    service = SpeakerService(installed(SPEAKER_EMBEDDER))
    try:
        await loading.with_timeout(MODELS.label, service.load())
    except (EngineLoadError, EngineError) as error:
        service.close()
        loading.record_choice(STAGE, "all", MODELS.without, f"instead of {focus}: {error}", began_s, fallback=True)
        return None
    loading.record_choice(STAGE, focus, f"by the {MODELS.label}", "as configured", began_s)
    return service


class EnrolledVoices:
    """The enrolled voices. The file is read again when it has changed, as when the page teaches a voice."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Reads nothing yet. `environ`: finds the file."""
        self._environ = environ
        self._changed_ns = 0
        self._voices: tuple[Voiceprint, ...] = ()

    def voices(self) -> "tuple[Voiceprint, ...]":
        """Returns the voices; none if the file is missing or unreadable. Reading a changed file takes about 1 ms."""
        from assistant.enrolment.voice_file import VoiceFile, VoiceFileError, voices_path  # noqa: PLC0415 - as above

        try:
            path = voices_path(self._environ)
            changed_ns = max(place.stat().st_mtime_ns for place in path.parent.glob(f"{path.name}*"))
            if changed_ns != self._changed_ns:
                file = VoiceFile(path, lambda: 0.0, timeout_s=READ_TIMEOUT_S)  # nothing is added here
                try:
                    self._voices, self._changed_ns = file.voiceprints(), changed_ns
                finally:
                    file.close()
        except (VoiceFileError, HomeError, OSError, ValueError) as error:
            self._voices, self._changed_ns = (), 0
            if not isinstance(error, ValueError):  # there is no file
                log.warning("enrolled voices cannot be read: %s", error)
        return self._voices


def voice_focus(loading: Loading, enrolled: EnrolledVoices) -> "VoiceFocus | None":
    """Returns the voices that a new conversation listens to; None: all."""
    from assistant.speakers.focus import VoiceFocus  # noqa: PLC0415 - as above

    focus = loading.settings.voice.focus
    return None if focus == "off" else VoiceFocus(focus, enrolled.voices())
