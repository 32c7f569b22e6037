"""Measures recognizers and voices with each of their settings, on the same recordings and sentences.

Every engine is measured as a conversation uses it: in real time, through the same interface, loaded and warm.
"""

import asyncio
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

from assistant.commands.engine_bench.clips import Clip, clip_of, labels_of
from assistant.commands.engine_bench.meter import (
    RecognitionTiming,
    SynthesisTiming,
    real_time_factor,
    recognize,
    speak,
    transcribe,
)
from assistant.commands.engine_bench.places import recognizer_absent, recognizer_places, voice_absent, voice_places
from assistant.commands.engine_bench.words import WordErrors, word_errors
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.config.words import unknown
from assistant.models.catalogue import MODELS
from assistant.models.needs import Need, at_hand, engine_of_voice, is_path, kind_of_recognizer, missing
from assistant.registry.listening import RECOGNIZERS, measured_recognizer
from assistant.registry.voices import VOICES, voice_kinds
from assistant.setup.engine_catalog import need_of, transcriber, voice
from assistant.setup.engine_loader import LOAD_TIMEOUT_S
from assistant.setup.providers import voice_provider
from assistant.trace.waterfall import nearest_rank
from assistant.turns.settings import TurnSettings
from audio.engines.settings import OnnxSettings
from audio.engines.voice import VoiceEngine
from audio.errors import AudioError, SttError
from audio.stt import SegmentId
from audio.tts import Voice

RANDOM_WEIGHTS = "random-weights"
"""A file of this name in a model's folder marks random weights, whose words mean nothing; bench/sound/engines.py writes
it."""

WINDOWS = ("adaptive", "full", "dynamic")
THREADS = (1, 2)

SECTION = f"stt.{measured_recognizer().name}"
"""Section of the recognizer that is measured with each window and place."""

UNITS = (
    "Yes.",
    "Okay, I've set a timer for ten minutes.",
    "The lamp in the living room is on.",
    "That would be seven euros and twenty cents, which is less than you paid for it a week ago.",
    "It is half past four, the bus leaves in ten minutes, and if you walk to the station now you will catch the train "
    "that arrives before noon.",
)
"""Texts for voices: 4 to 138 letters, like the chunks of replies."""


