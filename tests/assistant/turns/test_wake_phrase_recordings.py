"""Tests of the wake phrase in recordings, as pocketsphinx transcribes them."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.setup.derived_settings import with_phrase
from assistant.skills.skills import understood_sentences
from assistant.turns.wake_phrase import WakePhrase
from audio.stt.sphinx_pair import SphinxPair
from audio.units import MIC_RATE_HZ, Pcm

ROOT = Path(__file__).parents[3]
CALL = ROOT / "bench" / "clips" / "cognitive-services_kws-whatstheweatherlike.wav"
CALL_ENDS_S = 0.89
COMMANDS = {
    "what-time-is-it": (0.645, 1.73, "what time is it"),
    "whats-the-date-today": (0.58, 1.815, "what's the date today"),
    "set-timer": (0.34, 2.115, "set timer for ten minutes"),
    "turn-on-the-lamp": (0.89, 2.07, "turn on the lamp"),
}
"""Start and end of the speech in the recording, in seconds, and its words, by file."""


@pytest.fixture(scope="module")
def recognizer() -> "PhraseRecognizer":
    return PhraseRecognizer("computer")


class PhraseRecognizer:
    """Transcribes with both decoders, as `talk` loads them for this phrase."""

    def __init__(self, phrase: str) -> None:
        self._pair = SphinxPair(with_phrase(understood_sentences(), phrase))

    def text(self, pcm: Pcm) -> str:
        self._pair.start()
        self._pair.feed(pcm.tobytes())
        text = self._pair.result().text
        self._pair.drop()
        return text


def sound(path: Path) -> Pcm:
    """Reads a mono recording at 16 kHz."""
    pcm, rate_hz = soundfile.read(path, dtype="int16")
    assert (rate_hz, pcm.ndim) == (MIC_RATE_HZ, 1)
    return np.asarray(pcm, np.int16)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_wake_phrase_and_command_are_recognized_together(recognizer: PhraseRecognizer, command: str) -> None:
    begin_s, end_s, wanted = COMMANDS[command]
    spoken = sound(ROOT / "tests" / "recordings" / f"rhasspy3_{command}.wav")
    spoken = spoken[round(begin_s * MIC_RATE_HZ) : round(end_s * MIC_RATE_HZ)]
    call = sound(CALL)[: round(CALL_ENDS_S * MIC_RATE_HZ)]
    pause = np.zeros(MIC_RATE_HZ // 5, np.int16)
    assert WakePhrase("computer").text_after(recognizer.text(np.concatenate([call, pause, spoken]))) == wanted


@pytest.mark.slow
def test_question_after_wake_phrase_is_recognized(recognizer: PhraseRecognizer) -> None:
    assert WakePhrase("computer").text_after(recognizer.text(sound(CALL))) == "what's the weather like"


@pytest.mark.slow
def test_other_recordings_do_not_contain_wake_phrase(recognizer: PhraseRecognizer) -> None:
    others = [*(ROOT / "tests" / "recordings").glob("*.wav"), *(ROOT / "bench" / "clips").glob("*.wav")]
    others.remove(CALL)
    called = [
        path.name
        for path in others
        if WakePhrase("computer").text_after(recognizer.text(sound(path)[: 6 * MIC_RATE_HZ]))
    ]
    assert len(others) > 20
    assert called == []
