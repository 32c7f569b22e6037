"""The idle timeout: the assistant speaks again when the user says nothing after a heard reply."""

from support.turns.turn_scene import FIRST, Scene

from assistant.turns.effects import CommitTurn, IdleTimedOut, PrepareReply
from assistant.turns.events import InputCommitted, ReplyEnded, ReplyId
from assistant.turns.log.event_entries import parse_entries, settings_entry
from assistant.turns.settings import EndsTurn, TurnSettings
from assistant.turns.state.states import Phase
from audio.units import Samples, samples_of_ms

SETTINGS = TurnSettings(idle_timeout_ms=5000.0)


def heard(settings: TurnSettings = SETTINGS, *, audible: bool = True) -> Scene:
    """Returns a scene in which a reply was played to its end."""
    scene = Scene(settings)
    scene.commit_reply(words_heard=3 if audible else 0, audible=audible)
    scene.handle(ReplyEnded(Samples(samples_of_ms(scene.now_ms)), FIRST))
    return scene


def test_assistant_prompts_user_after_silence_that_follows_heard_reply() -> None:
    scene = heard()
    ended_ms = scene.now_ms
    assert scene.silence(4960) == ()
    assert scene.silence(40) == (
        IdleTimedOut(Samples(samples_of_ms(ended_ms)), Samples(samples_of_ms(ended_ms + 5000)), answered=True),
        PrepareReply(ReplyId(2, 1), ""),
        CommitTurn(ReplyId(2, 1), "", "", None, origin="requested"),
    )
    assert scene.phase() is Phase.REPLYING


def test_prompt_is_repeated_only_after_it_was_heard() -> None:
    scene = heard()
    scene.silence(5000)
    scene.progress(ReplyId(2, 1), 2)
    assert not [effect for effect in scene.silence(6000) if isinstance(effect, IdleTimedOut)]
    scene.handle(ReplyEnded(Samples(samples_of_ms(scene.now_ms)), ReplyId(2, 1)))
    assert [type(effect) for effect in scene.silence(5000)] == [IdleTimedOut, PrepareReply, CommitTurn]


def test_nothing_times_out_before_a_reply_was_heard() -> None:
    assert Scene(SETTINGS).silence(20_000) == ()
    assert heard(audible=False).silence(20_000) == ()


def test_speech_of_user_ends_the_wait() -> None:
    scene = heard()
    scene.silence(4000)
    scene.speech(800)
    scene.silence(500)
    assert not [effect for effect in scene.effects if isinstance(effect, IdleTimedOut)]
    scene.transcript(ReplyId(2, 1), "yes")
    assert not [effect for effect in scene.silence(6000) if isinstance(effect, IdleTimedOut)]


def test_client_that_ends_turns_ends_the_wait() -> None:
    scene = heard()
    scene.silence(4000)
    scene.handle(InputCommitted(Samples(samples_of_ms(scene.now_ms))))
    assert scene.silence(6000) == ()


def test_timeout_is_only_reported_where_turns_are_not_answered() -> None:
    settings = TurnSettings(idle_timeout_ms=5000.0, answers=False)
    scene = heard(SETTINGS)
    scene.turns.settings = settings
    assert [type(effect) for effect in scene.silence(6000)] == [IdleTimedOut]
    assert scene.silence(20_000) == ()


def test_idle_timeout_is_off_by_default_and_recorded_only_where_it_is_used() -> None:
    assert heard(TurnSettings()).silence(60_000) == ()
    assert "idle_timeout_ms" not in settings_entry(TurnSettings())
    assert list(parse_entries([settings_entry(SETTINGS)])) == [SETTINGS]
    assert TurnSettings(ends_turn=EndsTurn.CLIENT).idle_timeout_ms is None
