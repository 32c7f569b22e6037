"""Tests of the mapping from played samples to heard words."""

from assistant.history.cut_to_heard import SpokenTranscript
from assistant.text.normalization.alignment import align
from audio.tts import WordMark
from audio.units import ReplySamples


def mark(text: str, word: str, start: int, end: int) -> WordMark:
    at = text.index(word)
    return WordMark(at, at + len(word), ReplySamples(start), ReplySamples(end))


def new_transcript() -> SpokenTranscript:
    made = SpokenTranscript()
    made.begin_chunk("It is ten.")
    made.add_audio(300, (mark("It is ten.", "It", 0, 100), mark("It is ten.", "is", 100, 200)))
    made.add_audio(200, (mark("It is ten.", "ten.", 200, 450),))
    made.begin_chunk("Anything else?")
    made.add_audio(400, (mark("Anything else?", "Anything", 10, 200), mark("Anything else?", "else?", 200, 390)))
    return made


def test_only_whole_words_count_as_heard() -> None:
    made = new_transcript()
    assert [made.words_heard(at) for at in (0, 99, 100, 449, 450, 699, 700, 900)] == [0, 0, 1, 2, 3, 3, 4, 5]


def test_text_is_cut_after_the_last_whole_word() -> None:
    made = new_transcript()
    assert made.text_heard(0) == ""
    assert made.text_heard(250) == "It is"
    assert made.text_heard(500) == "It is ten."
    assert made.text_heard(700) == "It is ten. Anything"
    assert made.text_heard(900) == made.text == "It is ten. Anything else?"
    assert made.samples == 900


def test_cut_words_do_not_return() -> None:
    made = new_transcript()
    made.cut(ReplySamples(460))
    assert (made.text_heard(900), made.samples, made.words_heard(900)) == ("It is ten.", 460, 3)
    assert made.all_heard(460)
    made.cut(ReplySamples(800))
    assert (made.text, made.samples) == ("It is ten.", 460)
    made.cut(ReplySamples(50))
    assert (made.text, made.samples) == ("", 50)


def test_words_overlapping_unheard_audio_are_left_out() -> None:
    made = new_transcript()
    assert made.text_heard(900, [(150, 900)]) == "It"
    assert made.text_heard(900, [(0, 900)]) == ""
    assert made.text_heard(900, [(100, 450)]) == "It … Anything else?"
    assert made.text_heard(900, [(0, 50), (250, 300)]) == "… is … Anything else?"
    assert made.text_heard(900, [(450, 505)]) == "It is ten. Anything else?"  # a pause between two words
    assert made.all_heard(900, [(450, 505)])
    assert not made.all_heard(900, [(880, 900)])


def test_transcript_contains_the_written_form() -> None:
    made = SpokenTranscript()
    written, said = "It is 12 km away.", "It is twelve kilometers away."
    made.begin_chunk(written, align(written, said).written)
    made.add_audio(500, tuple(mark(said, word, at * 100, at * 100 + 100) for at, word in enumerate(said.split())))
    assert [made.text_heard(at) for at in (200, 300, 400, 500)] == ["It is", "It is", "It is 12 km", written]


def test_apology_after_an_answer_is_not_part_of_the_answer() -> None:
    made = SpokenTranscript()
    for text, is_notice in (("It is ten.", False), ("Sorry, my answer breaks off there.", True)):
        made.begin_chunk(text, is_notice=is_notice)
        made.add_audio(1000, (mark(text, text, 0, 1000),))
    assert made.answer == made.answer_heard(2000) == "It is ten."
    assert made.text_heard(2000) == "It is ten. Sorry, my answer breaks off there."
