"""A conversation without a recognizer: speech has no words, which is said once, and typed text is answered."""

import asyncio
from typing import cast

from support.conversations.simulation import ScriptedRecognizer, Simulation, Utterance

from assistant.pipeline.missing_engines import NoRecognizer
from audio.stt import SegmentId
from audio.units import Pcm, Samples

WHY = "the Whisper model tiny.en is not downloaded; fetch it: repartee models pull tiny.en"
SPEECH = [Utterance(500, 1500, "what time is it"), Utterance(4000, 5000, "what is the date")]


class Deaf(NoRecognizer):
    """With the streams that `Simulation` checks."""

    streams: tuple[()] = ()


def deaf_simulation(*, length_ms: int = 12_000) -> Simulation:
    simulation = Simulation(SPEECH, length_ms)
    simulation.recognizer = cast("ScriptedRecognizer", Deaf(WHY))
    return simulation


def test_speech_is_not_answered_and_the_remedy_is_said_once() -> None:
    result = deaf_simulation().run()
    assert result.chunks == []
    assert result.problems == [f"only typed text is answered, because {WHY}"]
    assert [record for record in result.records if record.outcome == "answered"] == []


def test_typed_text_is_answered() -> None:
    simulation = deaf_simulation()
    simulation.at(6000, lambda: simulation.session.type("what time is it"))
    result = simulation.run()
    assert result.chunks == ["It is ten o'clock.", "Anything else?"]
    assert result.records[-1].outcome == "answered"


def test_speech_over_a_reply_does_not_end_it() -> None:
    """A segment without words is noise: the reply goes on."""
    simulation = deaf_simulation()
    simulation.at(3600, lambda: simulation.session.type("what time is it"))
    assert simulation.run().records[-1].outcome == "answered"


def test_empty_transcript_covers_what_was_fed() -> None:
    async def main() -> None:
        recognizer = NoRecognizer(WHY)
        await recognizer.load()
        stream = recognizer.open(SegmentId(320), lambda _words: None)
        stream.feed(cast("Pcm", [0] * 160))
        stream.probability_dip()
        words = await stream.transcript()
        assert (words.text, words.until) == ("", Samples(480))
        stream.close()
        stream.cancel()
        assert recognizer.reset()
        await recognizer.aclose()

    asyncio.run(main())
