"""Writes a language model of a few hundred kilobytes for llama.cpp, with predetermined answers.

One real transformer layer with small random weights. The embeddings determine which token follows which. The last
token of the prompt decides: a question mark leads to `ANSWER` and the end, anything else to " on and on and on..."
without end.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

CONTEXT_TOKENS = 32_768
"""Long enough for an endless answer to be still running when a test stops it."""

ANSWER = " It is noon at the café now."
ENDLESS = (" on", " and")

_ANSWER_TOKENS = (" It", " is", " noon", " at", " the", " caf", "é", " now.")
"""The é is two tokens, each half of a character."""

_WIDTH = 64
_HEADS = 4
_HIDDEN = 128
_PULL = 6.0  # a logit of about 48 for the next token; the layer's noise stays below 5

CHAT_TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"

TOOL_TEMPLATE = """\
{% for tool in tools %}{{ tool.function.name }}! {% endfor %}\
{% for message in messages %}{% for call in message.tool_calls %}{{ call.function.name }} {% endfor %}\
{{ message.content }}{% endfor %}"""
"""Template with functions, which a server requires before it lets a model call any."""

Weights = NDArray[np.float32]


def byte_signs() -> list[str]:
    """Returns how byte-level vocabularies (GPT-2's) spell each byte: printable unchanged, others from U+0100 on."""
    plain = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def spelled(text: str) -> str:
    """Spells text as such a vocabulary does."""
    signs = byte_signs()
    return "".join(signs[byte] for byte in text.encode())


def vocabulary() -> list[str]:
    """Returns begin, end, every byte, and the words that the model says."""
    words = [word for word in (*_ANSWER_TOKENS, *ENDLESS) if len(word.encode()) > 2]
    return ["<s>", "</s>", *byte_signs(), *map(spelled, words)]


def followers(tokens: list[str]) -> dict[int, int]:
    """Maps each token to its successor. All others are followed by the first of `ENDLESS`."""
    at = {token: number for number, token in reversed(list(enumerate(tokens)))}
    said: list[int] = []
    for word in _ANSWER_TOKENS:
        whole = at.get(spelled(word))
        said += [whole] if whole is not None else [at[sign] for sign in spelled(word)]
    chain = [at["?"], *said, at["</s>"]]
    on, and_ = (at[spelled(word)] for word in ENDLESS)
    return {**dict(pairwise(chain)), on: and_, and_: on}


def tensors(tokens: list[str]) -> Mapping[str, Weights]:
    """Returns the weights under llama.cpp's names; the same ones every time."""
    follows = followers(tokens)
    rng = np.random.default_rng(7)

    def noise(*shape: int) -> Weights:
        return (rng.standard_normal(shape) * 0.02).astype(np.float32)

    # A separate direction for every token with a successor, and one, the last, for all others.
    directions = {token: number for number, token in enumerate(follows)}
    embedded = np.zeros((len(tokens), _WIDTH), np.float32)
    wanted = np.zeros((len(tokens), _WIDTH), np.float32)
    for token in range(len(tokens)):
        embedded[token, directions.get(token, _WIDTH - 1)] = 1.0
    for token, follower in follows.items():
        wanted[follower, directions[token]] = _PULL
    wanted[tokens.index(spelled(ENDLESS[0])), _WIDTH - 1] = _PULL
    ones = np.ones(_WIDTH, np.float32)
    found: dict[str, Weights] = {
        "token_embd.weight": embedded,
        "output_norm.weight": ones,
        "output.weight": wanted,
        "blk.0.attn_norm.weight": ones,
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": noise(_HIDDEN, _WIDTH),
        "blk.0.ffn_up.weight": noise(_HIDDEN, _WIDTH),
        "blk.0.ffn_down.weight": noise(_WIDTH, _HIDDEN),
    }
    return found | {f"blk.0.attn_{part}.weight": noise(_WIDTH, _WIDTH) for part in ("q", "k", "v", "output")}


def write_gguf(path: Path, template: str = CHAT_TEMPLATE) -> None:
    """Writes the model."""
    tokens = vocabulary()
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(int(gguf.LlamaFileType.ALL_F32))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([control, control] + [normal] * (len(tokens) - 2))
    writer.add_token_merges(["a b"])  # some are expected; this one leads to no token and is never taken
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(True)
    writer.add_chat_template(template)
    for name, weights in tensors(tokens).items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
