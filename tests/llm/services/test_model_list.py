"""Lists of models as the products send them, and similar bodies that are not lists."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from llm.model_list import MAX_MODELS, ModelList, model_list_of, own_name, wants_key


def listing(*entries: object, **more: object) -> bytes:
    return json.dumps({"object": "list", "data": list(entries), **more}).encode()


def entry(name: str, owner: str = "", **more: object) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 1, "owned_by": owner, **more}


def read(body: bytes) -> ModelList:
    found = model_list_of(body)
    assert found is not None
    return found


@named_cases(
    ("body", "name"),
    {
        "root of the alias": (
            listing(entry("other", root="x"), entry("mine", "vllm", root="Qwen/QwQ-32B")),
            "Qwen/QwQ-32B",
        ),
        "no root": (listing(entry("mine")), "mine"),
        "file of llama.cpp": (listing(entry("/models/QwQ-32B.gguf", "llamacpp")), "/models/QwQ-32B.gguf"),
        "other name": (listing(entry("QwQ-32B", "vllm")), "mine"),
        "two names": (listing(entry("a", "llamacpp"), entry("b", "llamacpp")), "mine"),
        "number as root": (listing(entry("mine", root=7)), "mine"),
        "no entries": (listing(7, None), "mine"),
        "data is null": (b'{"data": null}', "mine"),
        "list": (b"[]", "mine"),
        "web page": (b"<html>", "mine"),
    },
)
def test_own_name_of_aliased_model(body: bytes, name: str) -> None:
    assert own_name(body, "mine") == name


@named_cases(
    ("owner", "product"),
    {
        "Ollama": ("library", "Ollama"),
        "llama.cpp": ("llamacpp", "llama.cpp"),
        "vLLM": ("vllm", "vLLM"),
        "LM Studio": ("organization_owner", "LM Studio"),
        "unknown owner": ("bench", None),
        "no owner": ("", None),
    },
)
def test_owner_determines_product(owner: str, product: str | None) -> None:
    assert read(listing(entry("m", owner))) == ModelList(("m",), (), product, declared=True)


def test_one_library_model_identifies_ollama() -> None:
    assert read(listing(entry("hf.co/somebody/m:Q4", "somebody"), entry("m:latest", "library"))).product == "Ollama"


def test_duplicate_models_of_llama_cpp_are_merged() -> None:
    body = listing(entry("m.gguf", "llamacpp", meta={"n_ctx_train": 4096}), models=[{"name": "m.gguf"}])
    assert read(body).chat == ("m.gguf",)


@pytest.mark.parametrize(
    "name",
    [
        "text-embedding-nomic-embed-text-v1.5",
        "mxbai-embed-large:latest",
        "embeddinggemma:300m",
        "bge-m3",
        "BAAI/bge-reranker-v2-m3",
        "all-minilm:l6-v2",
        "intfloat/e5-mistral-7b-instruct",
        "openai/whisper-large-v3",
        "tts-1",
        "hexgrad/Kokoro-82M",
    ],
)
def test_non_chat_models_are_recognized_by_name(name: str) -> None:
    assert read(listing(entry(name), entry("llama3.2"))) == ModelList(("llama3.2",), (name,), None, declared=True)


@pytest.mark.parametrize(
    "name",
    [
        "llama3.2:latest",
        "qwen2.5-7b-instruct",
        "mistral-small",
        "gpt-oss:20b",
        "phi-4-mini",
        "/models/a b.gguf",
        "gemma3",
    ],
)
def test_other_models_are_chat_models(name: str) -> None:
    assert read(listing(entry(name))).chat == (name,)


@pytest.mark.parametrize(
    "kind", ["embeddings", "embedding", "rerank", "stt", "automatic-speech-recognition", "text-to-image"]
)
def test_non_chat_models_are_recognized_by_type(kind: str) -> None:
    found = read(listing(entry("a", type=kind), entry("b", type="llm"), entry("c", task="text-generation")))
    assert (found.chat, found.others) == (("b", "c"), ("a",))


def test_server_without_models() -> None:
    for data in (b"[]", b"null"):
        assert read(b'{"object": "list", "data": ' + data + b"}") == ModelList((), (), None, declared=True)


def test_list_without_object_field_is_read() -> None:
    assert read(b'{"data": [{"id": "m"}]}') == ModelList(("m",), (), None, declared=False)


@named_cases(
    "body",
    {
        "empty": b"",
        "web page": b"<!doctype html>",
        "list": b"[]",
        "null": b"null",
        "text": b'"list"',
        "no data": b'{"object": "list"}',
        "data is a table": b'{"object": "list", "data": {}}',
        "no model objects": b'{"object": "list", "data": [1, "m", null]}',
        "no model names": b'{"object": "list", "data": [{"id": 7}, {"name": "m"}]}',
        "truncated": b'{"object": "list", "data": [{"id": "m"}',
        "binary": b"\xff\xfe\x00",
        "deeply nested": b"[" * 100_000,
        "number with 10000 digits": b'{"object": "list", "data": [{"id": "m", "created": ' + b"9" * 10_000 + b"}]}",
    },
)
def test_invalid_list_is_none(body: bytes) -> None:
    assert model_list_of(body) is None


@named_cases(
    "name",
    {
        "empty": "",
        "blank": "  ",
        "line break": "a\nb",
        "terminal sequence": "a\x1b[31mb",
        "zero byte": "a\x00",
        "lone surrogate": "\ud800",
        "bidirectional override": "a\u202eb",
        "too long": "x" * 201,
        "list": ["m"],
        "table": {},
    },
)
def test_unprintable_names_are_dropped(name: object) -> None:
    assert read(listing({"id": name}, entry("m"))).chat == ("m",)


def test_list_is_bounded_and_without_duplicates() -> None:
    assert read(listing(*(entry(f"m{n}") for n in range(MAX_MODELS + 5)))).chat[-1] == f"m{MAX_MODELS - 1}"
    assert read(listing(entry("m"), entry("m"))).chat == ("m",)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["list", "library", "m"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["object", "data", "id", "owned_by", "type", "error"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=50) | _json.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_parsed_without_error(body: bytes) -> None:
    found = model_list_of(body)
    assert found is None or not set(found.chat) & set(found.others)
    assert isinstance(wants_key(body), bool)


def test_api_refusal_differs_from_web_page() -> None:
    assert wants_key(b'{"error": "Unauthorized"}')
    assert wants_key(b'{"error": {"message": "no key", "code": 401}}')
    for body in (b"<html>", b"", b"{}", b'["error"]', b'{"detail": "Not authenticated"}', b"[" * 100_000):
        assert not wants_key(body)
