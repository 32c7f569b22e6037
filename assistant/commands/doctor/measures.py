"""Measures one engine: load time, first use, real-time factor, and the delay it adds to a reply."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import aclosing, closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from assistant.commands.engine_bench.meter import real_time_factor, recognize, speak
from audio.formats.recording import open_recording
from audio.frame import Frame
from audio.stt import Recognizer, SegmentId
from audio.tts import Voice
from audio.units import FRAME_MS, FRAME_SAMPLES, Pcm, Samples, ms_of_samples
from audio.vad import Vad
from llm.chat import ChatModel, Message, Token

SHIPPED = "recordings/conversation.wav"
"""A recording in which a person asks for the time."""

CLIP_FROM_FRAME, CLIP_TO_FRAME = 69, 126
"""1.38 to 2.52 s of the shipped conversation: "what time is it" and the 185 ms after it (its README.md)."""

VAD_FRAMES = 145
"""Frames for the VAD measurement, up to 2.9 s of the recording: silence, the sentence, silence."""

SPEECH_END_MS = 2335.0
"""End of the sentence in ms, accurate to 62 ms."""

SENTENCE = "It is ten past four."
QUESTION = (Message("user", "what time is it"),)


@dataclass(frozen=True, slots=True)
class EngineMeasurement:
    """Measured times of one engine.

    Attributes:
        load_ms: From start to ready, including imports.
        first_ms: The first use after loading.
        rtf: Seconds of work per second of audio; None without audio.
        delay_ms: Delay added to a reply. Detector: per frame. Recognizer: from the last frame to the transcript. Voice
            and model: from the call to the first audio or token.
        text: Further information.
        ok: Whether the result was as expected.
    """

    load_ms: float
    first_ms: float
    rtf: float | None
    delay_ms: float
    text: str
    ok: bool = True


def sound(frames: int) -> Pcm:
    """Returns the first frames of the shipped recording. Raises AudioFileError."""
    with closing(open_recording(Path(str(files("assistant") / SHIPPED))).blocks(FRAME_SAMPLES)) as blocks:
        return np.concatenate([block[:, 0] for block in itertools.islice(blocks, frames)])


def measure_vad(make: Callable[[], Vad]) -> EngineMeasurement:
    """Loads a detector and feeds it a sentence frame by frame. Raises AudioError."""
    now_s = asyncio.get_running_loop().time
    pcm = sound(VAD_FRAMES)
    began_s = now_s()
    vad = make()
    load_ms = (now_s() - began_s) * 1000
    took_ms, end_ms, heard = [], 0.0, False
    for start in range(0, len(pcm), FRAME_SAMPLES):
        began_s = now_s()
        vad_result = vad.process(Frame(Samples(start), pcm[start : start + FRAME_SAMPLES]))
        took_ms.append((now_s() - began_s) * 1000)
        heard = heard or vad_result.speaking
        end_ms = ms_of_samples(vad_result.boundary)
    total_ms = sum(took_ms[1:])
    frames = len(took_ms) - 1
    detail = f"end of speech {end_ms - SPEECH_END_MS:+.0f} ms from the label (±62) without its bias of "
    detail += f"{vad.end_bias_ms:+.0f} ms"
    return EngineMeasurement(
        load_ms,
        took_ms[0],
        total_ms / (frames * FRAME_MS),
        total_ms / frames,
        f"{detail}; a frame takes at most {max(took_ms[1:]):.1f} ms" if heard else "it detected no speech",
        ok=heard,
    )


async def measure_transcriber(make: Callable[[], Recognizer]) -> EngineMeasurement:
    """Loads a recognizer and feeds it a sentence at once, in real time, and at once again. Raises AudioError."""
    now_s = asyncio.get_running_loop().time
    clip = sound(CLIP_TO_FRAME)[CLIP_FROM_FRAME * FRAME_SAMPLES :]
    began_s = now_s()
    transcriber = make()
    try:
        await transcriber.load()
        load_ms = (now_s() - began_s) * 1000
        first_rtf = await real_time_factor(transcriber, clip, SegmentId(0))
        heard = await recognize(transcriber, clip, Samples(0), SegmentId(1))
        rtf = await real_time_factor(transcriber, clip, SegmentId(2))
        detail = transcriber.detail
    finally:
        await transcriber.aclose()
    text = heard.words.text
    quoted = f"“{text}”" if text else "nothing"
    return EngineMeasurement(
        load_ms,
        first_rtf * ms_of_samples(len(clip)),
        rtf,
        heard.final_ms,
        f"{detail}; recognized {quoted} (spoken: “what time is it”)",
        ok=bool(text),
    )


async def measure_voice(make: Callable[[], Voice]) -> EngineMeasurement:
    """Loads a voice and synthesizes a sentence twice. Raises AudioError."""
    now_s = asyncio.get_running_loop().time
    began_s = now_s()
    voice = make()
    try:
        await voice.load()
        load_ms = (now_s() - began_s) * 1000
        first = await speak(voice, SENTENCE)
        again = await speak(voice, SENTENCE)
        detail = voice.detail
    finally:
        await voice.aclose()
    rtf = again.whole_ms / 1000 / again.sound_s if again.sound_s else None
    detail_text = detail if again.sound_s else f"{detail}; it produced no audio"
    return EngineMeasurement(load_ms, first.first_ms, rtf, again.first_ms, detail_text, ok=again.sound_s > 0)


async def measure_model(make: Callable[[], ChatModel]) -> EngineMeasurement:
    """Loads a model and asks it the same question twice. Raises LlmError."""
    now_s = asyncio.get_running_loop().time
    began_s = now_s()
    model = make()
    try:
        await model.load()
        load_ms = (now_s() - began_s) * 1000
        first_ms, _ = await _answered(model)
        delay_ms, text = await _answered(model)
    finally:
        await model.aclose()
    return EngineMeasurement(load_ms, first_ms, None, delay_ms, f"“what time is it”: “{text}”", ok=bool(text))


async def _answered(model: ChatModel) -> tuple[float, str]:
    now_s = asyncio.get_running_loop().time
    began_s = now_s()
    first_ms, text = 0.0, ""
    async with aclosing(model.stream(QUESTION)) as events:
        async for event in events:
            if isinstance(event, Token):
                first_ms = first_ms or (now_s() - began_s) * 1000
                text += event.text
    return first_ms, text.strip()
