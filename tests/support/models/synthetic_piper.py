"""Creates Piper voices without training: real files for the real code.

`tone_voice` synthesizes every phoneme as a different tone. `medium_voice` has random weights in the shapes of a voice
of medium quality, and so the same cost. `small_voice` is the same with fewer channels.
"""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP
from support.models.onnx_graph import OnnxGraph

RATE_HZ = 22_050
HOP = 256
SYMBOLS = 256
FRAMES_PER_ID = 2
"""Frames of 256 samples: a second for 43 ids, the length of a sentence of espeak-ng's phonemes with padding."""

_SILENT = '_^$ !,-.:;?"()ˈˌ'


def tone_voice(
    folder: Path,
    *,
    name: str = "en_US-tone-low",
    language: str = "en_US",
    espeak_voice: str = "en-us",
    speakers: int = 1,
    amplitude: float = 0.1,
    lead_frames: int = 0,
    burn: int = 0,
    aligned: bool = True,
) -> Path:
    """Writes a voice with tones of 150 to 1400 Hz for phonemes and silence for signs. Returns the path of its .onnx.

    `burn` multiplies matrices (9 ms of one core each) before it speaks, `lead_frames` delay the first tone, and
    `aligned=False` leaves out the node that gives the durations.
    """
    graph = OnnxGraph()
    ids = graph.input("input", integer=True, shape=(1, "phonemes"))
    graph.input("input_lengths", integer=True, shape=(1,))
    scales = graph.input("scales", integer=False, shape=(3,))
    frequency = np.linspace(150, 1400, SYMBOLS)
    loudness = np.full(SYMBOLS, float(amplitude))
    for phoneme in _SILENT:
        loudness[DEFAULT_PHONEME_ID_MAP[phoneme][0]] = 0
    # Padding follows every phoneme. It has a tone of its own, so that a word is one piece.
    loudness[0] = amplitude / 2
    pitch = graph.op("Gather", graph.constant(frequency[:, None], "emb"), ids)
    if speakers > 1:
        sid = graph.input("sid", integer=True, shape=(1,))
        factor = graph.op("Gather", graph.constant(1 + np.arange(speakers) / 2, "speakers"), sid)
        pitch = graph.op("Mul", pitch, factor)
    level = graph.op("Gather", graph.constant(loudness[:, None]), ids)
    frames = np.full(SYMBOLS, FRAMES_PER_ID)
    for phoneme in "aeiouɑɔɛɪʊəɐʌæ":
        frames[DEFAULT_PHONEME_ID_MAP[phoneme][0]] = 2 * FRAMES_PER_ID
    scale = graph.op("Gather", scales, _ints(graph, 1))
    wanted = graph.op("Mul", graph.op("Gather", graph.constant(frames * 1.0), ids), scale)
    rounded = graph.op("Ceil" if aligned else "Round", wanted)
    length = graph.op("Mul", rounded, graph.constant(np.array(float(HOP))))
    zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
    longest = graph.op("Squeeze", graph.op("ReduceMax", length, keepdims=0))
    time = graph.op("Range", zero, longest, one)
    phase = graph.op("Mul", graph.op("Mul", pitch, time), graph.constant(np.array(2 * np.pi / RATE_HZ)))
    tones = graph.op("Reshape", graph.op("Mul", graph.op("Sin", phase), level), _ints(graph, -1))
    inside = graph.op("Less", time, graph.op("Unsqueeze", length, _ints(graph, 2)))
    tones = graph.op("Compress", tones, graph.op("Reshape", inside, _ints(graph, -1)))
    flat = graph.op("Reshape", tones, _ints(graph, 1, 1, 1, -1))
    if burn:
        flat = graph.op("Add", flat, _burnt(graph, pitch, burn))
    if lead_frames:
        flat = graph.op("Concat", graph.constant(np.zeros((1, 1, 1, lead_frames * HOP))), flat, axis=3)
    graph.output("output", flat, (1, 1, 1, "samples"))
    path = folder / f"{name}.onnx"
    graph.write(path)
    _write_json(path, language=language, espeak_voice=espeak_voice, speakers=speakers)
    return path


