"""The user's pronunciations: which words they apply to, and how both engines say them."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP
from support.models.synthetic_piper import tone_voice
from support.sound.speech import marks_of, sound_of, spoken
from support.texts.text_cases import text_cases

from audio.pronunciation import PronouncedWord, Pronunciations, problem
from audio.tts.espeak.text import ESPEAK_PHONEMES, SpokenText, espeak_phonemes
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.piper.voice import PiperTts
from audio.tts.piper.words import place_words, with_pronunciations
from audio.tts.text_pieces import words

TABLE = Pronunciations({"Niamh": "/niːv/", "nginx": "/ˈɛndʒɪnˌɛks/", "Siobhan": "Shivawn", "gif": "jif"})


class TestWhichWords:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("Siobhan is here.", "Shivawn is here."),
            ("Ask (Siobhan), or Siobhan's son.", "Ask (Shivawn), or Shivawn's son."),
            ("siobhan Siobhans", "siobhan Siobhans"),
            ("A GIF, a gif.", "A jif, a jif."),
            ("Niamh", "Niamh"),
            ("", ""),
        ],
        ids=["alone", "punctuation and possessive", "other spelling", "capitals", "phonemes", "empty"],
    )
    def test_spelling_is_replaced(self, text: str, said: str) -> None:
        assert TABLE.respelled(text) == said

    def test_words_with_phonemes_are_found(self) -> None:
        text = "\u201cNiamh\u201d uses Nginx; Niamh's too."
        found = TABLE.pronounced(text)
        assert [(text[one.text_start : one.text_end], one.phonemes) for one in found] == [
            ("Niamh", "niːv"),
            ("Nginx", "ˈɛndʒɪnˌɛks"),
            ("Niamh's", "niːvz"),
        ]

    @pytest.mark.parametrize(
        ("phonemes", "with_s"), [("kæt", "kæts"), ("dɔɡ", "dɔɡz"), ("roʊz", "roʊzᵻz")], ids=["voiceless", "voiced", "s"]
    )
    def test_possessive_has_the_sound_of_english(self, phonemes: str, with_s: str) -> None:
        (found,) = Pronunciations({"x": f"/{phonemes}/"}).pronounced("x's")
        assert found.phonemes == with_s

    @given(st.text(max_size=60))
    def test_any_text_is_accepted(self, text: str) -> None:
        assert TABLE.respelled(text).count("\n") == text.count("\n")
        for word in TABLE.pronounced(text):
            assert text[word.text_start : word.text_end].lower().startswith(("niamh", "nginx"))

    def test_plain_g_is_the_phonetic_one(self) -> None:
        (found,) = Pronunciations({"go": "/goʊ/"}).pronounced("go")
        assert found.phonemes == "ɡoʊ"


class TestProblem:
    @pytest.mark.parametrize(
        ("word", "said", "wrong"),
        [
            ("Niamh", "Neev", ""),
            ("K8s", "kates", ""),
            ("Jean-Luc", "/ʒɑ̃lyk/", ""),
            ("San Jose", "x", "must be one word"),
            ("", "x", "must be one word"),
            ("Niamh.", "x", "must be one word"),
            ("Niamh", "/ni4v/", 'has "4", which is not a known phoneme'),
            ("Niamh", "/niːv", "must have phonemes between two slashes"),
            ("Niamh", "//", "must have phonemes between two slashes"),
            ("Niamh", "", "must be a spelling to read aloud"),
            ("Niamh", "[[niv]]", "must be a spelling to read aloud"),
            ("Niamh", 3, "must be a spelling to read aloud"),
        ],
        ids=repr,
    )
    def test_wrong_entries_are_named(self, word: str, said: object, wrong: str) -> None:
        found = problem(word, said)
        assert found.startswith(wrong)
        assert bool(found) == bool(wrong)


class TestPhonemes:
    def test_piper_knows_every_sign(self) -> None:
        assert {sign for phoneme in ESPEAK_PHONEMES for sign in phoneme} <= set(DEFAULT_PHONEME_ID_MAP)

    def test_longest_phoneme_is_taken(self) -> None:
        assert espeak_phonemes("ˈɛndʒɪnˌɛks") == "'EndZIn,Eks"
        assert espeak_phonemes("tʃiːz") == "tSi:z"

    @given(st.text(alphabet=sorted({sign for phoneme in ESPEAK_PHONEMES for sign in phoneme}), max_size=20))
    def test_all_signs_have_a_name(self, phonemes: str) -> None:
        assert re.fullmatch(r"[ -~]*", espeak_phonemes(phonemes))


class TestSpokenText:
    def test_offsets_are_those_of_the_text(self) -> None:
        text = "Call Niamh, now [[x]]."
        said = SpokenText.of(text, TABLE.pronounced(text))
        assert said.text == "Call [[ni:v]], now   x  ."
        assert said.has_phonemes
        assert [said.offset(at) for at in (0, 5, 7, 13, 15)] == [0, 5, 5, 10, 12]
        assert text[said.offset(said.text.index("now")) :].startswith("now")

    def test_brackets_of_the_text_do_not_join_those_of_the_phonemes(self) -> None:
        text = "Ask [Niamh] now."
        assert SpokenText.of(text, TABLE.pronounced(text)).text == "Ask  [[ni:v]]  now."

    def test_text_without_such_words_is_unchanged(self) -> None:
        assert SpokenText.of("Call [[x]].", []) == SpokenText("Call [[x]].")


class TestPiperPhonemes:
    def test_stress_and_length_belong_to_the_word(self) -> None:
        text, sentence = "call Niamh now", list("kˈɔːl nˈiːəmː nˈaʊ")
        placed = place_words(text, words(text), [sentence], lambda word: [list(word)])
        pronounced = [PronouncedWord(5, 10, "ˈniːv")]
        assert "".join(*with_pronunciations([sentence], placed, pronounced)) == "kˈɔːl ˈniːv nˈaʊ"

    def test_punctuation_stays(self) -> None:
        text, sentences = "Niamh? Ann.", [list("nˈiːəm?"), list("ˈæn.")]
        placed = place_words(text, words(text), sentences, lambda word: [list(word)])
        pronounced = [PronouncedWord(0, 5, "niːv"), PronouncedWord(7, 10, "ˈæniː")]
        assert ["".join(one) for one in with_pronunciations(sentences, placed, pronounced)] == ["niːv?", "ˈæniː."]


class TestVoices:
    """`Neev` is pronounced as /nˈiːv/, so that the audio must be the same."""

    @pytest.mark.parametrize("engine", ["piper", "espeak-ng"])
    @text_cases("text", ["Niamh.", "Is it Niamh? Yes.", "Tell Niamh's brother (or Niamh) of the time.", "niamh niamh"])
    def test_word_is_said_as_written_in_the_table(self, engine: str, text: str, tmp_path: Path) -> None:
        table = Pronunciations({"niamh": "/nˈiːv/"})
        other = re.sub("niamh", "Neev", text, flags=re.IGNORECASE)
        if engine == "piper":
            path = tone_voice(tmp_path)
            found, expected = spoken(PiperTts(path, pronunciations=table), text), spoken(PiperTts(path), other)
            assert np.array_equal(sound_of(found), sound_of(expected))
        else:
            voice = EspeakVoice(language="en-us", pronunciations=table)
            found, expected = spoken(voice, text), spoken(EspeakVoice(language="en-us"), other)
            assert sound_of(found).size == pytest.approx(sound_of(expected).size, rel=0.03)
            assert np.abs(sound_of(found)).max() > 1000
        marks = marks_of(found)
        assert [(mark.text_start, mark.text_end) for mark in marks] == list(words(text))
        starts = [mark.start for mark in marks_of(expected)]
        assert [mark.start for mark in marks] == pytest.approx(starts, abs=480)
