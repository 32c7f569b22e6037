"""Declares the end-of-turn estimator Smart Turn. Imports nothing heavy: its declaration is read at every start."""

from pathlib import Path
from types import MappingProxyType

from audio.end_of_turn import TurnEndModel
from audio.end_of_turn.smart_turn.catalogue import MODELS
from audio.engines.turn_end import ReplicaTurnEnd, TurnEndEngine
from audio.execution_provider import ProviderRequest


def make(model: Path | None, provider: ProviderRequest) -> TurnEndModel:
    """Returns the estimator with the model at a path."""
    from audio.end_of_turn.smart_turn.service import SmartTurnService  # noqa: PLC0415 - on use: it imports numpy

    assert model is not None, "it has a model"
    return SmartTurnService(model, provider=provider)


def replica(model: Path, provider: ProviderRequest) -> ReplicaTurnEnd:
    """Returns the network of a replica. Raises EngineLoadError."""
    from audio.end_of_turn.smart_turn.network import SmartTurn  # noqa: PLC0415 - as above

    return SmartTurn(model, provider=provider)


ENGINE = TurnEndEngine(
    name="smart-turn",
    label="Smart Turn",
    make=make,
    about="a network that hears eight seconds",
    rank=50,
    models=MODELS,
    packages=MappingProxyType({"onnxruntime": "onnxruntime"}),
    replica=replica,
)