def medium_voice(folder: Path, *, name: str = "en_US-random-medium", seed: int = 1, width: int = 192) -> Path:
    """Writes a voice of medium quality with random weights, in the shapes and with the cost of a trained one.

    Text encoder (6 layers of 192, 2 heads), flow (4 blocks of 4 gated convolutions) and the vocoder (upsampling 8 x 8 x
    4 from 256 channels, three residual blocks each). The duration predictor, which works on phonemes and not on frames,
    is left out, as is everything that only changes numbers: norms, relative positions. 61 MB.
    """
    graph, weights = OnnxGraph(), _Weights(seed)
    ids = graph.input("input", integer=True, shape=(1, "phonemes"))
    graph.input("input_lengths", integer=True, shape=(1,))
    scales = graph.input("scales", integer=False, shape=(3,))
    hidden = _text_encoder(graph, weights, ids, width)
    frames, mask = _frames(graph, scales, ids, hidden)
    for _ in range(4):
        frames = _flow(graph, weights, frames, mask, width)
    frames = graph.op("Mul", frames, mask)
    sound = _vocoder(graph, weights, frames, width)
    graph.output("output", graph.op("Unsqueeze", sound, _ints(graph, 1)), (1, 1, 1, "n"))
    path = folder / f"{name}.onnx"
    graph.write(path)
    _write_json(path, language="en_US", espeak_voice="en-us", speakers=1)
    return path


def small_voice(folder: Path, *, name: str = "en_US-random-low") -> Path:
    """Writes a voice with the graph of `medium_voice` and an eighth of its channels. 1 MB."""
    return medium_voice(folder, name=name, width=24)


class _Weights:
    """Random weights that neither amplify nor attenuate a signal."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> npt.NDArray[np.float32]:
        scale = np.float32(1 / np.sqrt(np.prod(shape[1:])))
        return self._random.standard_normal(shape, np.float32) * scale


def _ints(graph: OnnxGraph, *values: int) -> str:
    return graph.constant(np.array(values))


def _conv(graph: OnnxGraph, weights: _Weights, x: str, into: int, out: int, kernel: int, dilation: int = 1) -> str:
    pad = (kernel - 1) * dilation // 2
    weight, bias = graph.constant(weights(out, into, kernel)), graph.constant(np.zeros(out))
    return graph.op("Conv", x, weight, bias, dilations=[dilation], kernel_shape=[kernel], pads=[pad, pad])


def _text_encoder(graph: OnnxGraph, weights: _Weights, ids: str, width: int) -> str:
    x = graph.op("Gather", graph.constant(weights(SYMBOLS, width) * 14, "enc_p.emb.weight"), ids)
    x = graph.op("Transpose", x, perm=[0, 2, 1])
    heads = _ints(graph, 1, 2, width // 2, -1)
    for _ in range(6):
        query, key, value = (graph.op("Reshape", _conv(graph, weights, x, width, width, 1), heads) for _ in range(3))
        match = graph.op("MatMul", graph.op("Transpose", query, perm=[0, 1, 3, 2]), key)
        share = graph.op("Softmax", match, axis=-1)
        seen = graph.op("MatMul", value, graph.op("Transpose", share, perm=[0, 1, 3, 2]))
        seen = graph.op("Reshape", seen, _ints(graph, 1, width, -1))
        x = graph.op("Add", x, _conv(graph, weights, seen, width, width, 1))
        wide = graph.op("Relu", _conv(graph, weights, x, width, 4 * width, 3))
        x = graph.op("Add", x, _conv(graph, weights, wide, 4 * width, width, 3))
        x = graph.op("Tanh", x)
    return x


def _frames(graph: OnnxGraph, scales: str, ids: str, hidden: str) -> tuple[str, str]:
    """Repeats every phoneme's vector for each of its frames, and adds noise. Returns the frames and their mask."""
    scale = graph.op("Gather", scales, _ints(graph, 1))
    ones = graph.op("Expand", graph.constant(np.array([float(FRAMES_PER_ID)])), graph.op("Shape", ids))
    widths = graph.op("Ceil", graph.op("Mul", ones, scale))
    ends = graph.op("CumSum", widths, _ints(graph, 1))
    total = graph.op("Squeeze", graph.op("ReduceMax", ends, keepdims=0))
    time = graph.op("Range", graph.constant(np.array(0.0)), total, graph.constant(np.array(1.0)))
    time = graph.op("Unsqueeze", time, _ints(graph, 0, 1))
    mask = graph.op("Cast", graph.op("Less", time, total), to=1)
    ends = graph.op("Unsqueeze", ends, _ints(graph, 2))
    begins = graph.op("Sub", ends, graph.op("Unsqueeze", widths, _ints(graph, 2)))
    begun = graph.op("Cast", graph.op("LessOrEqual", begins, time), to=1)
    ended = graph.op("Cast", graph.op("LessOrEqual", ends, time), to=1)
    mean = graph.op("MatMul", hidden, graph.op("Sub", begun, ended))
    noise = graph.op("Mul", graph.op("RandomNormalLike", mean), graph.op("Gather", scales, _ints(graph, 0)))
    return graph.op("Add", mean, noise), mask