@dataclass(frozen=True, slots=True)
class MedianAndP95:
    """Median and 95th percentile by nearest rank, in ms, over all clips or texts."""

    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class BenchRow:
    """Results of one engine with one setting.

    Attributes:
        stage: Recognition (stt) or synthesis (tts).
        engine: As in the configuration.
        setting: What is varied: model, window, threads; "" if nothing is.
        note: Why there is no figure, or no word error rate: "missing: repartee models pull base.en".
        load_ms: Time to load and run once. None here and below: not measured.
        wait: Recognizer: from the last frame to the final transcript. Voice: from the call to the first audio.
        first_partial: From the first speech to the first interim words.
        real_time_factor: Seconds of work per second of audio, without other load.
        words: Word errors of the recordings as they are.
        words_in_noise: Word errors of those with noise added.
    """

    stage: Literal["stt", "tts"]
    engine: str
    setting: str = ""
    note: str = ""
    load_ms: float | None = None
    wait: MedianAndP95 | None = None
    first_partial: MedianAndP95 | None = None
    real_time_factor: float | None = None
    words: WordErrors | None = None
    words_in_noise: WordErrors | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One measurement: a row without figures, the settings and the model it needs."""

    row: BenchRow
    overrides: tuple[str, ...] = ()
    need: Need | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """Engines to measure and the data to measure them with.

    Attributes:
        environ: As for `load_settings`.
        config: As for `load_settings`.
        overrides: As for `load_settings`.
        manifest: None: the default set.
        stt: Recognizers and models by name; if `tts` is empty too, empty means all.
        tts: Voices; likewise.
        rounds: How often every clip is recognized and every text synthesized.
        windows: Encoder windows of the variants of a recognizer.
        threads: Numbers of threads of the variants of a recognizer.
    """

    environ: Mapping[str, str]
    config: Path | None = None
    overrides: Sequence[str] = ()
    manifest: Path | None = None
    stt: Sequence[str] = ()
    tts: Sequence[str] = ()
    rounds: int = 1
    windows: Sequence[str] = WINDOWS
    threads: Sequence[int] = THREADS

    def settings(self, *overrides: str) -> Settings:
        """Returns the settings with these overrides added. Raises ConfigError."""
        return load_settings(self.config, self.environ, (*self.overrides, *overrides)).settings


@dataclass(frozen=True, slots=True)
class BenchReport:
    """All results.

    Attributes:
        rows: One for each variant, also for those not measured.
        clips: Number of recordings, those with noise included.
        speech_s: Duration of their speech.
        asked_after_ms: From the labelled end of speech to the request for the transcript.
        machine: One line.
    """

    rows: tuple[BenchRow, ...]
    clips: int
    speech_s: float
    asked_after_ms: float
    machine: str


async def measure(bench: Bench, tell: Callable[[str], None]) -> BenchReport:
    """Measures all variants one after another; calls `tell` before each. Raises AudioError, ConfigError."""
    settings = bench.settings()
    turn = settings.turn
    # A transcript requested earlier would be requested again at this time.
    after_ms = max(
        turn.speculate_after_ms or turn.hangover_in_use_ms,
        *(engine.thresholds.settle_ms for engine in RECOGNIZERS.all()),
    )
    chosen_variants = list(variants(settings, bench))
    clips = []
    if any(variant.row.stage == "stt" for variant in chosen_variants):
        labels = labels_of(bench.manifest)
        clips = [await clip_of(label, before_ms=TurnSettings().pre_roll_ms, after_ms=after_ms) for label in labels]
    rows = []
    for number, variant in enumerate(chosen_variants, start=1):
        tell(f"{number} of {len(chosen_variants)}: {variant.row.engine} {variant.row.setting}".rstrip())
        rows.append(await _row(bench, variant, clips))
    speech_s = sum(clip.label.end_s - clip.label.start_s for clip in clips)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return BenchReport(tuple(rows), len(clips), speech_s, after_ms, machine)


# ---- variants ----


def variants(settings: Settings, bench: Bench) -> Iterator[Variant]:
    """Returns the variants for the names: an engine with all its available models, or a single model.

    Raises ConfigError for an unknown name.
    """
    stt, tts = bench.stt, bench.tts
    everything = not stt and not tts
    own = kind_of_recognizer()
    for name in stt or ([engine.name for engine in RECOGNIZERS.all()] if everything else ()):
        if (declared := RECOGNIZERS.get(name)) is not None and declared.measured is None:
            yield Variant(BenchRow("stt", name), (f"stt.engine={name}",))
            continue
        needs = _models(settings, name, own) if name == measured_recognizer().name else [_asked(name, own)]
        yield from (variant for need in needs for variant in _recognizer_variants(need, bench))
        if name == measured_recognizer().name:
            yield from _absent("stt", name, needs, recognizer_absent)
    for name in tts or ([engine.name for engine in VOICES.all()] if everything else ()):
        if (engine := VOICES.get(name)) is not None:
            yield from _voices(settings, engine)
        elif (named := engine_of_voice(name)) is None:
            models = [
                model.name for engine in VOICES.all() if engine.models is not None for model in engine.models.catalogue
            ]
            voices = [voice.name for engine in VOICES.all() for voice in engine.voices]
            raise _unknown("--tts", name, "voice", list(dict.fromkeys([*VOICES.names, *models, *voices])))
        elif named.models is None:
            yield Variant(BenchRow("tts", named.name, name), (f"tts.engine={named.name}", f"tts.voice={name}"))
        else:
            yield from _voice_variants(settings, named, Need(name, named.models.name, "", "--tts"))


def _voices(settings: Settings, engine: VoiceEngine) -> Iterator[Variant]:
    """Returns the variants of an engine: all its available models, and where it cannot compute."""
    if engine.models is None:
        yield Variant(BenchRow("tts", engine.name))
        return
    needs = _models(settings, engine.name, engine.models.name)
    yield from (variant for need in needs for variant in _voice_variants(settings, engine, need))
    if isinstance(settings.engines.of("tts", engine.name), OnnxSettings):
        yield from _absent("tts", engine.name, needs, voice_absent)


def _models(settings: Settings, engine: str, kind: str) -> list[Need]:
    """Returns the configured model, available or not, and all other available models of the language."""
    configured = need_of(settings, engine)
    others = [
        _need(name, kind)
        for name, model in MODELS.items()
        if model.kind == kind and (configured is None or name != configured.name)
        if model.covers(settings.assistant.language)
    ]
    needs = [need for need in others if at_hand(need) is not None]
    return needs if configured is None else [configured, *needs]


def _asked(name: str, kind: str) -> Need:
    """Returns the recognizer's model that a command-line name stands for."""
    need = _need(name, kind)
    if need.model is None and not is_path(name):
        known = [*RECOGNIZERS.names, *(model.name for model in MODELS.values() if model.kind == kind)]
        raise _unknown(need.key, name, "recognizer or model", known)
    return need


