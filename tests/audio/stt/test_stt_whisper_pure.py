"""Parts of the Whisper recognizer without a model: windows, cuts, checks, local agreement, silence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models.synthetic_whisper import loud, quiet

from audio.stt.whisper.encoder_window import cut_at, encoder_frames
from audio.stt.whisper.hallucination_filter import (
    DecodeResult,
    compression_ratio,
    failed_check,
    is_confirmed_loop,
    is_doubled,
    is_hallucinated,
    plain,
    without_loop,
)
from audio.stt.whisper.local_agreement import Agreement
from audio.stt.whisper.section import EncoderWindow
from audio.stt.whisper.trailing_silence import TrailingSilence
from audio.units import MIC_RATE_HZ, samples_of_ms, samples_of_s


@pytest.mark.parametrize(
    ("seconds", "frames"),
    [(0.1, 1000), (8, 1000), (9, 1100), (20.5, 2250), (28, 3000), (30, 3000)],
    ids=["0.1 s", "8 s", "9 s", "20.5 s", "28 s", "30 s"],
)
def test_adaptive_window_covers_the_audio_with_margin(seconds: float, frames: int) -> None:
    assert encoder_frames(samples_of_s(seconds), "adaptive") == frames
    assert encoder_frames(samples_of_s(seconds), "full") == 3000


@pytest.mark.parametrize(
    ("seconds", "frames"),
    [(0.1, 210), (1.5, 350), (8, 1000), (20.5, 2250), (28, 3000), (30, 3000)],
    ids=["0.1 s", "1.5 s", "8 s", "20.5 s", "28 s", "30 s"],
)
def test_dynamic_window_is_shorter_for_short_audio(seconds: float, frames: int) -> None:
    assert encoder_frames(samples_of_s(seconds), "dynamic") == frames


@given(st.integers(0, 40 * MIC_RATE_HZ), st.sampled_from(["adaptive", "dynamic"]))
def test_window_is_even_and_contains_audio(samples: int, window: EncoderWindow) -> None:
    frames = encoder_frames(samples, window)
    assert frames % 2 == 0
    assert frames * 160 >= min(samples, 30 * MIC_RATE_HZ)
    assert frames <= 3000


LITTLE = DecodeResult("I am going to have a little bit of" + " a little bit of" * 8, -0.4, 0.55)
WORD = DecodeResult("computer " * 8, -0.2, 0.5)


@pytest.mark.parametrize(
    ("short", "full", "nobodys"),
    [
        (LITTLE, DecodeResult("I am going to have a photo of the other one.", -1.7, 0.35), True),
        (LITTLE, DecodeResult(LITTLE.text, -0.4, 0.35), True),
        (LITTLE, DecodeResult("I", -2.4, 0.3), True),
        (LITTLE, DecodeResult("", -1.5, 0.3), True),
        (
            LITTLE,
            DecodeResult("I am going to have a photo of the other one.", -0.8, 0.35),
            False,
        ),  # it is sure of these
        (LITTLE, DecodeResult("I am going to have a little bit of a", -1.5, 0.35), False),  # the same
        (WORD, DecodeResult("Computer.", -1.8, 0.39), False),
        (DecodeResult("No " * 7, -0.3, 0.45), DecodeResult("No, no, no, no, no.", -1.05, 0.1), False),
        (
            DecodeResult("turn it off " * 3, -0.5, 0.55),
            DecodeResult("Turn it all off.", -0.45, 0.65),
            False,
        ),  # somebody's
        (DecodeResult(WORD.text, -0.2, 0.3), DecodeResult("commuter", -1.8, 0.39), False),  # speech
        (DecodeResult(WORD.text, -0.2, 0.3), DecodeResult("commuter", -1.8, 0.45), True),
    ],
    ids=[
        "other unclear words",
        "same words",
        "one unclear word",
        "no words",
        "other clear words",
        "beginning of the same words",
        "same word once",
        "same word five times",
        "other clear command",
        "unclear word, speech likely",
        "unclear word, silence likely",
    ],
)
def test_loop_is_dropped_if_full_window_gives_no_clear_words(
    short: DecodeResult, full: DecodeResult, nobodys: bool
) -> None:
    assert is_confirmed_loop(short, full) is nobodys


def test_cut_is_in_the_pause() -> None:
    sound = loud(28)
    sound[samples_of_s(17) : samples_of_s(17.4)] //= 50
    assert samples_of_s(17) <= cut_at(sound) <= samples_of_s(17.4)


def test_cut_ignores_early_pauses() -> None:
    sound = np.concatenate([quiet(5), loud(25)])
    assert samples_of_s(12) <= cut_at(sound) <= samples_of_s(24)


@pytest.mark.parametrize(
    ("evidence", "gate"),
    [
        pytest.param(DecodeResult("turn on the lamp", -0.3, 0.1), "", id="reliable"),
        pytest.param(DecodeResult("turn on the lamp", -1.2, 0.1), "log-probability", id="improbable"),
        pytest.param(DecodeResult("and so on " * 4, -1.2, 0.1), "repetition", id="improbable repetition"),
        pytest.param(DecodeResult("turn on the lamp", -0.3, 0.7), "no speech", id="no speech"),
        pytest.param(DecodeResult("no no no", -0.3, 0.1), "", id="short repetition"),
        pytest.param(DecodeResult("No, no. no no no no!", -0.3, 0.1), "repetition", id="one word repeated"),
        pytest.param(DecodeResult("and so on " * 4, -0.3, 0.1), "repetition", id="phrase repeated"),
        pytest.param(
            DecodeResult("abcdefghijklmnopqrstuvwxyz " + "abcdefghi" * 20, -0.3, 0.1),
            "compression",
            id="compressible text",
        ),
    ],
)
def test_failed_check_is_named(evidence: DecodeResult, gate: str) -> None:
    assert failed_check(evidence) == gate


@pytest.mark.parametrize(
    ("evidence", "language", "none"),
    [
        pytest.param(DecodeResult("Thank you for watching!", -0.2, 0.1), "en", False, id="confident stock phrase"),
        pytest.param(DecodeResult("Thank you for watching!", -0.7, 0.1), "en", True, id="doubtful stock phrase"),
        pytest.param(
            DecodeResult("Thank you for watching!", -0.2, 0.4), "en", True, id="stock phrase in likely silence"
        ),
        pytest.param(DecodeResult("Thank you for the lamp", -0.7, 0.4), "en", False, id="other sentence"),
        pytest.param(
            DecodeResult("Thank you for watching!", -0.7, 0.4), "de", False, id="stock phrase of another language"
        ),
        pytest.param(DecodeResult("Vielen Dank.", -0.7, 0.1), "de", True, id="German stock phrase"),
        pytest.param(DecodeResult("turn on the lamp", -1.1, 0.7), "en", True, id="improbable in silence"),
        pytest.param(DecodeResult("turn on the lamp", -1.1, 0.5), "en", True, id="improbable in likely silence"),
        pytest.param(DecodeResult("turn on the lamp", -1.1, 0.3), "en", False, id="improbable in speech"),
        pytest.param(DecodeResult("turn on the lamp", -0.9, 0.5), "en", False, id="doubtful in likely silence"),
        pytest.param(DecodeResult("and turn on the lamp", -0.9, 0.7), "en", True, id="doubtful long text in silence"),
        pytest.param(
            DecodeResult("and turn on the lamp", -0.5, 0.7), "en", False, id="confident long text in silence"
        ),  # somebody goes on
        pytest.param(DecodeResult("and a lamp", -0.5, 0.7), "en", False, id="short text in silence"),
        pytest.param(DecodeResult("I love you.", -0.9, 0.9), "en", True, id="stock phrase in silence"),  # a coffee shop
        pytest.param(DecodeResult("Thank you.", -0.5, 0.9), "en", True, id="thanks in silence"),
        pytest.param(
            DecodeResult("Oh, oh, oh, oh, oh, oh, oh, oh.", -0.2, 0.8), "en", True, id="repetition in silence"
        ),
        pytest.param(DecodeResult(" ... !", -0.1, 0.0), "en", True, id="punctuation only"),
        pytest.param(DecodeResult("", -0.1, 0.0), "en", True, id="empty"),
    ],
)
def test_hallucinated_text_is_detected(evidence: DecodeResult, language: str, *, none: bool) -> None:
    assert is_hallucinated(evidence, language) is none


def test_loop_is_reduced_to_one_occurrence() -> None:
    assert without_loop("call me and then and then and then and then now") == "call me and then now"
    assert without_loop("no no no") == "no no no"


@given(st.lists(st.sampled_from("a b c".split()), max_size=30).map(" ".join))
def test_reduced_text_has_no_loop(text: str) -> None:
    assert failed_check(DecodeResult(without_loop(text), 0.0, 0.0)) != "repetition"


def test_compression_ratio_is_higher_for_repetition() -> None:
    assert compression_ratio("") == 0
    assert compression_ratio("what time is it") < 1
    assert compression_ratio("what time is it " * 20) > 5


def test_plain_removes_case_and_punctuation() -> None:
    assert plain("  It's - twenty-one O'Clock. ") == "its twenty one oclock"


def stable_words(*texts: str) -> list[str]:
    agreement = Agreement()
    return [agreement.update(text) for text in texts]


def test_agreed_words_are_stable() -> None:
    assert stable_words("what", "What time", "what time. is", "what time is it") == [
        "",
        "What",
        "what time.",
        "what time is",
    ]


def test_stable_words_stay_when_one_decode_disagrees() -> None:
    assert stable_words("i see", "i see her", "eyes", "i see her") == ["", "i see", "i see", "i see"]


def test_stable_words_change_when_two_decodes_agree() -> None:
    assert stable_words("i scream", "i scream", "ice cream is", "ice cream is")[-1] == "ice cream is"


@pytest.mark.parametrize(
    ("settled", "left"),
    [
        pytest.param("one two three four", "five six", id="same words"),
        pytest.param("One, two, three. Four.", "five six", id="other punctuation"),
        pytest.param("one too three four", "", id="one other word"),  # not found again: better none than wrong ones
        pytest.param("zero one two three four", "five six", id="additional word before"),
        pytest.param("four", "five six", id="last word only"),
        pytest.param("one two three four five six", "", id="nothing left"),
        pytest.param("one two three nine", "", id="other last word"),
        pytest.param("", "", id="no words"),
    ],
)
def test_stable_words_after_a_cut_are_kept(settled: str, left: str) -> None:
    agreement = Agreement()
    for _ in range(2):
        agreement.update("one two three four five six")
    rest = agreement.after_cut(settled)
    assert rest.update("seven") == left
    if left:
        rest = agreement.after_cut(settled)
        assert rest.update("five six seven") == "five six"
        assert rest.update("five six seven eight") == "five six seven"


def test_repeated_words_nearest_to_cut_locate_it() -> None:
    agreement = Agreement()
    for _ in range(2):
        agreement.update("no no no no no no yes no no no no")
    assert agreement.after_cut("no no no no").update("") == "no no yes no no no no"


@pytest.mark.parametrize(
    "text",
    [
        "Set a timer for 10 minutes, set a timer for ten minutes. Turn it off now. Turn it off now.",
        "Operator, are you there now? Are you there now? Are you there now?",
        "It opens at 10 and closes at 6. It opens at 10 and closes at 6.",
    ],
)
def test_phrase_twice_at_the_end_is_doubled(text: str) -> None:
    assert is_doubled(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no words"),
        pytest.param("no no no no no no", id="short word"),
        pytest.param("come on come on", id="two words"),
        pytest.param("7 8 6 7 8 6", id="digits"),
        pytest.param("as much as, as much as you like", id="goes on"),
        pytest.param("n i c o c o n i c o c o", id="letters"),
    ],
)
def test_what_people_say_twice_is_not_doubled(text: str) -> None:
    assert not is_doubled(text)


def quiet_after(*parts: np.ndarray[tuple[int], np.dtype[np.int16]]) -> int:
    trailing = TrailingSilence()
    sound = np.concatenate(parts)
    for at in range(0, len(sound), 320):
        trailing.feed(sound[at : at + 320])
    return trailing.samples


def test_silence_after_speech_is_measured() -> None:
    room = loud(1, seed=2) // 300
    assert quiet_after(room, loud(1), room[: samples_of_ms(200)]) == samples_of_ms(200)
    assert quiet_after(quiet(0.3), loud(1), quiet(0.1)) == samples_of_ms(100)


def test_speech_has_no_trailing_silence() -> None:
    room = loud(1, seed=2) // 300
    assert quiet_after(room, loud(1)) == 0
    weak_ending = loud(0.2, seed=3) // 10  # -20 dB, like a final "s"
    assert quiet_after(room, loud(1), weak_ending) == 0


def test_room_as_loud_as_voice_is_not_silence() -> None:
    assert quiet_after(loud(1) // 4, loud(1), loud(0.3) // 4) == 0


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_silence_length_does_not_depend_on_block_sizes(pieces: list[int]) -> None:
    sound = np.concatenate([loud(0.5), quiet(2)])[: sum(pieces)]
    one, many = TrailingSilence(), TrailingSilence()
    one.feed(sound)
    at = 0
    for piece in pieces:
        many.feed(sound[at : at + piece])
        at += piece
    assert one.samples == many.samples
