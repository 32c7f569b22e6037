"""Computes what the recognizer knows of an utterance: the probability of each language, and the words in likely ones.

Kept in a file, so that a policy can be judged again without the model.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from assistant.models.needs import installed
from audio.stt.whisper.catalogue import BASE
from audio.stt.whisper.encoder_window import encoder_frames
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.units import MIC_RATE_HZ, Pcm
from bench.languages.utterances import LANGUAGES, Utterance

MIN_PROBABILITY = 0.02
"""Languages that are less likely are not decoded."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Knowledge of the recognizer about an utterance.

    Attributes:
        utterance: The utterance.
        seconds: Length of its sound.
        probabilities: Probability of each candidate among all languages of the model.
        words: Its words in the likely languages and in its own.
        scores: Mean log-probability of the tokens, for each of these languages.
        detect_ms: Time of the detection.
        decode_ms: Time of the decode in its own language, without the encoder.
    """

    utterance: Utterance
    seconds: float
    probabilities: dict[str, float]
    words: dict[str, str]
    scores: dict[str, float]
    detect_ms: float
    decode_ms: float


def loaded() -> LoadedWhisper:
    """Returns the model base."""
    folder = installed(BASE)
    assert folder is not None, "run `repartee models pull base`"
    return LoadedWhisper(WhisperSettings(folder, language="en", device="cpu", cpu_threads=1))


def evidence_of(model: LoadedWhisper, pairs: Iterable[tuple[Utterance, Pcm]]) -> Iterator[Evidence]:
    """Yields the evidence of each utterance."""
    for utterance, pcm in pairs:
        encoded = model.encode(model.features(pcm), encoder_frames(len(pcm), "adaptive"))
        began_s = time.perf_counter()
        likely = model.language_probabilities(encoded)
        detect_ms = (time.perf_counter() - began_s) * 1000
        probabilities = {language: likely.get(language, 0.0) for language in LANGUAGES}
        words: dict[str, str] = {}
        scores: dict[str, float] = {}
        decode_ms = 0.0
        for language in LANGUAGES:
            total = sum(probabilities.values())
            if probabilities[language] >= MIN_PROBABILITY * total or language == utterance.language:
                began_s = time.perf_counter()
                result = model.generate(encoded, language, len(pcm))
                words[language], scores[language] = result.text, result.log_probability
                if language == utterance.language:
                    decode_ms = (time.perf_counter() - began_s) * 1000
        yield Evidence(utterance, len(pcm) / MIC_RATE_HZ, probabilities, words, scores, detect_ms, decode_ms)


def store(path: Path, evidence: Iterable[Evidence]) -> None:
    """Writes the evidence to a file, one JSON object a line."""
    with path.open("w", encoding="utf-8") as lines:
        for one in evidence:
            lines.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")
            lines.flush()


def read(path: Path) -> list[Evidence]:
    """Reads the evidence of a file."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Evidence(Utterance(**row.pop("utterance")), **row) for row in rows]
