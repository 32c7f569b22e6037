"""All models that can be downloaded. The installed engines and protocols declare them."""

from collections.abc import Mapping
from types import MappingProxyType

from assistant.registry.listening import RECOGNIZERS, TURN_ENDS
from assistant.registry.protocols import PROTOCOLS, protocol_on_this_machine
from assistant.registry.voices import VOICES
from audio.speaker_embedding.catalogue import MODELS as SPEAKER_MODELS
from declarations.models import Model, ModelKind

_ON_THIS_MACHINE = protocol_on_this_machine().models
assert _ON_THIS_MACHINE is not None, "the program's own protocol declares models"
CHAT = _ON_THIS_MACHINE
"""Language models that this program runs itself."""

CHAT_MODELS = CHAT.catalogue
"""Language models for this machine, from the one that knows least to the one that knows most."""

KINDS: Mapping[str, ModelKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            *(engine.models for engine in RECOGNIZERS.all() if engine.models is not None),
            *(engine.models for engine in VOICES.all() if engine.models is not None),
            *(engine.models for engine in TURN_ENDS.all() if engine.models is not None),
            SPEAKER_MODELS,
            *(protocol.models for protocol in PROTOCOLS.all() if protocol.models is not None),
        )
    }
)
"""All kinds of models by name, in display order."""

MODELS: Mapping[str, Model] = MappingProxyType(
    {model.name: model for kind in KINDS.values() for model in kind.catalogue}
)
"""All models by name, in display order."""


def named(name: str) -> Model | None:
    """Returns the model of a name; None if unknown. Also names that follow a rule of their kind are known."""
    others = (kind.other(name) for kind in KINDS.values())
    return MODELS.get(name) or next((model for model in others if model is not None), None)
