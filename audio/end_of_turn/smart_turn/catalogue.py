"""The model of Smart Turn."""

from declarations.models import HubFile, Model, ModelKind, Wheel

KIND = "smart-turn"

SMART_TURN = Model(
    "smart-turn-v3.2",
    KIND,
    "pipecat-ai/smart-turn-v3",
    "f766f81d3cfdf7737ac64aad813d91bbfd56bf93",
    (
        HubFile(
            "smart-turn-v3.2-cpu.onnx",
            8_679_182,
            "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
        ),
    ),
    8.7,
    "BSD-2-Clause",
    wheel=Wheel(
        "pipecat-ai==1.14.0",
        "pipecat/audio/turn/smart_turn/data",
        "f766f81d3cfdf7737ac64aad813d91bbfd56bf93",
    ),
)
"""Estimates from audio whether a turn is finished."""

MODELS = ModelKind(
    name=KIND,
    label="Smart Turn model",
    purpose="end of turn",
    without="only silence ends a turn",
    catalogue=(SMART_TURN,),
    folder="turns",
)
"""Name and place of the model."""
