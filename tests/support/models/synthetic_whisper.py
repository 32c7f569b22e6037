"""Creates Whisper models without downloads: a scripted one, and random ones in true shapes.

The scripted model has a multilingual vocabulary and a width of 64. It outputs word i of its script if, and only if, the
sound is loud `START_MS + i * WORD_MS` after its beginning; the text ends where the sound is quiet. So silence gives no
words, half of the sound gives half of them, and a window that is too short cuts them off.
"""

import atexit
import json
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from ctranslate2.specs import common_spec, whisper_spec
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from audio.stt.whisper import model as whisper_model
from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm

START_MS = 200
WORD_MS = 300

Weights = npt.NDArray[np.float32]

_WIDTH = 64
_WORDS = 51
_DUE = 4  # the first of the encoder's channels that tell when a word is due
_LOUD = _WIDTH - 1  # the decoder's channel for loudness at the position it attends to
_POSITION_CHANNELS = (0, *range(1, _LOUD, 2), *range(2, _LOUD, 2))
"""The channel of each position. Consecutive positions are apart: without VNNI, an int8 product adds channels 2k and
2k + 1 in 16 bits, which the weights of a repeated word would overflow."""

_VOCABULARY = 51865
_PLACES = 448
_FRAMES = 1500
_LANGUAGES = (
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml "
    "cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am "
    "yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su"
).split()
_AFTER_LANGUAGES = "translate transcribe startoflm startofprev nocaptions notimestamps".split()
_TIMESTAMPS = 1501
_EOT = _VOCABULARY - _TIMESTAMPS - len(_AFTER_LANGUAGES) - len(_LANGUAGES) - 2
_SPECIAL = [f"<|{name}|>" for name in ("endoftext", "startoftranscript", *_LANGUAGES, *_AFTER_LANGUAGES)]


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of a released model."""

    layers: int
    heads: int
    width: int


SHAPES = {"tiny": Shape(4, 6, 384), "base": Shape(6, 8, 512), "small": Shape(12, 12, 768)}


def loud(seconds: float, *, seed: int = 1) -> Pcm:
    """Returns noise at -20 dBFS, which the scripted model takes for speech."""
    noise = np.random.default_rng(seed).normal(0, 0.1 * FULL_SCALE, round(seconds * MIC_RATE_HZ))
    return noise.clip(-32768, 32767).astype(np.int16)


def quiet(seconds: float) -> Pcm:
    """Returns digital silence."""
    return np.zeros(round(seconds * MIC_RATE_HZ), np.int16)


def seconds_of(words: int) -> float:
    """Returns the duration of loud sound that gives exactly this many words."""
    return (START_MS + (words - 0.5) * WORD_MS) / 1000


def scripted_whisper(
    folder: Path,
    words: Sequence[str],
    *,
    probability: float = 0.99,
    no_speech: bool = False,
    language: str = "en",
    prompt_tokens: int = 4,
    start_ms: int = START_MS,
) -> Path:
    """Builds a model that outputs `words`.

    Args:
        folder: Folder to create.
        words: At most 50.
        probability: Probability of each word in loud sound. Below 0.37 it fails the log-probability gate.
        no_speech: Whether it takes all sound for no speech.
        language: Language that it detects.
        prompt_tokens: Number of tokens before its output: 4 with a language, a task and no prompt.
        start_ms: Time of the first word after the beginning of the sound, in ms.
    """
    vocabulary = _tokenizer(folder, words)
    spec = _zero_spec(Shape(1, 1, _WIDTH))
    _set_encoder(spec, start_ms)
    places = np.zeros((_PLACES, _WIDTH), np.float32)
    last = prompt_tokens - 1  # the first word is predicted at the last token of the prompt
    said = last + np.arange(len(words) + 1)
    channels = np.array(_POSITION_CHANNELS)[said]
    places[said, channels] = 1.0
    places[0, 0] = 1.0
    spec.decoder.position_encodings.encodings = places
    _set_decoder(spec, {0: 0} | {int(channel): index for index, channel in enumerate(channels)})
    ids = [vocabulary.index(_in_bytes(word)) for word in words]
    head, bias = np.zeros((_VOCABULARY, _WIDTH), np.float32), np.zeros(_VOCABULARY, np.float32)
    sure = float(np.log(probability / (1 - probability) * _VOCABULARY))
    # After the last norm the channels of the position and of loudness are 5.57 each and all others -0.18 for loud
    # sound; for quiet the position is 7.9 and all others -0.13. So 8 * (position + loudness) is 89 for the word that is
    # due, 43 for any other and 62 for quiet.
    for channel, token in zip(channels[:-1], ids, strict=True):
        head[token, channel] = 8
    for token in set(ids):
        head[token, _LOUD] = 8
        bias[token] = sure - 16 * np.sqrt(_WIDTH / 2 - 1) + 8 * (ids.count(token) - 1) / np.sqrt(_WIDTH / 2 - 1)
    head[_EOT, _LOUD], bias[_EOT] = -8, 20
    head[_EOT, channels[-1]] = 8  # the end of the script
    nocaptions = _EOT + len(_SPECIAL) - 2
    head[nocaptions, 0], head[nocaptions, _LOUD], bias[nocaptions] = 8, (0 if no_speech else -16), -20
    english = _EOT + 2
    head[english + _LANGUAGES.index(language), 0] = 3
    spec.decoder.projection.weight, spec.decoder.projection.bias = head, bias
    return _save(spec, folder, vocabulary)


@cache
def cached_whisper(*words: str, **options: Any) -> Path:
    """Returns the folder of a scripted model, which is built once and removed at exit."""
    folder = Path(tempfile.mkdtemp(prefix="repartee-tests-whisper-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return scripted_whisper(folder / "model", words, **options)


@contextmanager
def loaded_once() -> Generator[None]:
    """Loads each model only once in this context: it takes a third of a second, most of it for the vocabulary."""
    load, loaded = whisper_model.LoadedWhisper.__init__, dict[whisper_model.WhisperSettings, dict[str, Any]]()

    def loading(model: whisper_model.LoadedWhisper, settings: whisper_model.WhisperSettings) -> None:
        if settings not in loaded:
            load(model, settings)
            loaded[settings] = dict(vars(model))
        vars(model).update(loaded[settings])

    with patch.object(whisper_model.LoadedWhisper, "__init__", loading):
        yield


def random_whisper(folder: Path, shape: Shape, *, seed: int = 1) -> Path:
    """Builds a model with random weights: nonsense output, realistic cost."""
    random = np.random.default_rng(seed)
    spec = _zero_spec(shape)

    def fill(name: str, value: object) -> None:
        if isinstance(value, np.ndarray) and value.ndim > 1:
            value[...] = random.standard_normal(value.shape, np.float32) * 0.05

    _visit(spec, fill)
    return _save(spec, folder, _tokenizer(folder, ()), quantization="int8")


def _visit(spec: whisper_spec.WhisperSpec, see: object) -> None:
    for name, value in spec.variables(ordered=True):
        see(name, value)  # type: ignore[operator]


def _zero_spec(shape: Shape) -> whisper_spec.WhisperSpec:
    """Returns a model of zeros, which passes its input through."""
    spec = whisper_spec.WhisperSpec(shape.layers, shape.heads, shape.layers, shape.heads)
    width = shape.width

    def zeros(*dimensions: int) -> Weights:
        return np.zeros(dimensions, np.float32)

    def linear(layer: common_spec.LinearSpec, outputs: int, inputs: int) -> None:
        layer.weight, layer.bias = zeros(outputs, inputs), zeros(outputs)

    def norm(layer: common_spec.LayerNormSpec) -> None:
        layer.gamma, layer.beta = np.ones(width, np.float32), zeros(width)

    spec.encoder.conv1.weight, spec.encoder.conv1.bias = zeros(width, 80, 3), zeros(width)
    spec.encoder.conv2.weight, spec.encoder.conv2.bias = zeros(width, width, 3), zeros(width)
    spec.encoder.position_encodings.encodings = zeros(_FRAMES, width)
    spec.decoder.position_encodings.encodings = zeros(_PLACES, width)
    spec.decoder.embeddings.weight = zeros(_VOCABULARY, width)
    linear(spec.decoder.projection, _VOCABULARY, width)
    norm(spec.encoder.layer_norm)
    norm(spec.decoder.layer_norm)
    for layer in (*spec.encoder.layer, *spec.decoder.layer):
        attentions = [layer.self_attention] + ([layer.attention] if hasattr(layer, "attention") else [])
        for attention in attentions:
            norm(attention.layer_norm)
            linears = attention.linear
            for part, times in zip(linears, (3, 1) if len(linears) == 2 else (1, 2, 1), strict=True):
                linear(part, times * width, width)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, 4 * width, width)
        linear(layer.ffn.linear_1, width, 4 * width)
    return spec


def _set_encoder(spec: whisper_spec.WhisperSpec, start_ms: int) -> None:
    """Sets the encoder: channel 0 is 8 for loud sound, channel 1 for quiet; one more channel for each word's time."""
    encoder = spec.encoder
    # The mean log-mel is about 0.6 for noise at -20 dBFS and -1.5 for silence. Above -0.3 counts as loud.
    for channel, offset in ((0, 0.0), (1, -8.0)):
        encoder.conv1.weight[channel, :, 1] = 20 / 80
        encoder.conv1.bias[channel] = 20 * 0.3 + offset
    encoder.conv2.weight[0, :2, 1] = 1, -1
    encoder.conv2.weight[1, :2, 1] = -1, 1
    encoder.conv2.bias[1] = 8
    for word in range(_WORDS):
        frame = (start_ms + word * WORD_MS) // 20
        encoder.position_encodings.encodings[frame - 2 : frame + 3, _DUE + word] = 8


