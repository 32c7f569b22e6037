"""Checks the names of models and voices that a request asks for.

A client of OpenAI's service has to name a model and a voice, and knows only those of that service. They stand for the
server's own; the headers of the response say which these are. Any other name must be one that the server has.
"""

from collections.abc import Iterable

from web.http_api.errors import ApiError
from web.wire.values.fields import IDENTIFIER, Check, Field, checked, listed, wrong_value

OWN = "repartee"
"""Stands for whatever the server uses."""

MODEL_HEADER, VOICE_HEADER = "X-Repartee-Model", "X-Repartee-Voice"

OPENAI_SPEECH = frozenset({"tts-1", "tts-1-hd", "gpt-4o-mini-tts", "gpt-4o-mini-tts-2025-12-15"})
OPENAI_TRANSCRIPTION = frozenset(
    {
        "whisper-1", "gpt-transcribe", "gpt-4o-transcribe", "gpt-4o-mini-transcribe",
        "gpt-4o-mini-transcribe-2025-12-15",
    }
)  # fmt: skip
OPENAI_VOICES = frozenset(
    {"alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse"}
)


def model_named(of_openai: Iterable[str], own: str) -> Check:
    """Returns a check for the name of a model, which becomes that of the server's own."""
    known = frozenset(of_openai) | {OWN, own}

    def check(value: object, path: str) -> str:
        if IDENTIFIER(value, path) not in known:
            message = f"{path}: this server has {listed((OWN, own))}; see GET /v1/models"
            raise ApiError(404, "model_not_found", message, path)
        return own

    return check


def voice_named(own: tuple[str, ...]) -> Check:
    """Returns a check for a voice, which becomes the server's own; `own`: the names of that one."""

    def check(value: object, path: str) -> str:
        name: str = checked(value, path, _VOICE)["id"] if isinstance(value, dict) else IDENTIFIER(value, path)
        if name not in {*OPENAI_VOICES, OWN, *own}:
            raise wrong_value(path, "is a voice that this server does not have", listed((OWN, *own)))
        return own[0]

    return check


_VOICE = {"id": Field(IDENTIFIER, required=True)}
