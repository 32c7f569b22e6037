"""Says which of its packages an engine lacks."""

from importlib.util import find_spec

from audio.engines.recognizer import RecognizerEngine
from audio.engines.turn_end import TurnEndEngine
from audio.engines.voice import VoiceEngine
from audio.engines.wake import WakeWordEngine
from declarations.extra import installing
from llm.protocols.protocol import LlmProtocol


def lacking_package(engine: VoiceEngine | RecognizerEngine | TurnEndEngine | WakeWordEngine | LlmProtocol) -> str:
    """Returns the package that an engine lacks, as part of a sentence; "" if it has all."""
    for distribution, module in engine.packages.items():
        if not _is_installed(module):
            extra = engine.extra if isinstance(engine, LlmProtocol | WakeWordEngine) else ""
            remedy = installing(extra) if extra else f"run `pip install {distribution}`"
            return f"the package {distribution} is not installed: {remedy}"
    return ""


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # also the package around it is missing
        return False