def _set_decoder(spec: whisper_spec.WhisperSpec, words: dict[int, int]) -> None:
    """Sets the decoder: at a position it attends to the time at which the word is due, and adds its loudness to
    channel _LOUD."""
    query, pair, out = spec.decoder.layer[0].attention.linear
    for place, word in words.items():
        query.weight[_DUE + word, place] = 20
    pair.weight[range(_DUE, _DUE + _WORDS), range(_DUE, _DUE + _WORDS)] = 1
    # After the encoder's last norm a loud frame has about 5.7 in channel 0, a quiet one about 0.
    pair.weight[_WIDTH, 0] = 1
    out.weight[_LOUD, 0] = 1 / 5.6


def _tokenizer(folder: Path, words: Sequence[str]) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    text = [*letters, *dict.fromkeys(_in_bytes(word) for word in words)]
    text += [f"filler{index}" for index in range(_EOT - 1 - len(text))]
    text += [""]  # CTranslate2 recognizes a multilingual model by this token
    vocabulary = [*text, *_SPECIAL]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(vocabulary)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    return vocabulary + [f"<|{index * 0.02:.2f}|>" for index in range(_TIMESTAMPS)]


def _in_bytes(word: str) -> str:
    """Spells a word after a space as a byte-level vocabulary does."""
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return "".join(piece for piece, _ in splitter.pre_tokenize_str(" " + word))


def _save(
    spec: whisper_spec.WhisperSpec, folder: Path, vocabulary: list[str], *, quantization: str | None = "float16"
) -> Path:
    spec.register_vocabulary(vocabulary)
    spec.config.lang_ids = list(range(_EOT + 2, _EOT + 2 + len(_LANGUAGES)))
    spec.config.suppress_ids = []
    spec.config.suppress_ids_begin = [vocabulary.index("Ġ"), _EOT]  # as in the released models
    spec.config.alignment_heads = [[0, 0]]
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    (folder / "preprocessor_config.json").write_text(json.dumps({"feature_size": 80}))
    return folder


@contextmanager
def as_trained() -> Generator[None]:
    """Gives random weights the cost of trained ones: decodes have 4 tokens for each second of sound, confidently."""
    with (
        patch.object(whisper_model, "_MIN_TOKENS", 1),
        patch.object(whisper_model, "_TOKENS_PER_S", 4),
        patch.object(whisper_model, "failed_check", return_value=""),
    ):
        yield