def _unknown(key: str, name: str, what: str, known: Sequence[str]) -> ConfigError:
    wrong = unknown(name, known, f"no such {what}")
    return ConfigError([f'{key} "{name}": {wrong} (known: {", ".join(known)}, or a path)'])


def _need(name: str, kind: str) -> Need:
    return Need(name, kind, "", "--tts" if kind in voice_kinds() else "--stt")


def _recognizer_variants(need: Need, bench: Bench) -> Iterator[Variant]:
    if at_hand(need) is None:
        yield Variant(BenchRow("stt", measured_recognizer().name, _short(need)), need=need)
        return
    for place, window in product(recognizer_places(SECTION), bench.windows):
        for threads in bench.threads if place.cpu else (1,):
            on = ", ".join(filter(None, (place.name, f"{threads} thread{'s' * (threads > 1)}" if place.cpu else "")))
            overrides = (f"stt.model={need.name}", f"{SECTION}.encoder_window={window}", f"stt.threads={threads}")
            row = BenchRow("stt", measured_recognizer().name, f"{_short(need)}, {window}, {on}")
            yield Variant(row, (*overrides, *place.overrides), need)


def _voice_variants(settings: Settings, engine: VoiceEngine, need: Need) -> Iterator[Variant]:
    if at_hand(need) is None:
        yield Variant(BenchRow("tts", engine.name, _short(need)), need=need)
        return
    for place in voice_places(f"tts.{engine.name}", settings.engines.of("tts", engine.name)):
        row = BenchRow("tts", engine.name, ", ".join(filter(None, (_short(need), place.name))))
        yield Variant(row, (f"tts.voice={need.name}", *place.overrides), need)


def _absent(
    stage: Literal["stt", "tts"], engine: str, needs: Sequence[Need], lacking: Callable[[], tuple[str, str]]
) -> Iterator[Variant]:
    """Returns a row that names where an engine with a model cannot compute here, if there is such a place."""
    if all(at_hand(need) is None for need in needs):
        return
    names, why = lacking()
    if names:
        yield Variant(BenchRow(stage, engine, names, note=why))


def _short(need: Need) -> str:
    return need.name.rpartition("/")[2].removesuffix(".onnx")


# ---- measurement ----


async def _row(bench: Bench, variant: Variant, clips: Sequence[Clip]) -> BenchRow:
    """Measures one row; on failure its note gives the reason."""
    row, place = variant.row, None
    if row.note:
        return row
    if variant.need is not None:
        place = at_hand(variant.need)
        if place is None:
            return replace(row, note=missing(variant.need))
    try:
        settings = bench.settings(*variant.overrides)
        if row.stage == "tts":
            provider = voice_provider(settings, row.engine)
            load_s = LOAD_TIMEOUT_S if provider is None else provider.load_timeout_s(LOAD_TIMEOUT_S)
            return await _voice(row, voice(settings, row.engine), bench.rounds, load_s)
        return _sensible(await _recognizer(row, settings, clips, bench.rounds), place)
    except TimeoutError:
        return replace(row, note="too slow: no answer in time")
    except AudioError as error:
        return replace(row, note=str(error))


