"""Hibari reads text: the phonemes that its voice gets."""

import re

import pytest
from hibari.g2p import G2P
from hibari.g2p.normalize import ABBREV
from hypothesis import given
from hypothesis import strategies as st

from assistant.text.normalization.reading import spoken
from audio.pronunciation import HUMS, Pronunciations
from audio.tts.hibari.model import read_files
from audio.tts.hibari.phonemizer import Phonemizer, voice_signs
from audio.tts.speakable import speakable
from audio.tts.streaming.streamed_voice import plain
from audio.tts.text_pieces import words

PRONUNCIATIONS = Pronunciations({**HUMS, "niamh": "/niːv/", "gif": "/dʒɪf/"})


@pytest.fixture(scope="module")
def phonemizer() -> Phonemizer:
    return Phonemizer(G2P(), frozenset(read_files().ids))


def read(phonemizer: Phonemizer, text: str) -> str:
    text = spoken(text)
    return " | ".join("".join(part.phonemes) for part in phonemizer.sentences(text, PRONUNCIATIONS.pronounced(text)))


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("He said no.", "hˌi sˈɛd nˈO."),
        ('He said "no."', "hˌi sˈɛd nˈO."),
        ("He said no. Then he left.", "hˌi sˈɛd nˈO. | ðˈɛn hi lˈɛft."),
        ("See no. 5.", "sˈi nˈʌmbəɹ fˈIv."),
        ("He ate a fig.", "hˌi ˈAt ɐ fˈɪɡ."),
        ("See fig. 3.", "sˈi fˈɪɡjəɹ θɹˈi."),
        ("Then we sat.", "ðˈɛn wi sˈæt."),
        ("I read The Sun.", "ˌI ɹˈɛd ðə sˈʌn."),
        ("That is Jan.", "ðˈæt ɪz ʤˈæn."),
        ("I met Mar.", "ˌI mˈɛt mˈɑɹ."),
        ("They wed.", "ðˌA wˈɛd."),
        ("On Main St.", "ˌɔn mˈAn stɹˈit."),
        ("Dr. Jones saw Mr. Smith.", "dˈɑktəɹ ʤˈOnz sˈɔ mˈɪstəɹ smˈɪθ."),
        ("It is 3 p.m.", "ˌɪt ɪz θɹˈi pˌiˈɛm."),
        ("90 km/s", "nˈIndi kəlˈɑməTəɹz pɜɹ sˈɛkənd"),
        ("in km/h", "ɪn kəlˈɑməTəɹz pɜɹ ˈWəɹ"),
        ("J. K. Rowling wrote.", "ʤˈA kˈA ɹˈOlɪŋ ɹˈOt."),
        ("Δx is 2 π.", "dˈɛltə ˈɛks ɪz tˈu pˈI."),
        ("It costs $5, or 20 €.", "ˌɪt kˈɔsts fˈIv dˈɑləɹz, ɔɹ twˈɛnti jˈʊɹOz."),
        ("“Niamh's” gif, mhm.", "nˈivz ʤˈɪf, mmˈhmm."),
        ('Say "yes" - or [wait].', "sˈA jˈɛs — ɔɹ wˈAt."),
        ("...", ""),
    ],
)  # fmt: skip
def test_text_is_read_as(phonemizer: Phonemizer, text: str, phonemes: str) -> None:
    assert read(phonemizer, text) == phonemes


def test_word_at_end_of_sentence_is_not_an_abbreviation(phonemizer: Phonemizer) -> None:
    for word in sorted(name.rstrip(".") for name in ABBREV if re.fullmatch(r"\w+\.", name)):
        said = read(phonemizer, f"It is {word}.")
        assert said.endswith("."), f"the voice falls at the end of a sentence: {word}"
        if word not in {"Jr", "Sr", "Inc", "Ltd", "Corp", "Dept", "Govt"}:  # they are written out there
            assert read(phonemizer, f'It is "{word}."') == said
            assert said.rstrip(".") == read(phonemizer, f"It is {word}!").rstrip("!"), word


def test_words_have_their_phonemes(phonemizer: Phonemizer) -> None:
    text = "Well, “yes” — I can't (sadly)."
    (sentence,) = phonemizer.sentences(text)
    assert [(text[w.text_start : w.text_end], "".join(sentence.phonemes[w.begin : w.end])) for w in sentence.words] == [
        ("Well,", "wˈɛl"),
        ("“yes”", "jˈɛs"),
        ("I", "ˌI"),
        ("can't", "kˈænt"),
        ("(sadly).", "sˈædli"),
    ]


def test_long_sentence_is_in_parts_with_all_words(phonemizer: Phonemizer) -> None:
    text = "one two three four five, six seven eight nine ten eleven."
    parts = phonemizer.sentences(text, most=30)
    assert len(parts) > 2
    assert [part.is_end for part in parts] == [False] * (len(parts) - 1) + [True]
    assert all(len(part.phonemes) <= 30 for part in parts)
    assert [text[word.text_start : word.text_end] for part in parts for word in part.words] == text.split()
    assert "".join("".join(part.phonemes) for part in parts) == "".join(phonemizer.sentences(text)[0].phonemes)


@pytest.mark.parametrize(
    ("phonemes", "signs"),
    [("niːv", "nˈiv"), ("dʒɪf", "ʤˈɪf"), ("təˈmeɪtoʊ", "təˈmAtO"), ("ˈnɜːs", "ˈnɜɹs"), ("lɔx", "lˈɔk"), ("mm", "mm")],
)
def test_phonetic_alphabet_in_signs_of_the_voice(phonemes: str, signs: str) -> None:
    assert voice_signs(phonemes) == signs


_TEXT = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0x2FFF), max_size=60) | st.lists(
    st.sampled_from("no. Sat. gif Niamh's mhm \"gif\" U.S. 3.5 10:30 a/b don't $5 20% 'em x_y C++ x² ½ 1,000".split()),
    max_size=12,
).map(" ".join)


@given(text=_TEXT)
def test_every_text_can_be_read(phonemizer: Phonemizer, text: str) -> None:
    text = plain(speakable(text, "en").text)
    parts = phonemizer.sentences(text, PRONUNCIATIONS.pronounced(text), most=40)
    spans = [(word.text_start, word.text_end) for part in parts for word in part.words]
    assert not parts or spans == list(words(text))
    assert all(0 <= word.begin <= word.end <= len(part.phonemes) for part in parts for word in part.words)
