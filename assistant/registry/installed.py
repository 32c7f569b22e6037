"""All installed engines of every group, for reports."""

from assistant.registry.entry_points import BrokenEngine
from assistant.registry.listening import DETECTORS, RECOGNIZERS, TURN_ENDS
from assistant.registry.protocols import PROTOCOLS
from assistant.registry.skills import SKILLS
from assistant.registry.voices import VOICES
from audio.engines.recognizer import RecognizerEngine
from audio.engines.turn_end import TurnEndEngine
from audio.engines.vad import VadEngine
from audio.engines.voice import VoiceEngine
from llm.protocols.protocol import LlmProtocol

_REGISTRIES = (DETECTORS, RECOGNIZERS, TURN_ENDS, VOICES, PROTOCOLS, SKILLS)


def installed_engines() -> tuple[VadEngine | RecognizerEngine | TurnEndEngine | VoiceEngine | LlmProtocol, ...]:
    """Returns the declarations of all engines that can be loaded."""
    return (*DETECTORS.all(), *RECOGNIZERS.all(), *TURN_ENDS.all(), *VOICES.all(), *PROTOCOLS.all())


def broken_engines() -> tuple[BrokenEngine, ...]:
    """Returns the installed engines that cannot be used."""
    return tuple(broken for registry in _REGISTRIES for broken in registry.broken())