def _sensible(row: BenchRow, place: Path | None) -> BenchRow:
    """Removes figures without meaning. `place`: folder of the model, if any."""
    if place is not None and (place / RANDOM_WEIGHTS).exists():
        # Interim words are those on which two decodes agree; with random weights that is chance.
        return replace(
            row, words=None, words_in_noise=None, first_partial=None, note=_joined("random weights", row.note)
        )
    if row.words is None or not row.words.reference_words:
        return replace(row, words=None, note=_joined("no transcripts", row.note))
    return row


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


async def _recognizer(row: BenchRow, settings: Settings, clips: Sequence[Clip], rounds: int) -> BenchRow:
    loop = asyncio.get_running_loop()
    engine, began_s = transcriber(settings, row.engine), loop.time()
    factors: list[float] = []
    heard: list[RecognitionTiming] = []
    transcripts: list[tuple[Clip, str]] = []
    lost: list[SttError] = []
    try:
        async with asyncio.timeout(LOAD_TIMEOUT_S):
            await engine.load()
        load_ms = (loop.time() - began_s) * 1000
        for number, clip in enumerate(clip for _ in range(rounds) for clip in clips):
            try:
                if clip.label.timed:
                    factors.append(await real_time_factor(engine, clip.pcm, SegmentId(2 * number)))
                    heard.append(await recognize(engine, clip.pcm, clip.onset, SegmentId(2 * number + 1)))
                    transcripts.append((clip, heard[-1].words.text))
                else:
                    transcripts.append((clip, await transcribe(engine, clip.pcm, SegmentId(2 * number))))
            except SttError as error:  # as in a conversation: the transcript is lost and the engine is loaded again
                lost.append(error)
                async with asyncio.timeout(LOAD_TIMEOUT_S):
                    await engine.load()
    finally:
        await engine.aclose()
    if not heard:
        raise lost[0]
    note = f"{len(lost)} of {rounds * len(clips)} recordings lost: {lost[0]}" if lost else ""
    language, noisy = (
        settings.assistant.language,
        [timing for timing in transcripts if timing[0].label.noise is not None],
    )
    return replace(
        row,
        load_ms=load_ms,
        note=note,
        wait=_span([timing.final_ms for timing in heard]),
        first_partial=_span([timing.first_partial_ms for timing in heard if timing.first_partial_ms is not None]),
        real_time_factor=nearest_rank(factors, 50),
        words=_errors([timing for timing in transcripts if timing[0].label.noise is None], language),
        words_in_noise=_errors(noisy, language) if noisy else None,
    )


def _errors(transcripts: list[tuple[Clip, str]], language: str) -> WordErrors:
    pairs = ((clip.label.transcript, text) for clip, text in transcripts if clip.label.transcript is not None)
    return word_errors(pairs, language)


async def _voice(row: BenchRow, engine: Voice, rounds: int, load_timeout_s: float) -> BenchRow:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    try:
        async with asyncio.timeout(load_timeout_s):
            await engine.load()
        load_ms = (loop.time() - began_s) * 1000
        spoken: list[SynthesisTiming] = [await speak(engine, text) for _ in range(rounds) for text in UNITS]
    finally:
        await engine.aclose()
    sound_s = sum(unit.sound_s for unit in spoken)
    if not sound_s:
        return replace(row, load_ms=load_ms, note="it produced no audio")
    factor = sum(unit.whole_ms for unit in spoken) / 1000 / sound_s
    return replace(row, load_ms=load_ms, wait=_span([unit.first_ms for unit in spoken]), real_time_factor=factor)


def _span(values_ms: list[float]) -> MedianAndP95 | None:
    return MedianAndP95(nearest_rank(values_ms, 50), nearest_rank(values_ms, 95)) if values_ms else None
