"""Texts typed while `repartee talk` starts are sent in order, each after the reply to the previous one."""

import asyncio
from types import SimpleNamespace
from typing import Any

from assistant.commands.talk import keys
from assistant.commands.talk.keys import MAX_PENDING_ACTIONS, TalkControls
from assistant.events import Problem, SessionEvent


async def test_texts_typed_during_the_start_are_sent_one_after_the_other() -> None:
    sent: list[tuple[str, str]] = []
    talker: Any = SimpleNamespace(floor="listening")

    def answer(text: str) -> None:
        sent.append((text, talker.floor))
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, setattr, talker, "floor", "thinking")
        loop.call_later(0.15, setattr, talker, "floor", "speaking")
        loop.call_later(0.25, setattr, talker, "floor", "listening")

    talker.type = answer
    controls = TalkControls("open", "")
    running = asyncio.create_task(controls.run())
    for text in ("a timer", "which timers?"):
        controls.type(text)
    controls.talker = talker
    controls.type("who was Goethe?")  # after those typed before
    await asyncio.sleep(0.05)
    assert not sent
    controls.begin()
    async with asyncio.timeout(20):
        while len(sent) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    controls.type("at once")  # an ordinary text interrupts
    running.cancel()
    assert [text for text, _ in sent] == ["a timer", "which timers?", "who was Goethe?", "at once"]
    assert {floor for _, floor in sent[:3]} == {"listening"}


async def test_texts_are_sent_although_no_reply_begins(monkeypatch: Any) -> None:
    monkeypatch.setattr(keys, "REPLY_BEGINS_S", 0.01)
    sent: list[str] = []
    talker: Any = SimpleNamespace(floor="listening", type=sent.append)
    controls = TalkControls("open", "", typed_early=["one", "two"], talker=talker)
    running = asyncio.create_task(controls.run())
    controls.begin()
    async with asyncio.timeout(20):
        while len(sent) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    running.cancel()
    assert sent == ["one", "two"]


def test_text_that_is_not_kept_is_reported() -> None:
    shown: list[SessionEvent] = []
    controls = TalkControls("open", "", on_event=shown.append)
    for number in range(MAX_PENDING_ACTIONS + 1):
        controls.type(f"text {number}")
    assert len(controls.typed_early) == MAX_PENDING_ACTIONS
    assert shown == [Problem("20 texts are waiting already, so the last one was not sent")]
