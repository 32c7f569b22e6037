"""Says which of its packages an engine lacks."""

from importlib.util import find_spec

from audio.engines.recognizer import RecognizerEngine
from audio.engines.turn_end import TurnEndEngine
from audio.engines.voice import VoiceEngine


def lacking_package(engine: VoiceEngine | RecognizerEngine | TurnEndEngine) -> str:
    """Returns the package that an engine lacks, as part of a sentence; "" if it has all."""
    for distribution, module in engine.packages.items():
        if find_spec(module) is None:
            return f"the package {distribution} is not installed: run `pip install {distribution}`"
    return ""
