"""What turn taking is told, to text and back: nothing that a decision hangs on is lost, and no words are kept."""

import pytest

from assistant.told import MOST_ENTRIES, ToldLog, told_of
from assistant.turn_end import BALANCED, Estimate
from assistant.turn_events import (
    Asked,
    Cancelled,
    Cleared,
    Event,
    Heard,
    Judged,
    NotTranscribed,
    Partial,
    Playing,
    ReplyEnded,
    ReplyId,
    Submitted,
    Transcribed,
)
from assistant.turns import TurnSettings, plain_words
from audio.stt import SegmentId, Words
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import Voicing

REPLY = ReplyId(3, 2)
SEGMENT = SegmentId(16000)
SETTINGS = TurnSettings(patience=BALANCED, speculate_after_ms=40)
AT = Samples(32000)


def words(text: str, *, rough: bool = False) -> Words:
    return Words(SEGMENT, AT, text, rough)


def log(*events: Event) -> ToldLog:
    made = ToldLog(b"salt")
    for event in events:
        made.tell(event, SETTINGS)
    return made


def frame(number: int, voicing: Voicing) -> Heard:
    return Heard(Samples(number * FRAME_SAMPLES), voicing)


@pytest.mark.parametrize(
    "event",
    [
        Judged(AT, SEGMENT, Estimate(0.1 + 0.2, 160.0, 648.123456789, "sound+text")),
        Judged(AT, SEGMENT, Estimate(0.5, 160.0, 650.0, "")),
        NotTranscribed(AT, REPLY, SEGMENT),
        Playing(AT, REPLY, 3, audible=True),
        ReplyEnded(AT, REPLY),
        Asked(AT, "greeting", "words"),
        Asked(AT, "requested"),
        Submitted(AT),
        Cleared(AT),
        Cancelled(AT),
        Transcribed(AT, REPLY, words("")),
        Partial(AT, words("mhm", rough=True)),
        Partial(AT, words("words")),
    ],
)
def test_there_and_back(event: Event) -> None:
    assert list(told_of(log(event).drain().entries)) == [SETTINGS, event]


def test_frames_share_an_entry_while_nothing_changes() -> None:
    speaking = [frame(number, Voicing(True, Samples(320), number * 17 / 255, None)) for number in range(2, 12)]
    silent = [frame(number, Voicing(False, Samples(3200), 0.0)) for number in range(12, 5000)]
    drained = log(*speaking, *silent).drain()
    assert [entry.split()[0] for entry in drained.entries] == ["set", "hear", "hear"]
    assert list(told_of(drained.entries))[1:] == [*speaking, *silent]


def test_how_sure_the_detector_is_is_kept_in_8_bits() -> None:
    ((_, found),) = [list(told_of(log(frame(1, Voicing(True, Samples(0), 0.7301, Samples(100)))).drain().entries))]
    assert isinstance(found, Heard)
    assert found.voicing.probability == round(0.7301 * 255) / 255
    assert found.voicing.fading == 100


def test_reports_that_tell_nothing_new_are_thinned_but_not_the_last() -> None:
    reports = [Playing(Samples(number * 320), REPLY, 1, audible=True) for number in range(100)]
    later = frame(200, Voicing(False, Samples(0), 0.0))
    found = [told for told in told_of(log(*reports, later).drain().entries) if isinstance(told, Playing)]
    assert len(found) == 5
    assert found[0] == reports[0]
    assert found[-1] == reports[-1]


def test_a_partial_counts_once() -> None:
    found = log(Partial(AT, words("what")), Partial(AT, words("what time")), Partial(AT, words("mhm"))).drain()
    assert [entry.rpartition(" ")[2] for entry in found.entries[1:]] == ["words", "mhm"]


def test_words_agree_or_do_not_and_are_not_kept() -> None:
    said = ["What time is it?", "what time is it", "what time was it", "...", "!"]
    entries = log(*(Transcribed(AT, REPLY, words(text)) for text in said)).drain().entries[1:]
    texts = [told.words.text for told in told_of(entries) if isinstance(told, Transcribed)]
    assert texts[0] == texts[1] != texts[2]
    assert all(texts), "what is not empty stays so"
    assert plain_words(texts[3]) == plain_words(texts[4]) == ""
    assert not any("time" in entry for entry in entries)


def test_what_is_drained_is_not_kept_and_a_gap_is_told() -> None:
    made = log(Submitted(AT))
    assert made.drain().before == 0
    assert made.drain() == type(made.drain())(2, ())
    for _ in range(MOST_ENTRIES + 5):
        made.tell(Submitted(AT), SETTINGS)
    drained = made.drain()
    assert (drained.before, len(drained.entries)) == (7, MOST_ENTRIES)


def test_settings_are_told_when_they_change() -> None:
    made = log(Submitted(AT), Submitted(AT))
    other = TurnSettings(manual=True)
    made.tell(Submitted(AT), other)
    kinds = [told if isinstance(told, TurnSettings) else None for told in told_of(made.drain().entries)]
    assert kinds == [SETTINGS, None, None, other, None]


@pytest.mark.parametrize("entry", ["nonsense 1", "words 1 2", "hear 640 2 1 0 - AA==", "asked 1 somebody 1"])
def test_an_entry_of_another_form_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"frames|told|unpack"):
        list(told_of([entry]))
