"""Interface of a Whisper model to the scheduler: in this process (`LoadedWhisper`), or on a cluster."""

from collections.abc import Callable
from typing import Any, Protocol

from audio.languages.conversation_language import ConversationLanguage
from audio.stt.whisper.model import Decoded
from audio.units import Pcm


class SegmentDecoder(Protocol):
    """Decodes segments. Every method blocks and runs in a `WhisperThread`.

    Attributes:
        device: "cpu" or "cuda".
        compute_type: The actual type of the weights.
        multilingual: Whether it knows languages other than English.
        workers: Number of decodes at the same time.
    """

    device: str
    compute_type: str
    multilingual: bool
    workers: int

    def decode(
        self,
        pcm: Pcm,
        language: str | None,
        *,
        retry: bool,
        is_wanted: Callable[[], bool] = lambda: True,
        with_tokens: bool = False,
        with_times: bool = False,
        prompt: str = "",
        languages: ConversationLanguage | None = None,
        thorough: bool = False,
    ) -> Decoded | None:
        """See `LoadedWhisper.decode`."""
        ...

    def first_word(self, pcm: Pcm, language: str) -> Decoded:
        """See `LoadedWhisper.first_word`."""
        ...

    def detect_language(self, encoded: Any) -> tuple[str, float]:
        """Returns the likeliest language and its probability. `encoded`: as in `Decoded`."""
        ...
