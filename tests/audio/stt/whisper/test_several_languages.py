"""Whisper in conversations that change between languages: real models whose weights produce a script."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from support.models.synthetic_whisper import cached_whisper, loaded_once, loud, quiet, seconds_of

from audio.languages.conversation_language import ConversationLanguage
from audio.stt import LanguageFollower, SegmentId, Transcript
from audio.stt.whisper.model import Decoded, LoadedWhisper, WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper, SharedWhisperRecognizer
from audio.stt.whisper.stream import WhisperStream
from audio.units import samples_of_s

GERMAN = "wie spät ist es jetzt gerade hier".split()
LANGUAGES = ConversationLanguage(("en", "de"), "en", is_first=False)


@pytest.fixture(scope="module", autouse=True)
def models() -> Iterator[None]:
    with loaded_once():
        yield


@asynccontextmanager
async def recognizer_of(
    *words: str, language: str = "de", languages: ConversationLanguage | None = LANGUAGES
) -> AsyncGenerator[SharedWhisperRecognizer]:
    """Loads a model that hears these words in a language."""
    shared = SharedWhisper(WhisperSettings(cached_whisper(*words, language=language), "en", "cpu"))
    await shared.load()
    recognizer = shared.transcriber()
    assert isinstance(recognizer, LanguageFollower)
    if languages is not None:
        assert recognizer.follow_languages(languages)
    yield recognizer
    await shared.aclose()


async def heard(recognizer: SharedWhisperRecognizer, seconds: float, *, used: bool = True) -> Transcript:
    """Returns the transcript of a segment."""
    stream = recognizer.open(SegmentId(0), lambda _words: None)
    stream.feed(loud(seconds))
    stream.feed(quiet(0.5))
    transcript = await stream.transcript(samples_of_s(seconds))
    if used:
        stream.close()
    else:
        stream.cancel()
    return transcript


async def test_sentence_in_another_language_changes_it() -> None:
    async with recognizer_of(*GERMAN) as recognizer:
        transcript = await heard(recognizer, seconds_of(5))
        assert (transcript.text, transcript.language) == ("wie spät ist es jetzt", "de")
        assert recognizer._share.languages == LANGUAGES.after_turn("de")


async def test_segment_without_a_turn_leaves_the_language() -> None:
    async with recognizer_of(*GERMAN) as recognizer:
        assert (await heard(recognizer, seconds_of(5), used=False)).language == "de"
        assert recognizer._share.languages == LANGUAGES


async def test_one_word_is_recognized_in_the_current_language() -> None:
    async with recognizer_of("ja", "ja", "ja") as recognizer:
        transcript = await heard(recognizer, seconds_of(3))
        assert (transcript.text, transcript.language) == ("ja ja ja", "en")


async def test_words_in_the_current_language_keep_it() -> None:
    async with recognizer_of("what", "time", "is", "it", language="en") as recognizer:
        transcript = await heard(recognizer, seconds_of(4))
        assert (transcript.text, transcript.language) == ("what time is it", "en")


async def test_language_that_is_no_candidate_is_not_recognized() -> None:
    async with recognizer_of(*GERMAN, language="pl") as recognizer:
        assert (await heard(recognizer, seconds_of(5))).language == "en"


async def test_interim_transcripts_follow_the_language() -> None:
    async with recognizer_of(*GERMAN) as recognizer:
        interims: list[Transcript] = []
        stream = recognizer.open(SegmentId(0), interims.append)
        for _ in range(int(seconds_of(7) / 0.1)):
            stream.feed(loud(0.1))
            await asyncio.sleep(0.03)
        await stream.transcript()
        stream.close()
        told = [(transcript.text, transcript.language) for transcript in interims if transcript.text]
        assert told
        assert told[-1][1] == "de"


async def test_certain_sound_is_examined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    examined: list[int] = []
    probabilities = LoadedWhisper.language_probabilities
    monkeypatch.setattr(
        LoadedWhisper,
        "language_probabilities",
        lambda model, encoded: examined.append(1) or probabilities(model, encoded),  # type: ignore[func-returns-value]
    )
    async with recognizer_of("what", "time", "is", "it", language="en") as recognizer:
        stream = recognizer.open(SegmentId(0), lambda _words: None)
        stream.feed(loud(seconds_of(3)))
        assert (await stream.transcript()).language == "en"
        stream.feed(loud(0.3))
        stream.feed(quiet(0.5))
        assert (await stream.transcript()).text == "what time is it"
        stream.close()
    assert len(examined) == 1


async def test_one_language_is_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoadedWhisper, "language_probabilities", lambda *_: pytest.fail("it costs a decoder step"))
    async with recognizer_of("what", "time", language="en", languages=None) as recognizer:
        assert (await heard(recognizer, seconds_of(2))).language == ""


async def test_next_conversation_begins_in_the_first_language() -> None:
    async with recognizer_of(*GERMAN) as recognizer:
        await heard(recognizer, seconds_of(5))
        assert recognizer.reset()
        assert recognizer._share.languages == LANGUAGES
        assert recognizer.detail.endswith(", en or de")


def test_model_that_is_not_loaded_follows_nothing() -> None:
    shared = SharedWhisper(WhisperSettings(cached_whisper("what"), "en", "cpu"))
    assert not shared.transcriber().follow_languages(LANGUAGES)


def stream_with(*settled: tuple[str, str]) -> WhisperStream:
    """Returns a stream with settled words in languages."""
    shared = SharedWhisper(WhisperSettings(cached_whisper("what"), "en", "cpu"))
    recognizer = shared.transcriber()
    recognizer._share.languages = LANGUAGES
    stream = WhisperStream.__new__(WhisperStream)
    stream.share, stream.segment = recognizer._share, SegmentId(0)
    stream._settled, stream._settled_evidence, stream._sure_until = [], {}, 100
    for text, language in settled:
        stream._settled.append(text)
        stream._settle_language(Decoded(text, "", language, False))
    return stream


@pytest.mark.parametrize(
    ("settled", "last", "language"),
    [
        ([("wie spät ist es jetzt gerade hier", "de")], ("ja genau", "en"), "de"),
        ([("wie spät ist es jetzt gerade hier", "de")], None, "de"),
        ([("ja", "en")], ("wie spät ist es jetzt", "de"), "de"),
        ([], ("ja genau", "en"), "en"),
        ([], None, ""),
    ],
)
def test_long_turn_is_in_the_language_of_most_evidence(
    settled: list[tuple[str, str]], last: tuple[str, str] | None, language: str
) -> None:
    stream = stream_with(*settled)
    decoded = None if last is None else Decoded(last[0], "", last[1], False)
    transcript = stream._transcript(0, "" if last is None else last[0], low_confidence=False, decoded=decoded)
    assert transcript.language == language


def test_later_windows_are_recognized_in_the_language_of_the_settled_words() -> None:
    stream = stream_with(("wie spät ist es jetzt gerade hier", "de"))
    assert stream._languages() == LANGUAGES.after_turn("de")
    assert stream._sure_until == 0
