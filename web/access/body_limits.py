"""Lists the paths whose requests have a body, with its longest size. No other path takes one."""

from collections.abc import Mapping
from types import MappingProxyType

from web.access.access_control import CALLS_PATH

SECRETS_PATH = "/v1/realtime/client_secrets"
SESSIONS_PATH = "/v1/realtime/sessions"
TRANSCRIPTION_SESSIONS_PATH = "/v1/realtime/transcription_sessions"
SPEECH_PATH = "/v1/audio/speech"
TRANSCRIPTIONS_PATH = "/v1/audio/transcriptions"
ANNOUNCE_PATH = "/v1/announce"
SETUP_TEST_PATH = "/v1/repartee/setup/test"
SETUP_SAVE_PATH = "/v1/repartee/setup/save"
CONVERSATION_TITLE_PATH = "/v1/repartee/conversation_title"
MEMORY_PATH = "/v1/repartee/memory"
MODEL_PULL_PATH = "/v1/repartee/models/pull"
RESTART_PATH = "/v1/repartee/restart"
VOICE_ADD_PATH = "/v1/repartee/voices/add"
VOICE_REMOVE_PATH = "/v1/repartee/voices/remove"

MAX_JSON_BYTES = 1_000_000
"""As for an event of the WebSocket without sound."""
MAX_UPLOAD_BYTES = 25 << 20
"""Longest recording; the limit of OpenAI's service."""
MAX_SETUP_BYTES = 16 << 10
MAX_VOICE_BYTES = 3 << 20
"""Longest recording of a voice, in base64: 45 s at 24 kHz; the page records 30."""
FORM_BYTES = 64 << 10
"""Room for the other fields of a form and its boundaries."""

MAX_BYTES: Mapping[str, int] = MappingProxyType(
    {
        SECRETS_PATH: MAX_JSON_BYTES,
        SESSIONS_PATH: MAX_JSON_BYTES,
        TRANSCRIPTION_SESSIONS_PATH: MAX_JSON_BYTES,
        CALLS_PATH: MAX_JSON_BYTES,
        SPEECH_PATH: MAX_JSON_BYTES,
        TRANSCRIPTIONS_PATH: MAX_UPLOAD_BYTES + FORM_BYTES,
        ANNOUNCE_PATH: MAX_SETUP_BYTES,
        SETUP_TEST_PATH: MAX_SETUP_BYTES,
        SETUP_SAVE_PATH: MAX_SETUP_BYTES,
        CONVERSATION_TITLE_PATH: MAX_SETUP_BYTES,
        MEMORY_PATH: MAX_SETUP_BYTES,
        MODEL_PULL_PATH: MAX_SETUP_BYTES,
        RESTART_PATH: MAX_SETUP_BYTES,
        VOICE_ADD_PATH: MAX_VOICE_BYTES + MAX_SETUP_BYTES,
        VOICE_REMOVE_PATH: MAX_SETUP_BYTES,
    }
)
"""Longest body by path. Bodies of other paths are ignored."""


def takes_body(method: str, path: str) -> bool:
    """Returns whether the body of such a request is read."""
    return method == "POST" and path in MAX_BYTES
