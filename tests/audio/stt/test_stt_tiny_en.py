"""Real Whisper weights (if `make setup` could fetch them) on real recordings."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from support.models.installed_model import TINY_EN_FOLDER

from assistant.commands.engine_bench.words import word_errors
from assistant.end_of_turn.estimator import UNFINISHED, EndOfTurnEvidence, fitted_turn_end
from audio.stt import UNKNOWN_LANGUAGE, SegmentId, TokenRecognizer
from audio.stt.whisper.model import Decoded, LoadedWhisper, WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper
from audio.units import MIC_RATE_HZ, Pcm, samples_of_s
from bench.conversations.recordings import read_pcm

RECORDINGS = Path(__file__).parents[2] / "recordings"
LANGUAGES = RECORDINGS / "languages"
PRE_ROLL_S, AFTER_S = 0.3, 0.1

pytestmark = [
    pytest.mark.slow,
    pytest.mark.weights,
    pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en is not downloaded: repartee models pull tiny.en"),
]


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording, from before its speech to a little after it."""

    pcm: Pcm
    transcript: str


@pytest.fixture(scope="module")
def whisper() -> LoadedWhisper:
    assert TINY_EN_FOLDER is not None
    return LoadedWhisper(WhisperSettings(TINY_EN_FOLDER, device="cpu", cpu_threads=1))


@pytest.fixture(scope="module")
def clips() -> list[Clip]:
    found = []
    for line in (RECORDINGS / "manifest.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("transcript"):
            begin, end = row["speech_start_s"] - PRE_ROLL_S, row["speech_end_s"] + AFTER_S
            pcm = read_pcm(RECORDINGS / row["file"])[samples_of_s(max(0, begin)) : samples_of_s(end)]
            found.append(Clip(pcm, row["transcript"]))
    return found


def decoded(whisper: LoadedWhisper, pcm: Pcm) -> Decoded:
    found = whisper.decode(pcm, "en", retry=True)
    assert found is not None
    return found


def test_real_speech_is_recognized(whisper: LoadedWhisper, clips: list[Clip]) -> None:
    assert len(clips) == 5
    said = word_errors([(clip.transcript, decoded(whisper, clip.pcm).text) for clip in clips], "en")
    assert said.errors <= 2


def test_sentence_end_score_separates_whole_from_partial(whisper: LoadedWhisper, clips: list[Clip]) -> None:
    """The EOT estimate from the words alone is separated too."""
    whole = [decoded(whisper, clip.pcm) for clip in clips]
    parts = [decoded(whisper, clip.pcm[: len(clip.pcm) * 3 // 5]) for clip in clips]
    estimator = fitted_turn_end()

    def logit(words: Decoded) -> float:
        return estimator.estimate(EndOfTurnEvidence(200, text=words.text, punctuation=words.punctuation)).logit

    assert all(
        words.punctuation and words.punctuation.sentence_end > 0.8 > 4 * words.punctuation.continuation
        for words in whole
    )
    assert np.mean([logit(words) for words in parts]) < np.mean([logit(words) for words in whole]) - 1.5
    assert min(map(logit, parts)) < UNFINISHED < min(map(logit, whole))


def test_silence_has_no_words(whisper: LoadedWhisper) -> None:
    room = np.random.default_rng(0).normal(0, 20, samples_of_s(2)).astype(np.int16)
    assert decoded(whisper, room).text == ""


@pytest.mark.parametrize("name", ["german_question", "italian_question", "italian_statement"])
def test_speech_in_other_language_is_reported(whisper: LoadedWhisper, name: str) -> None:
    """Log-probabilities are -1.75 to -3.20 with generic arithmetic, AVX2 and AVX-512; the limit is -1.4."""
    found = decoded(whisper, read_pcm(LANGUAGES / f"{name}.flac"))
    assert found.other_language == UNKNOWN_LANGUAGE


def test_english_speech_is_not_reported_as_other_language(whisper: LoadedWhisper, clips: list[Clip]) -> None:
    """Log-probabilities are -0.04 to -0.31; the limit is -1.4."""
    english = [*(clip.pcm for clip in clips), read_pcm(LANGUAGES / "english_question.flac")]
    assert [decoded(whisper, pcm).other_language for pcm in english] == [""] * len(english)


def test_tokens_of_a_decode_have_their_probabilities(whisper: LoadedWhisper, clips: list[Clip]) -> None:
    plain = decoded(whisper, clips[0].pcm)
    found = whisper.decode(clips[0].pcm, "en", retry=True, with_tokens=True)
    assert found is not None
    assert replace(found, tokens=()) == plain
    assert "".join(token.text for token in found.tokens).strip() == plain.text
    probabilities = [math.exp(token.log_probability) for token in found.tokens]
    assert all(0 < probability <= 1 for probability in probabilities)
    assert sum(probability > 0.5 for probability in probabilities) > len(probabilities) * 0.7


def test_words_of_a_decode_have_their_times(whisper: LoadedWhisper, clips: list[Clip]) -> None:
    pcm = np.concatenate((np.zeros(MIC_RATE_HZ, np.int16), clips[0].pcm))
    plain, later = (
        whisper.decode(one, "en", retry=True, with_tokens=True, with_times=True) for one in (clips[0].pcm, pcm)
    )
    assert plain is not None
    assert later is not None
    assert plain.tokens
    starts = [token.start_s for token in plain.tokens if token.start_s is not None]
    assert starts == sorted(starts)
    assert len(starts) == len(plain.tokens)
    ends = [token.end_s for token in plain.tokens if token.end_s is not None]
    assert max(ends) <= len(clips[0].pcm) / MIC_RATE_HZ + 0.1
    assert later.tokens[1].end_s == pytest.approx((plain.tokens[1].end_s or 0) + 1, abs=0.3)


async def test_conversation_that_wants_tokens_gets_those_of_its_transcript(clips: list[Clip]) -> None:
    assert TINY_EN_FOLDER is not None
    shared = SharedWhisper(WhisperSettings(TINY_EN_FOLDER, device="cpu", cpu_threads=1))
    await shared.load()
    recognizer = shared.transcriber()
    assert isinstance(recognizer, TokenRecognizer)
    for wanted in (False, True):
        recognizer.keep_tokens(enabled=wanted)
        stream = recognizer.open(SegmentId(0), lambda _interim: None)
        stream.feed(clips[0].pcm)
        text = (await stream.transcript()).text
        tokens = recognizer.tokens_of(text)
        assert (tokens is not None) is wanted
        stream.close()
    await shared.aclose()
    assert "".join(token.text for token in tokens or ()).strip() == text