def _flow(graph: OnnxGraph, weights: _Weights, x: str, mask: str, width: int) -> str:
    middle = width // 2
    half = graph.op("Slice", x, _ints(graph, 0), _ints(graph, middle), _ints(graph, 1))
    rest = graph.op("Slice", x, _ints(graph, middle), _ints(graph, width), _ints(graph, 1))
    inner = graph.op("Mul", _conv(graph, weights, half, middle, width, 1), mask)
    for _ in range(4):
        both = _conv(graph, weights, inner, width, 2 * width, 5)
        first, second = (_ints(graph, 0), _ints(graph, width)), (_ints(graph, width), _ints(graph, 2 * width))
        gate = graph.op("Sigmoid", graph.op("Slice", both, *first, _ints(graph, 1)))
        value = graph.op("Tanh", graph.op("Slice", both, *second, _ints(graph, 1)))
        skip = _conv(graph, weights, graph.op("Mul", gate, value), width, 2 * width, 1)
        inner = graph.op("Add", inner, graph.op("Slice", skip, *first, _ints(graph, 1)))
        inner = graph.op("Mul", inner, mask)
    shifted = graph.op("Sub", rest, _conv(graph, weights, inner, width, middle, 1))
    return graph.op("Concat", shifted, half, axis=1)


def _vocoder(graph: OnnxGraph, weights: _Weights, x: str, width: int) -> str:
    channels = width * 4 // 3
    x = _conv(graph, weights, x, width, channels, 7)
    for rate, kernel in ((8, 16), (8, 16), (4, 8)):
        x = graph.op("LeakyRelu", x, alpha=0.1)
        weight = graph.constant(weights(channels, channels // 2, kernel) * np.float32(np.sqrt(rate)))
        pad = (kernel - rate) // 2
        x = graph.op("ConvTranspose", x, weight, kernel_shape=[kernel], pads=[pad, pad], strides=[rate])
        channels //= 2
        blocks = []
        for kernel_size, dilations in ((3, (1, 2)), (5, (2, 6)), (7, (3, 12))):
            y = x
            for dilation in dilations:
                active = graph.op("LeakyRelu", y, alpha=0.1)
                y = graph.op("Add", y, _conv(graph, weights, active, channels, channels, kernel_size, dilation))
            blocks.append(y)
        x = graph.op("Mul", graph.op("Sum", *blocks), graph.constant(np.array(0.3)))
    x = _conv(graph, weights, graph.op("LeakyRelu", x, alpha=0.01), channels, 1, 7)
    return graph.op("Tanh", x)


def _burnt(graph: OnnxGraph, pitch: str, times: int) -> str:
    """Returns a zero that takes `times` products of two matrices of 600 x 600."""
    seed = graph.op("Mul", graph.op("ReduceMax", pitch, keepdims=0), graph.constant(np.array(0.0)))
    identity = graph.constant(np.eye(600))
    x = graph.op("Add", identity, seed)
    for _ in range(times):
        x = graph.op("MatMul", x, identity)
    return graph.op("Mul", graph.op("ReduceMax", x, keepdims=0), graph.constant(np.array(0.0)))


def _write_json(path: Path, *, language: str, espeak_voice: str, speakers: int) -> None:
    config = {
        "audio": {"sample_rate": RATE_HZ, "quality": path.stem.rpartition("-")[2]},
        "espeak": {"voice": espeak_voice},
        "language": {"code": language, "family": language.partition("_")[0]},
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "phoneme_type": "espeak",
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
        "num_symbols": SYMBOLS,
        "num_speakers": speakers,
        "speaker_id_map": {f"speaker{index}": index for index in range(speakers)} if speakers > 1 else {},
    }
    path.with_name(path.name + ".json").write_text(json.dumps(config), encoding="utf-8")
