"""Conversations of one user in two rooms, in virtual time: one answer to a question, and announcements."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest
from support.conversations.session_harness import LONG, SessionHarness
from support.engines.scripted_engines import Answer

from assistant.history.items import AssistantMessage
from assistant.pipeline.engines import Engines
from assistant.pipeline.unasked.announcing import EXPIRES_S, MAX_WAITING, AnnouncementState
from assistant.text.normalization.reading import spoken
from assistant.turns.state.states import Phase
from assistant.turns.words.wake_phrase import WakePhrase
from audio.frame import Frame
from audio.units import samples_of_ms, samples_of_s
from audio.wake import WakeWordDetection
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener
from web.rooms.user_rooms import Announced, UserRooms

pytestmark = [pytest.mark.virtual_time, pytest.mark.leaves_no_tasks]

SPOKEN, WAITING, FULL, NOBODY_THERE = AnnouncementState
QUESTION, OTHER = "what time is it", "turn the heating off in the bath"


def with_numbers_in_words(engines: Engines) -> Engines:
    return replace(engines, normalize_text=spoken)


class Home:
    """A kitchen and a hall with a client each."""

    def __init__(self, kitchen: str = QUESTION, *hall: str, answer: Answer = "It is ten.") -> None:
        self.rooms = UserRooms()
        self.kitchen = SessionHarness((answer,) * 3, (kitchen,) * 3, engines=with_numbers_in_words)
        self.hall = SessionHarness((answer,) * 3, hall or (QUESTION,) * 3, engines=with_numbers_in_words)

    @asynccontextmanager
    async def running(self, kitchen: str = "Kitchen", hall: str = "Hall") -> AsyncGenerator["Home"]:
        async with self.kitchen.running(), self.hall.running():
            with self.rooms.joined(self.kitchen.talk), self.rooms.joined(self.hall.talk):
                yield await self._begin(kitchen, hall)

    async def _begin(self, kitchen: str, hall: str) -> "Home":
        await self.kitchen.update(repartee={"room": kitchen, "playout": False})
        await self.hall.update(repartee={"room": hall, "playout": False})
        self.kitchen.session.engines.skill_effects.is_unheard = lambda: self.kitchen.talk.speaker.is_disconnected
        self.hall.session.engines.skill_effects.is_unheard = lambda: self.hall.talk.speaker.is_disconnected
        await self.both(200, 0, 0)
        return self

    async def both(self, ms: int, kitchen: int, hall: int) -> None:
        """Sends sound of these levels in both rooms, in real time."""
        for _ in range(ms // 20):
            await asyncio.sleep(0.02)
            for harness, level in ((self.kitchen, kitchen), (self.hall, hall)):
                audio = base64.b64encode(np.full(480, level, np.int16).tobytes()).decode()
                await harness.send("input_audio_buffer.append", audio=audio)

    @property
    def answers(self) -> tuple[int, int]:
        """The completed replies of kitchen and hall."""
        return tuple(
            sum(done["status"] == "completed" for done in harness.done) for harness in (self.kitchen, self.hall)
        )


# ---- a wake word that the clients hear ----


async def heard(harness: SessionHarness, level_dbfs: float) -> None:
    await harness.send("repartee.wake_word.heard", level_dbfs=level_dbfs, audio_end_ms=0)


async def test_satellite_that_hears_the_word_best_answers() -> None:
    async with Home().running() as home:
        await heard(home.hall, -40)
        await home.both(100, 8000, 2000)
        await heard(home.kitchen, -20)
        (yielded,) = home.hall.events("repartee.wake_word.yielded")
        assert yielded["room"] == "Kitchen"
        await home.both(500, 8000, 2000)
        await home.both(1500, 0, 0)
        assert home.answers == (1, 0)
        assert home.hall.records == []
        assert home.hall.errors == home.kitchen.errors == []


async def yield_while_transcript_is_awaited(home: Home) -> None:
    home.hall.recognizer.delay_ms = 1500
    await home.both(600, 0, 8000)
    for _ in range(60):
        if home.hall.session.turns.phase is Phase.AWAITING_TRANSCRIPT:
            break
        await home.both(20, 0, 0)
    assert home.hall.session.turns.phase is Phase.AWAITING_TRANSCRIPT
    home.hall.talk.yield_to("Kitchen")
    home.hall.recognizer.delay_ms = 100


@pytest.mark.parametrize("answers", [True, False])
async def test_words_whose_transcript_is_awaited_are_dropped_too(answers: bool) -> None:
    async with Home().running() as home:
        detection = {"type": "server_vad", "create_response": answers}
        await home.hall.update(audio={"input": {"turn_detection": detection}})
        await yield_while_transcript_is_awaited(home)
        await home.both(4000, 0, 0)
        assert home.answers == (0, 0)
        assert home.hall.session.history.items == ()
        assert home.hall.records == []
        assert home.hall.session.idle


async def test_questions_after_a_yielded_turn_without_words_are_answered() -> None:
    async with Home(QUESTION, "", *(QUESTION,) * 3).running() as home:
        await yield_while_transcript_is_awaited(home)
        await home.both(4000, 0, 0)
        await home.both(600, 0, 8000)
        await home.both(1500, 0, 0)
        assert home.answers == (0, 1)


async def test_satellite_that_has_yielded_answers_the_next_word() -> None:
    async with Home().running() as home:
        await heard(home.kitchen, -20)
        await heard(home.hall, -40)
        await home.both(600, 0, 0)
        await heard(home.hall, -20)
        await home.both(600, 0, 8000)
        await home.both(1500, 0, 0)
        assert home.answers == (0, 1)


# ---- a wake word that the server hears ----


class DetectorAt:
    """Detects the word in the frame at a time."""

    def __init__(self, at_ms: float) -> None:
        self._at = samples_of_ms(at_ms)

    def process(self, frame: Frame) -> WakeWordDetection | None:
        return WakeWordDetection("alexa", frame.end) if frame.start <= self._at < frame.end else None


def sleep_until_word(harness: SessionHarness, at_ms: float) -> None:
    """Lets the conversation sleep until it hears the word."""
    harness.session.wake_phrase.by_sound = {"alexa": WakePhrase("alexa")}
    gate = WakeWordGate(samples_of_s(8), samples_of_s(8))
    harness.session.use_wake_word(WakeWordListener(DetectorAt(at_ms), gate))


@pytest.mark.parametrize(("kitchen", "hall"), [(8000, 2000), (2000, 8000)])
@pytest.mark.parametrize("first", ["kitchen", "hall"])
async def test_louder_conversation_wakes_and_the_other_sleeps_on(kitchen: int, hall: int, first: str) -> None:
    async with Home().running() as home:
        sleep_until_word(home.kitchen, 1000 if first == "kitchen" else 1200)
        sleep_until_word(home.hall, 1000 if first == "hall" else 1200)
        await home.both(300, 0, 0)
        await home.both(1600, kitchen, hall)
        await home.both(2000, 0, 0)
        assert home.answers == ((1, 0) if kitchen > hall else (0, 1))
        loser, room = (home.hall, "Kitchen") if kitchen > hall else (home.kitchen, "Hall")
        assert [event["room"] for event in loser.events("repartee.wake_word.yielded")] == [room]
        assert loser.session.wake_word is not None
        assert not loser.session.wake_word.awake
        assert loser.records == []


async def test_reply_goes_on_where_the_word_was_heard_worse() -> None:
    async with Home(answer=LONG).running() as home:
        sleep_until_word(home.kitchen, 1000)
        sleep_until_word(home.hall, 1300)
        await home.hall.type_text("tell me a story")
        await home.hall.send("response.create")
        await home.both(600, 0, 0)
        await home.both(1000, 8000, 0)  # too soft to be speech in the hall
        assert len(home.hall.events("repartee.wake_word.yielded")) == 1
        await home.both(9000, 0, 0)
        assert [done["status"] for done in home.hall.done] == ["completed"]


async def test_announcement_does_not_wake_a_sleeping_conversation() -> None:
    async with Home().running() as home:
        sleep_until_word(home.hall, 60_000)
        await home.both(300, 0, 0)
        assert home.rooms.announce("Dinner.", ["Hall"], "pause") == [Announced("Hall", SPOKEN)]
        await home.both(3000, 0, 4000)
        assert home.answers == (0, 1)
        assert home.hall.session.wake_word is not None
        assert not home.hall.session.wake_word.awake
        assert home.hall.events("input_audio_buffer.speech_started") == []


# ---- clients that always listen ----


@pytest.mark.parametrize(("kitchen", "hall"), [(8000, 2000), (2000, 8000)])
async def test_one_satellite_answers_a_question_that_both_hear(kitchen: int, hall: int) -> None:
    async with Home().running() as home:
        await home.both(800, kitchen, hall)
        await home.both(2000, 0, 0)
        assert sum(home.answers) == 1
        assert home.answers[0] == (kitchen > hall)


async def test_turn_that_a_louder_satellite_takes_over_leaves_nothing() -> None:
    async with Home().running() as home:
        await home.both(800, 2000, 8000)
        await home.both(2000, 0, 0)
        assert home.answers == (0, 1)
        assert [done["status"] for done in home.kitchen.done] == ["cancelled"]
        assert home.kitchen.session.history.items == ()
        assert home.kitchen.records == []
        shown = {event["item"]["id"] for event in home.kitchen.events("conversation.item.added")}
        assert shown
        assert {event["item_id"] for event in home.kitchen.events("conversation.item.deleted")} == shown
        await home.both(800, 8000, 0)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 1)


async def test_two_people_with_two_questions_are_both_answered() -> None:
    async with Home(QUESTION, OTHER).running() as home:
        await home.both(800, 8000, 8000)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 1)


@pytest.mark.parametrize("rooms", [("", ""), ("Kitchen", "")])
async def test_client_without_a_room_is_always_answered(rooms: tuple[str, str]) -> None:
    async with Home().running(*rooms) as home:
        await heard(home.kitchen, -20)
        await heard(home.hall, -40)
        await home.both(800, 8000, 4000)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 1)


async def test_number_in_digits_is_the_same_as_in_words() -> None:
    async with Home("set a timer for ten minutes", *("Set a timer for 10 minutes.",) * 3).running() as home:
        await home.both(800, 8000, 4000)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 0)


async def test_same_words_ten_seconds_apart_are_two_questions() -> None:
    async with Home().running() as home:
        await home.both(800, 8000, 0)
        await home.both(10_000, 0, 0)
        await home.both(800, 0, 8000)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 1)


async def test_satellite_that_yields_keeps_no_words_and_no_record() -> None:
    async with Home().running() as home:
        await home.both(800, 8000, 4000)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 0)
        assert home.hall.records == []
        assert home.hall.session.history.items == ()
        await home.both(800, 0, 8000)
        await home.both(2000, 0, 0)
        assert home.answers == (1, 1)


# ---- announcements ----


async def test_announcement_is_spoken_at_once_where_nobody_speaks() -> None:
    async with Home().running() as home:
        assert home.rooms.announce("Dinner.", ["hall"], "pause") == [Announced("Hall", SPOKEN)]
        await home.both(2000, 0, 0)
        assert home.answers == (0, 1)
        (item,) = home.hall.session.history.items
        assert isinstance(item, AssistantMessage)
        assert item.text == "Dinner."


async def test_announcement_opens_no_window_without_the_wake_phrase() -> None:
    async with Home().running() as home:
        await home.hall.update(repartee={"wake_phrase": "hey computer"})
        home.hall.session.wake_phrase.window = samples_of_s(8)
        home.rooms.announce("Dinner.", ["Hall"], "pause")
        await home.both(1500, 0, 0)
        assert len(home.hall.done) == 1
        assert not home.hall.session.wake_window_open
        await home.both(600, 0, 8000)
        await home.both(1500, 0, 0)
        assert len(home.hall.done) == 1


async def test_announcement_waits_for_a_person_and_for_their_answer() -> None:
    async with Home().running() as home:
        await home.both(400, 8000, 0)
        assert home.rooms.announce("Dinner.", ["Kitchen"], "now") == [Announced("Kitchen", WAITING)]
        await home.both(300, 8000, 0)
        await home.both(4000, 0, 0)
        texts = [done["output"][0]["content"][0]["transcript"] for done in home.kitchen.done]
        assert texts == ["It is ten.", "Dinner."]


async def test_urgent_announcement_is_spoken_while_a_person_speaks() -> None:
    async with Home().running() as home:
        await home.both(400, 8000, 0)
        assert home.rooms.announce("Fire.", ["Kitchen"], "urgent") == [Announced("Kitchen", SPOKEN)]
        await home.both(300, 8000, 0)
        await home.both(5000, 0, 0)
        texts = [done["output"][0]["content"][0]["transcript"] for done in home.kitchen.done]
        assert texts == ["Fire.", "It is ten."]


@pytest.mark.parametrize("priority", ["pause", "now"])
async def test_only_now_ends_a_reply(priority: str) -> None:
    async with Home(answer=LONG).running() as home:
        await home.both(700, 8000, 0)
        await home.both(2000, 0, 0)
        (state,) = home.rooms.announce("Dinner.", ["Kitchen"], priority)  # type: ignore[arg-type]
        assert state.state == (SPOKEN if priority == "now" else WAITING)
        await home.both(1000, 0, 0)
        assert [done["status"] for done in home.kitchen.done][:1] == (["cancelled"] if priority == "now" else [])


async def test_announcement_expires_and_the_queue_is_bounded() -> None:
    async with Home(answer=LONG).running() as home:
        await home.both(400, 8000, 0)
        results = [home.rooms.announce(f"News {n}.", ["Kitchen"], "pause")[0].state for n in range(MAX_WAITING + 1)]
        assert results == [WAITING] * MAX_WAITING + [FULL]
        home.kitchen.session._announcements.on_frame(asyncio.get_running_loop().time() + EXPIRES_S + 1)
        assert home.rooms.announce("Late.", ["Kitchen"], "pause") == [Announced("Kitchen", WAITING)]


async def test_client_that_reads_hears_no_announcement() -> None:
    async with Home().running() as home:
        await home.hall.update(output_modalities=["text"])
        assert home.rooms.announce("Dinner.", None, "urgent") == [Announced("Kitchen", SPOKEN)]
        assert home.rooms.announce("Dinner.", ["Hall"], "urgent") == [Announced("Hall", NOBODY_THERE)]


async def test_announcement_waits_for_a_client_that_may_resume() -> None:
    async with Home().running() as home:
        home.hall.talk.on_disconnect()
        announced = home.rooms.announce("Dinner.", None, "urgent")
        assert set(announced) == {Announced("Kitchen", SPOKEN), Announced("Hall", WAITING)}
        await asyncio.sleep(5)
        assert home.hall.done == []
        home.hall.resume()
        await home.both(2000, 0, 0)
        assert spoken_in(home.hall) == ["Dinner."]


async def test_connected_client_of_a_room_is_preferred() -> None:
    async with Home().running("Hall", "Hall") as home:
        home.hall.talk.last_turn_s = 1.0
        home.hall.talk.on_disconnect()
        assert home.rooms.announce("Dinner.", None, "pause") == [Announced("Hall", SPOKEN)]
        await home.both(2000, 0, 0)
        assert home.answers == (1, 0)


async def test_announcement_while_conversations_begin_and_end() -> None:
    rooms, new, leaving = UserRooms(), SessionHarness(), SessionHarness()
    with rooms.joined(new.talk), rooms.joined(leaving.talk):
        assert rooms.announce("Dinner.", None, "urgent") == [Announced("", WAITING)] * 2
        async with new.running(), leaving.running():
            await asyncio.sleep(0.2)
            leaving.session.announce_end()
            assert rooms.announce("Later.", None, "pause") == [Announced("", WAITING)]
        assert rooms.announce("Dinner.", None, "urgent") == []


# ---- announcements that replace each other ----


def spoken_in(harness: SessionHarness) -> list[str]:
    """The words of the completed replies."""
    done = [done["output"][0]["content"][0]["transcript"] for done in harness.done if done["status"] == "completed"]
    announced = {event["response_id"] for event in harness.events("repartee.announcement")}
    assert announced == {done["id"] for done in harness.done}, "each is announced to the client"
    return done


@pytest.mark.parametrize("asleep", [False, True])
async def test_replaced_unheard_announcement_follows_and_leaves_nothing(asleep: bool) -> None:
    async with Home().running() as home:
        if asleep:
            sleep_until_word(home.hall, 60_000)
            await home.both(300, 0, 0)
        assert home.rooms.announce("Dinner.", ["Hall"], "pause") == [Announced("Hall", SPOKEN)]
        assert home.rooms.announce("Fire.", ["Hall"], "urgent") == [Announced("Hall", SPOKEN)]
        await home.both(6000, 0, 0)
        assert spoken_in(home.hall) == ["Fire.", "Dinner."]
        assert [item.text for item in home.hall.session.history.items if isinstance(item, AssistantMessage)] == [
            "Fire.",
            "Dinner.",
        ]
        if asleep:
            assert home.hall.session.wake_word is not None
            assert not home.hall.session.wake_word.awake


async def test_announcement_of_the_same_priority_is_not_cut() -> None:
    async with Home().running() as home:
        assert home.rooms.announce("Fire.", ["Hall"], "urgent") == [Announced("Hall", SPOKEN)]
        assert home.rooms.announce("Leave the house.", ["Hall"], "urgent") == [Announced("Hall", WAITING)]
        await home.both(6000, 0, 0)
        assert spoken_in(home.hall) == ["Fire.", "Leave the house."]


async def test_urgent_announcement_precedes_those_that_wait() -> None:
    async with Home().running() as home:
        await home.both(400, 0, 8000)
        for text, priority in (("Dinner.", "pause"), ("Tea.", "pause"), ("Rain.", "now")):
            assert home.rooms.announce(text, ["Hall"], priority) == [Announced("Hall", WAITING)]  # type: ignore[arg-type]
        await home.both(300, 0, 8000)
        assert home.rooms.announce("Fire.", ["Hall"], "urgent") == [Announced("Hall", SPOKEN)]
        await home.both(12_000, 0, 0)
        texts = [done["output"][0]["content"][0]["transcript"] for done in home.hall.done]
        assert texts == ["Fire.", "It is ten.", "Rain.", "Dinner.", "Tea."]
