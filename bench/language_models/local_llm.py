"""Measures a language model on this machine: start, first token with a cached prompt, pace, and the load it adds.

    python -m bench.language_models.local_llm [MODEL.gguf] [--rounds 20] [--threads 1] [--prompt-threads 1]

Without a model, writes one with random weights in the shape of Qwen3-0.6B with four bits a weight (Q4_K_M). It takes as
long as the trained one and says nothing; no accuracy is claimed. Each word of the prompts is one token of its
vocabulary. Beside it, Whisper tiny.en decodes and a Piper voice speaks without pause, which is the worst case.

CPU times are those of the server's process. They do not depend on what else runs.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from string import ascii_lowercase

import gguf
import numpy as np
from numpy.typing import NDArray

from assistant.config.settings import DEFAULTS
from assistant.models.needs import installed
from assistant.trace.waterfall import nearest_rank
from audio.stt.whisper.catalogue import TINY_EN
from audio.tts.piper.voice import PiperTts
from bench.piper import UNITS, _random_voice
from llm.chat import ChatOptions, Finished, Message, Token
from llm.local.chat import LocalChat
from llm.local.process import ServerAddress, ServerSettings
from llm.local.server import ALIAS
from llm.openai.chat import OpenAIChat

QUESTIONS = (
    "why is the sky blue in the morning",
    "what can I cook with rice and eggs today",
    "how long does it take to walk to the station",
    "can you tell me something about the moon",
    "what is the difference between a lake and a sea",
    "how do I get red wine out of a carpet",
    "which river runs through the old town",
    "why do cats sleep so much during the day",
)

MAX_TOKENS = 24

# Qwen3-0.6B.
WIDTH, LAYERS, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, VOCABULARY = 1024, 28, 16, 8, 128, 3072, 151_936

Q4_K, Q6_K = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K

ROLES = ("system", "user", "assistant")

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. Times in ms; CPU times of the server until the first token and from there to the end."""

    first_ms: float
    first_cpu_ms: float
    pace_ms: float
    pace_cpu_ms: float
    prompt_tokens: int
    cached_tokens: int


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt-threads", type=int, default=1)
    parser.add_argument("--idle-only", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.model or Path(folder) / "qwen3-0.6b-random.gguf"
        if given.model is None:
            write_random(path)
        print(f"{path.name}, {path.stat().st_size / 1e6:.0f} MB, load average {os.getloadavg()[0]:.1f}")
        settings = ServerSettings(path, 4096, given.threads, given.prompt_threads)
        chat = LocalChat("near", path.stem, settings, client_of, instructions=DEFAULTS.assistant.instructions)
        began = time.perf_counter()
        try:
            await chat.load()
            print(f"ready, with the instructions read, after {(time.perf_counter() - began) * 1000:.0f} ms")
            print(
                "| beside | first token, ms p50 / p95 | CPU to it, ms | new / cached tokens | token, ms p50 "
                "| CPU a token, ms |\n|---|---|---|---|---|---|"
            )
            row("nothing", await asked(chat, given.rounds))
            if not given.idle_only:
                async with whisper_decoding():
                    row("Whisper", await asked(chat, given.rounds))
                    async with piper_speaking(Path(folder)):
                        row("Whisper and Piper", await asked(chat, given.rounds))
        finally:
            await chat.aclose()


def client_of(address: ServerAddress) -> OpenAIChat:
    url, key = address.url, address.key
    return OpenAIChat("near", url, ALIAS, api_key=key, max_tokens=MAX_TOKENS, temperature=0.7, first_token_timeout_s=60)


def row(beside: str, answers: Sequence[Answer]) -> None:
    first = sorted(answer.first_ms for answer in answers)
    new = median(answer.prompt_tokens - answer.cached_tokens for answer in answers)
    cached = median(answer.cached_tokens for answer in answers)
    print(
        f"| {beside} | {median(first):.0f} / {nearest_rank(first, 95):.0f} "
        f"| {median(answer.first_cpu_ms for answer in answers):.0f} | {new:.0f} / {cached:.0f} "
        f"| {median(answer.pace_ms for answer in answers):.0f} "
        f"| {median(answer.pace_cpu_ms for answer in answers):.0f} |"
    )


async def asked(chat: LocalChat, rounds: int) -> list[Answer]:
    """Holds a conversation of `rounds` turns; after eight it begins anew, as a history is cut."""
    answers = []
    history: list[Message] = []
    for number in range(rounds):
        if number % len(QUESTIONS) == 0:
            history = [Message("system", DEFAULTS.assistant.instructions)]
        history.append(Message("user", QUESTIONS[number % len(QUESTIONS)]))
        answer, text = await measure_answer(chat, history)
        answers.append(answer)
        history.append(Message("assistant", text))
        await asyncio.sleep(0.2)
    return answers


async def measure_answer(chat: LocalChat, messages: Sequence[Message]) -> tuple[Answer, str]:
    assert chat.pid is not None
    began, cpu = time.perf_counter(), cpu_ms(chat.pid)
    first = first_cpu = None
    text, pieces, finished = "", 0, None
    async with aclosing(chat.stream(messages, ChatOptions())) as events:
        async for event in events:
            if isinstance(event, Token):
                if first is None:
                    first, first_cpu = time.perf_counter(), cpu_ms(chat.pid)
                text, pieces = text + event.text, pieces + 1
            elif isinstance(event, Finished):
                finished = event
    ended, ended_cpu = time.perf_counter(), cpu_ms(chat.pid)
    assert first is not None
    assert first_cpu is not None
    assert finished is not None
    more = max(1, (finished.completion_tokens or pieces) - 1)
    answer = Answer(
        (first - began) * 1000,
        first_cpu - cpu,
        (ended - first) * 1000 / more,
        (ended_cpu - first_cpu) / more,
        finished.prompt_tokens or 0,
        finished.cached_tokens or 0,
    )
    return answer, text


def cpu_ms(pid: int) -> float:
    """Returns the CPU time that a process has used so far."""
    total_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total_ns += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        except OSError:  # the thread has ended
            continue
    return total_ns / 1e6


@asynccontextmanager
async def whisper_decoding() -> AsyncGenerator[None]:
    """Decodes the demo's recording over and over, on one thread as in a conversation. Without tiny.en: nothing."""
    place = installed(TINY_EN)
    if place is None:
        print("tiny.en is not there: the next row is without it")
        yield
        return
    from faster_whisper import WhisperModel  # noqa: PLC0415 - it takes a second

    model = WhisperModel(str(place), device="cpu", compute_type="int8_float32", cpu_threads=1)
    sound = np.random.default_rng(1).standard_normal(48_000).astype(np.float32) * 0.05
    going = True

    def decode() -> None:
        while going:
            segments, _ = model.transcribe(sound, beam_size=1, language="en", without_timestamps=True)
            list(segments)

    work = asyncio.create_task(asyncio.to_thread(decode))
    try:
        yield
    finally:
        going = False
        await work


@asynccontextmanager
async def piper_speaking(folder: Path) -> AsyncGenerator[None]:
    """Synthesizes sentences over and over, with a voice of random weights."""
    voice = PiperTts(_random_voice(folder), language="en")
    await voice.load()

    async def speak() -> None:
        while True:
            for text in UNITS:
                async with aclosing(voice.speak(text)) as chunks:
                    async for _ in chunks:
                        pass

    work = asyncio.create_task(speak())
    try:
        yield
    finally:
        work.cancel()
        await asyncio.wait({work})
        await voice.aclose()


# ---- a model of the true shape ----


def write_random(path: Path) -> None:
    """Writes the model, 28 layers of random blocks. Scales are small, so that no number overflows."""
    rng = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "qwen3")
    tokens, merges = vocabulary()
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    writer.add_name("random weights")
    writer.add_context_length(40_960)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1_000_000.0)
    writer.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q4_K_M))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([control] * 3 + [normal] * (len(tokens) - 3))
    writer.add_token_merges(merges)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    def weights(name: str, rows: int, columns: int, kind: gguf.GGMLQuantizationType = Q4_K) -> None:
        writer.add_tensor(f"{name}.weight", blocks(rng, rows, columns, kind), raw_dtype=kind)

    def ones(name: str, size: int) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(size, np.float32))

    weights("token_embd", VOCABULARY, WIDTH, Q6_K)
    ones("output_norm", WIDTH)
    for layer in range(LAYERS):
        finer = Q6_K if layer < LAYERS // 8 or layer >= 7 * LAYERS // 8 or layer % 3 == 2 else Q4_K  # as in Q4_K_M
        block = f"blk.{layer}"
        weights(f"{block}.attn_q", HEADS * HEAD_DIM, WIDTH)
        weights(f"{block}.attn_k", KV_HEADS * HEAD_DIM, WIDTH)
        weights(f"{block}.attn_v", KV_HEADS * HEAD_DIM, WIDTH, finer)
        weights(f"{block}.attn_output", WIDTH, HEADS * HEAD_DIM)
        weights(f"{block}.ffn_gate", HIDDEN, WIDTH)
        weights(f"{block}.ffn_up", HIDDEN, WIDTH)
        weights(f"{block}.ffn_down", WIDTH, HIDDEN, finer)
        for name, size in (("attn_norm", WIDTH), ("ffn_norm", WIDTH), ("attn_q_norm", 128), ("attn_k_norm", 128)):
            ones(f"{block}.{name}", size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def blocks(rng: np.random.Generator, rows: int, columns: int, kind: gguf.GGMLQuantizationType) -> NDArray[np.uint8]:
    """Returns random blocks of 256 weights, with a small scale in place of a random one."""
    _, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows * columns // 256, size), dtype=np.uint8)
    scale = np.array([0.0005], np.float16).view(np.uint8)
    if kind == Q4_K:
        data[:, 0:2], data[:, 2:4] = scale, scale
    else:
        data[:, -2:] = np.array([0.00002], np.float16).view(np.uint8)
    return data.reshape(rows, columns // 256 * size)


def vocabulary() -> tuple[list[str], list[str]]:
    """Returns tokens and merges: bytes, each word of the prompts, and filler up to the size of the true one."""
    signs = byte_signs()
    tokens = dict.fromkeys(["<|endoftext|>", "<|im_end|>", "<|im_start|>", *signs])
    merges: dict[str, None] = {}
    texts = [DEFAULTS.assistant.instructions, *QUESTIONS, *ROLES, "Hello."]
    for word in {spelled for text in texts for spelled in words(text, signs)}:
        for end in range(2, len(word) + 1):
            merges[f"{word[: end - 1]} {word[end - 1]}"] = None
            tokens[word[:end]] = None
    # Filler: all words of a, b, c... in order of length. Read again as a part of the history, it is the same token.
    ends = deque([signs[32]])
    while len(tokens) < VOCABULARY:
        start = ends.popleft()
        for letter in ascii_lowercase:
            merges[f"{start} {letter}"] = None
            ends.append(start + letter)
            tokens[start + letter] = None
    return list(tokens)[:VOCABULARY], list(merges)


def words(text: str, signs: Sequence[str]) -> list[str]:
    """Splits a text roughly as the tokenizer does: a word has the space before it."""
    spelled = "".join(signs[byte] for byte in text.replace("\n", " ").encode())
    return [part for part in spelled.replace(signs[32], f"\0{signs[32]}").split("\0") if part.strip(",.:;!?")]


def byte_signs() -> list[str]:
    """Returns how byte-level vocabularies spell each byte."""
    plain = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


if __name__ == "__main__":
    asyncio.run(main())
