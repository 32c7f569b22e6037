"""The dialogue with a television behind: only the two questions of the user are answered."""

from pathlib import Path

import pytest
import soundfile

from assistant.models.needs import installed
from assistant.pipeline.transcript_requests import TranscriptRequests
from assistant.turns.effects import CommitTurn, TurnDiscarded
from assistant.turns.log.event_entries import parse_entries
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.speaker_embedding.embedder import SpeakerEmbedder
from audio.units import MIC_RATE_HZ, s_of_samples
from bench.speakers.conversation import Conversation, vad_results
from bench.speakers.television import FIRST_S, SECOND_S, TELEVISION_S

DOCS = Path(__file__).parents[3] / "docs"


def test_recorded_events_answer_the_two_questions() -> None:
    requests = TranscriptRequests(TurnTaking(TurnSettings()))
    ends_s, ignored = list[float](), 0
    for event in parse_entries((DOCS / "data" / "television-events.txt").read_text(encoding="utf-8").splitlines()):
        if isinstance(event, TurnSettings):
            requests.turns.settings = event
            continue
        for effect in requests.handle(event):
            if isinstance(effect, CommitTurn) and effect.speech_end is not None:
                ends_s.append(s_of_samples(effect.speech_end))
            ignored += isinstance(effect, TurnDiscarded) and effect.reason == "other voice"
    assert len(ends_s) == 2
    assert FIRST_S < ends_s[0] < TELEVISION_S
    assert SECOND_S < ends_s[1] < SECOND_S + 4
    assert ignored >= 3, "the television speaks all the time"


def test_without_focus_the_television_is_answered() -> None:
    pcm, _ = soundfile.read(DOCS / "television.ogg", dtype="int16", stop=10 * MIC_RATE_HZ)
    outcome = Conversation(None).play(pcm, vad_results(pcm))
    assert any(s_of_samples(turn.speech_end) > TELEVISION_S for turn in outcome.committed)


@pytest.mark.skipif(installed(SPEAKER_EMBEDDER) is None, reason="the speaker embedder is not installed")
def test_real_embedder_ignores_the_television() -> None:
    pcm, _ = soundfile.read(DOCS / "television.ogg", dtype="int16", stop=10 * MIC_RATE_HZ)
    outcome = Conversation(SpeakerEmbedder.load(installed(SPEAKER_EMBEDDER))).play(pcm, vad_results(pcm))
    assert [s_of_samples(turn.speech_end) < TELEVISION_S for turn in outcome.committed] == [True]
    assert outcome.ignored
