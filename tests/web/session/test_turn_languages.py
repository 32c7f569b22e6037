"""The language of each turn, from the pipeline to the client."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.conversations.session_harness import TRANSCRIBED, SessionHarness
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer

from assistant.pipeline.engines import Engines, LanguageParts, SessionSettings
from assistant.setup.conversation.engine_options import EngineOptions
from audio.stt import RecognitionStream, SegmentId, Transcript
from web.wire.incoming.choice_fields import language_check
from web.wire.outgoing.session_object import Service, SessionDescription, session_object
from web.wire.values.session_config import SessionConfig

pytestmark = pytest.mark.virtual_time

LANGUAGE_OF = {"what time is it": "en", "wie spät ist es": "de"}


class LanguageRecognizer(SequenceRecognizer):
    """A recognizer whose transcripts name their language."""

    def open(self, segment: SegmentId, on_partial: Any) -> RecognitionStream:
        return _LanguageStream(super().open(segment, on_partial))


@dataclass
class _LanguageStream:
    stream: RecognitionStream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    async def transcript(self, *args: Any, **options: Any) -> Transcript:
        transcript = await self.stream.transcript(*args, **options)
        return replace(transcript, language=LANGUAGE_OF.get(transcript.text, ""))


def bilingual(engines: Engines) -> Engines:
    german = LanguageParts(ScriptedVoice(name="german voice"), str, SessionSettings(language="de"))
    parts = {"en": LanguageParts(None, str, SessionSettings()), "de": german}
    recognizer = LanguageRecognizer(engines.recognizer.transcripts)  # type: ignore[attr-defined]
    return replace(engines, recognizer=recognizer, languages=parts)


async def test_language_of_a_turn_reaches_client_and_trace() -> None:
    transcripts = ("what time is it", "wie spät ist es", "what time is it")
    async with SessionHarness(transcripts=transcripts, engines=bilingual).running() as harness:
        for turn in range(1, 4):
            await harness.speak(until="response.done", count=turn)
            await asyncio.sleep(5)
    told = [(event["language"], event["voice"]) for event in harness.events("repartee.language")]
    assert told == [("en", "scripted voice"), ("de", "german voice"), ("en", "scripted voice")]
    assert [event["repartee"] for event in harness.events(TRANSCRIBED)] == [{"language": code} for code, _ in told]
    assert [record.language for record in harness.records] == ["en", "de", "en"]


@pytest.mark.parametrize(("follows", "chosen"), [(True, "en"), (False, "")])
def test_client_may_stay_in_the_first_language(follows: bool, chosen: str) -> None:
    check = language_check("en-US", EngineOptions(languages=("de", "en"), follows=follows))
    assert check("en", "language") == chosen
    assert check("de-AT", "language") == "de"
    assert check("", "language") == ""


def test_session_names_the_languages_that_it_follows() -> None:
    service = Service("1", "model", "recognizer", "en", (), "token", languages=("en", "de"))
    shown: Any = session_object(SessionDescription("s", service), SessionConfig(instructions="", voice=""))
    assert shown["repartee"]["languages"] == ["en", "de"]
    assert shown["audio"]["input"]["transcription"]["language"] == "en"


def test_session_of_one_language_follows_none() -> None:
    service = Service("1", "model", "recognizer", "en", (), "token", languages=("en", "de"))
    chosen = SessionConfig(instructions="", voice="", language="de")
    for description, config in (
        (service, chosen),
        (replace(service, languages=()), replace(chosen, language="")),
    ):
        shown: Any = session_object(SessionDescription("s", description), config)
        assert "languages" not in shown["repartee"]
