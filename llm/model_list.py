"""Parses the answer to GET /models: which models a service lists, and which product it is. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PRODUCTS: Mapping[str, str] = MappingProxyType(
    {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
)
"""Values of `owned_by` by product.

Ollama writes the namespace of the model; "library" is its own registry. An Ollama that has only models of other
namespaces is not recognized."""

MAX_MODELS = 1000
MAX_ID_CHARS = 200

_NOT_CHAT_TYPES = re.compile(r"embed|rerank|stt|tts|speech|transcri|audio|image|moderation|classif", re.IGNORECASE)
_NOT_CHAT_NAMES = re.compile(
    r"embed|rerank|(?<![a-z])(?:bge|gte|e5|minilm|colbert|whisper|tts|kokoro|stable-diffusion|dall-e)(?![a-z])",
    re.IGNORECASE,
)
"""Names of models that are not for chat. All other models are taken for chat models."""


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models that a service lists.

    Attributes:
        chat: Models that may be used for chat, in the service's order.
        others: Models that are evidently not for chat: embeddings, rerankers, speech, images.
        product: The server product; None if the list does not tell.
        declared: Whether the answer has `"object": "list"`, as OpenAI's has; some cloud services omit it.
    """

    chat: tuple[str, ...]
    others: tuple[str, ...]
    product: str | None
    declared: bool


def model_list_of(body: bytes) -> ModelList | None:
    """Parses the body of an answer; None if it is not a list of models."""
    answer = _object_of(body)
    if "data" not in answer:
        return None
    data = answer["data"] if answer["data"] is not None else []  # older Ollama versions without a model send null
    if not isinstance(data, list):
        return None
    entries = {entry["id"]: entry for entry in data if isinstance(entry, dict) and _is_name(entry.get("id"))}
    if data and not entries:
        return None
    names = list(entries)[:MAX_MODELS]
    owners = [entry.get("owned_by") for entry in entries.values()]
    return ModelList(
        chat=tuple(name for name in names if _may_chat(name, entries[name])),
        others=tuple(name for name in names if not _may_chat(name, entries[name])),
        product=next((PRODUCTS[owner] for owner in owners if isinstance(owner, str) and owner in PRODUCTS), None),
        declared=answer.get("object") == "list",
    )


def own_name(body: bytes, model: str) -> str:
    """Returns the original name of a model that is served under an alias; else `model`.

    vLLM reports it as the alias's `root`. llama.cpp lists its only model and accepts any name.
    """
    listed = _listed_in(body)
    entry = next((entry for entry in listed if entry.get("id") == model), None)
    if entry is None and len(listed) == 1 and listed[0].get("owned_by") == "llamacpp":
        entry = listed[0]
    names = [] if entry is None else [entry.get("root"), entry.get("id")]
    return next((name for name in names if isinstance(name, str) and name), model)


def _listed_in(body: bytes) -> list[dict[str, object]]:
    data = _object_of(body).get("data")
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def wants_key(body: bytes) -> bool:
    """Returns whether the body of a 401 comes from an API: JSON with `error`, not a web page."""
    return "error" in _object_of(body)


def _object_of(body: bytes) -> dict[str, object]:
    """Returns the JSON object, or an empty one for anything else."""
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _is_name(name: object) -> bool:
    """Returns whether a name can be shown and stored: limited length, printable, no surrogates."""
    return isinstance(name, str) and 0 < len(name) <= MAX_ID_CHARS and name.isprintable() and not name.isspace()


def _may_chat(name: str, entry: Mapping[str, object]) -> bool:
    kinds = [entry.get("type"), entry.get("task")]
    if any(isinstance(kind, str) and _NOT_CHAT_TYPES.search(kind) for kind in kinds):
        return False
    return _NOT_CHAT_NAMES.search(name) is None
