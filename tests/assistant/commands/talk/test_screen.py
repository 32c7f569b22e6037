"""The screen through Textual's pilot: its content at each size, and the effects of its keys."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from assistant.commands.talk.controls import Status
from assistant.commands.talk.keys import REPEATS_WITHIN_S
from assistant.commands.talk.panels import big
from assistant.commands.talk.screen import TalkScreen
from assistant.commands.talk.style import shade_of
from assistant.commands.talk.transcript import TranscriptView
from assistant.events import (
    ChunkSpoken,
    InterimWords,
    ListsChanged,
    Problem,
    ReplyStarted,
    SpeechStarted,
    TimersChanged,
)
from assistant.history.items import ItemId
from assistant.skills.lists.items import ListItem
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.turns.events import ReplyId
from bench.program.talk_picture import CONVERSATION, ENGINES, STATUS, WORD_MS, ScriptedControls, picture, placed

KeyCase = tuple[Sequence[str], Sequence[tuple[object, ...]]]
"""Pressed keys, and the calls of the controls."""

TYPING = replace(STATUS, floor="typing", typing=True, muted=True, input="none was found")
TALKING = replace(STATUS, mode="push-to-talk")
NASTY = "\x1b[2J\x1b[31mred [bold]not markup[/bold] \u202eשלום עולם 日本語 " + "漢字" * 40 + " e" + "\u0301" * 30


def text(screen: TalkScreen) -> str:
    """Returns the screen as it is now, perhaps in the middle of a change of its size."""
    return "\n".join(strip.text for strip in screen.screen._compositor.render_strips())


def lines(screen: TalkScreen) -> list[str]:
    """Returns the screen, line by line."""
    width, height = screen.size
    strips = screen.screen._compositor.render_strips()
    assert len(strips) == height
    assert all(strip.cell_length == width for strip in strips), "a line is as wide as the terminal"
    return [strip.text for strip in strips]


async def until(pilot: Pilot[None], holds: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Waits until a condition holds of the screen, at most `within_s` seconds; the caller's assertion judges then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while not holds():
                await pilot.pause(0.02)


async def shown_with(pilot: Pilot[None], screen: TalkScreen, *words: str) -> str:
    """Waits until the screen shows all of `words`. Returns the screen."""
    await until(pilot, lambda: all(said in text(screen) for said in words))
    return "\n".join(lines(screen))


@asynccontextmanager
async def opened(
    status: Status = STATUS, size: tuple[int, int] = (120, 40), environ: Mapping[str, str] | None = None
) -> AsyncGenerator[tuple[TalkScreen, Pilot[None], ScriptedControls]]:
    """Runs the screen with its engines loaded."""
    controls = ScriptedControls(status)
    screen = TalkScreen(controls, clock=lambda: "14:10:07", environ=environ or {})
    async with screen.run_test(size=size) as pilot:
        screen.engines(ENGINES)
        screen.ready()
        await pilot.pause()
        yield screen, pilot, controls


async def pressing(*keys: str, status: Status = STATUS, times: int = 0) -> list[tuple[object, ...]]:
    """Presses keys and returns the calls. `times`: number of calls to wait for."""
    async with opened(status) as (_, pilot, controls):
        await pilot.press(*keys)
        await pilot.pause(0.15)
        await until(pilot, lambda: len(controls.done) >= times)
    return controls.done


async def check_keys(pilot: Pilot[None], controls: ScriptedControls, cases: Mapping[str, KeyCase]) -> None:
    """Presses the keys of each case, one after another on the same screen."""
    for name, (keys, done) in cases.items():
        await pilot.press("escape")  # leaves a dialog or the input
        controls.done.clear()
        await pilot.press(*keys)
        await pilot.pause(0.05)
        assert controls.done == done, name


KEYS: dict[str, KeyCase] = {
    "mute": (["m"], [("mute", True)]),
    "interrupt with escape": (["escape"], [("interrupt",)]),
    "interrupt with i": (["i"], [("interrupt",)]),
    "repeat": (["r"], [("repeat",)]),
    "space without push-to-talk": (["space"], []),
    "typing keeps other keys": (["t", "space", "q", "enter"], [("type", "q")]),
    "command repeats": (["slash", "h", "i", "enter", "r"], [("type", "hi"), ("repeat",)]),
    "escape leaves the input": (["t", "h", "escape", "escape"], [("interrupt",)]),
    "empty input": (["t", "enter", "m"], [("mute", True)]),
    "second input device": (["d", "down", "enter"], [("use", "input", "Built-in Audio Analog Stereo")]),
    "last output device": (["d", "end", "enter"], [("use", "output", "USB headset")]),
    "default input device": (["d", "enter"], [("use", "input", "")]),
    "leave device list": (["d", "escape", "r"], [("repeat",)]),
    "leave help": (["question_mark", "escape", "r"], [("repeat",)]),
    "question mark in a text": (["t", *"why", "question_mark", "enter"], [("type", "why?")]),
    "t in the help": (["question_mark", "t", *"hi", "enter"], [("type", "hi")]),
    "other letter in the help": (["question_mark", "m", "r"], [("repeat",)]),
    "command": (["t", "slash", *"mute", "enter", "m"], [("mute", True), ("mute", True)]),
}


async def test_keys_call_the_controls() -> None:
    async with opened() as (_, pilot, controls):
        await check_keys(pilot, controls, KEYS)


@pytest.mark.parametrize(
    ("keys", "status"),
    [
        (["q"], STATUS),
        (["ctrl+c"], STATUS),
        (["t", "ctrl+c"], STATUS),
        (["slash", *"quit", "enter"], TYPING),
        ([*"hi", "ctrl+c"], TYPING),
    ],
)
async def test_keys_end_the_conversation(keys: list[str], status: Status) -> None:
    assert await pressing(*keys, status=status) == [("quit",)]


async def test_space_starts_and_ends_recording() -> None:
    assert await pressing("space", status=TALKING) == [("talk", True)]
    assert await pressing("space", "space", status=TALKING, times=2) == [("talk", True), ("talk", False)]


async def test_early_press_does_not_block_later_ones() -> None:
    async with opened(TALKING) as (_, pilot, controls):
        controls.deaf = True
        await pilot.press("space")
        await pilot.pause(REPEATS_WITHIN_S + 0.05)
        controls.deaf = False
        controls.done.clear()
        await pilot.press("space")
        assert controls.done == [("talk", True)]


async def test_m_opens_a_muted_microphone() -> None:
    assert await pressing("m", status=replace(STATUS, floor="muted", muted=True)) == [("mute", False)]


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 40)], ids=lambda size: "{}x{}".format(*size))
async def test_screen_shows_everything(size: tuple[int, int]) -> None:
    async with opened(size=size) as (screen, pilot, _):
        for event in CONVERSATION:
            screen.show(event)
        shown = await shown_with(pilot, screen, "above you", "wait 236", "p95 587 ms", "local, 38 ms")
        for said in ("above you", "402 ms", "✓ within 200–500 ms", "p50 272 ms", "p95 587 ms", "wait 236", "model 62"):
            assert said in shown
        for said in ("espeak-ng fallback", "local, 38 ms", "q quit", "mic"):
            assert said in shown
        assert (big("listening")[0] in shown) == (size[1] >= 24)
        assert "LISTENING" in shown or size[1] >= 24
        if size[0] >= 120:
            assert "Built-in Audio" in shown
            assert "problem  once, at 14:10:07" in shown


@pytest.mark.parametrize("size", [(59, 16), (60, 15), (8, 2)], ids=lambda size: "{}x{}".format(*size))
async def test_small_terminal_is_reported_and_works(size: tuple[int, int]) -> None:
    async with opened(size=size) as (screen, pilot, controls):
        for event in CONVERSATION:
            screen.show(event)
        await pilot.press("r")
        shown = await shown_with(pilot, screen, *(["above you.", "LISTENING", "q quit"] if size[0] >= 40 else []))
        if size[0] >= 40:
            assert f"{size[0]} × {size[1]}: enlarge to 60 × 16" in shown
            assert "LISTENING" in shown
            assert "above you." in shown
            assert "q quit" in shown
        await pilot.resize_terminal(120, 40)
        shown = await shown_with(pilot, screen, "above you.", "mic")
        assert "enlarge to" not in shown
        assert controls.done == [("repeat",)]


@pytest.mark.parametrize(
    ("size", "layout"),
    [((120, 40), {"-wide", "-airy"}), ((80, 24), {"-normal", "-high"}), ((8, 2), {"-slim", "-flat"})],
    ids=["120x40", "80x24", "8x2"],
)
async def test_first_drawing_uses_the_terminal_size(size: tuple[int, int], layout: set[str]) -> None:
    first: list[set[str]] = []

    class Watched(TalkScreen):
        def on_mount(self) -> None:
            super().on_mount()
            first.append(set(self.screen.classes))

    screen = Watched(ScriptedControls(STATUS), clock=lambda: "14:10:07", environ={})
    async with screen.run_test(size=size):
        assert layout <= screen.screen.classes
    assert layout <= first[0]


async def test_screen_is_drawn_while_engines_load() -> None:
    screen = TalkScreen(ScriptedControls(STATUS), clock=lambda: "14:10:07", environ={})
    screen.show(Problem("before it is drawn"))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = "\n".join(lines(screen))
        assert big("starting")[0] in shown
        assert "before it is drawn" in shown
        screen.engines(ENGINES[:1])
        await pilot.pause()
        shown = "\n".join(lines(screen))
        assert "silero" in shown
        assert "piper" not in shown
        screen.engines(ENGINES)
        screen.ready()
        await pilot.pause()
        shown = "\n".join(lines(screen))
        assert big("listening")[0] in shown
        assert "piper" in shown


async def test_status_is_polled_and_shown() -> None:
    async with opened() as (screen, pilot, controls):
        reply_id = ReplyId(1, 1)
        screen.show(ReplyStarted(reply_id, ItemId("reply"), spoken=True))
        screen.show(ChunkSpoken(reply_id, "one two three"))
        screen.show(placed(reply_id, "one two three"))
        controls.now = replace(
            STATUS, floor="speaking", output_dbfs=-1.0, played_ms=1.5 * WORD_MS, troubles={"overflows": 3, "none": 0}
        )
        shown = await shown_with(pilot, screen, big("speaking")[0], "loud", "counted  3 overflows")
        assert big("speaking")[0] in shown
        assert "loud" in shown
        assert "counted  3 overflows" in shown
        assert "none" not in shown
        (row,) = [at for at, line in enumerate(lines(screen)) if "one two three" in line]
        highlight = [
            seg.text for seg in screen.screen._compositor.render_strips()[row] if seg.style and seg.style.reverse
        ]
        assert highlight == ["two"]


async def test_hints_are_shown_as_text() -> None:
    async with opened() as (screen, pilot, controls):
        said = {
            "press space again": replace(TALKING, floor="hearing", talking=True),
            "the microphone is closed; press space, then speak": replace(TALKING, floor="closed"),
            'say "hey computer"': replace(STATUS, floor="asleep", mode="wake", wake_phrase="hey computer"),
            "no microphone: type and press enter; /help lists the commands": TYPING,
            "m opens it": replace(STATUS, floor="muted", muted=True),
        }
        for words, status in said.items():
            controls.now = status
            assert words in await shown_with(pilot, screen, words)


@pytest.mark.parametrize("size", [(48, 12), (120, 40)], ids=lambda size: "{}x{}".format(*size))
async def test_text_cannot_break_the_screen(size: tuple[int, int]) -> None:
    async with opened(size=size) as (screen, pilot, controls):
        reply_id = ReplyId(1, 1)
        controls.now = replace(STATUS, input=NASTY, output=NASTY, echo=NASTY, endpoint=NASTY, troubles={NASTY: 2})
        screen.engines([replace(engine, name=NASTY, detail=NASTY, why=NASTY) for engine in ENGINES])
        screen.show(SpeechStarted(1, 0.0, ItemId("user")))
        screen.show(InterimWords(NASTY, low_confidence=False))
        screen.show(ReplyStarted(reply_id, ItemId("reply"), spoken=True))
        screen.show(ChunkSpoken(reply_id, NASTY))
        screen.show(Problem(NASTY))
        await pilot.press("t")
        await pilot.press("escape", "d")
        await pilot.pause(0.25)
        shown = lines(screen)  # each is as wide as the terminal
        assert not any(char in line for line in shown for char in "\x1b\x07\u202e")
        await pilot.press("escape")
        assert "[bold]not" in await shown_with(pilot, screen, "[bold]not")


async def test_long_reply_scrolls_and_user_can_scroll_back() -> None:
    async with opened(size=(80, 24)) as (screen, pilot, _):
        reply_id = ReplyId(1, 1)
        screen.show(ReplyStarted(reply_id, ItemId("reply"), spoken=True))
        for at in range(60):
            screen.show(ChunkSpoken(reply_id, f"Sentence {at} of a reply that does not end."))
        transcript = screen.query_one(TranscriptView)
        assert "Sentence 59" in await shown_with(pilot, screen, "Sentence 59")
        await pilot.press("home")
        await shown_with(pilot, screen, "Sentence 0")
        screen.show(ChunkSpoken(reply_id, "Something more."))
        await pilot.pause(0.15)
        assert "Sentence 0" in "\n".join(lines(screen))
        assert not transcript.following
        await pilot.press("end")
        assert "Something more." in await shown_with(pilot, screen, "Something more.")


async def test_words_being_spoken_are_in_view_in_a_long_reply() -> None:
    async with opened(size=(80, 24)) as (screen, pilot, controls):
        reply_id = ReplyId(1, 1)
        screen.show(ReplyStarted(reply_id, ItemId("reply"), spoken=True))
        for at in range(60):
            screen.show(ChunkSpoken(reply_id, f"Sentence {at} of a reply."))
            screen.show(placed(reply_id, f"Sentence {at} of a reply.", at * 5 * WORD_MS))
        controls.now = replace(STATUS, floor="speaking", played_ms=(5 * 20 + 1.5) * WORD_MS)
        assert "Sentence 20 of" in await shown_with(pilot, screen, "Sentence 20 of")


async def test_typed_words_are_shown_at_once() -> None:
    async with opened() as (screen, pilot, _):
        await pilot.press("t", "h", "e", "y", "enter")
        assert "hey  (typed)" in await shown_with(pilot, screen, "hey  (typed)")
        assert screen.query_one(Input).value == ""


TYPED_KEYS: dict[str, KeyCase] = {
    "letters are text": (
        ["q", "space", "m", "question_mark", "d", "enter", "r", "enter"],
        [("type", "q m?d"), ("type", "r")],
    ),
    "mute": (["slash", *"mute", "enter"], [("mute", False)]),
    "repeat, then text": (["slash", *"repeat", "enter", *"hi", "enter"], [("repeat",), ("type", "hi")]),
    "unknown command": (["slash", *"nothing", "enter"], []),
    "escape empties the line": ([*"hi", "escape", "enter"], []),
    "help does not swallow text": (["f1", *"quit", "enter"], [("type", "quit")]),
    "help opens and closes": (["slash", *"help", "enter", "f1", *"hi", "enter"], [("type", "hi")]),
}


async def test_without_a_microphone_letters_are_text() -> None:
    async with opened(TYPING) as (_, pilot, controls):
        await check_keys(pilot, controls, TYPED_KEYS)
    assert await pressing("escape", status=TYPING) == [("interrupt",)]


async def test_without_a_microphone_letters_are_text_while_engines_load() -> None:
    controls = ScriptedControls(replace(STATUS, floor="starting", typing=True))
    screen = TalkScreen(controls, clock=lambda: "14:10:07", environ={})
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("r", "q", "question_mark", "enter")
        assert controls.done == [("type", "rq?")]


async def test_input_line_follows_the_microphone() -> None:
    async with opened(TYPING) as (screen, pilot, controls):
        await until(pilot, lambda: screen.query_one(Input).has_focus)
        assert screen.query_one(Input).has_focus
        assert "/help commands" in "\n".join(lines(screen))
        controls.now = STATUS
        await until(pilot, lambda: not screen.query_one(Input).has_focus)
        await pilot.press("r")
        assert controls.done == [("repeat",)]


async def test_no_color_disables_colours_and_uses_patterns() -> None:
    async with opened(environ={"NO_COLOR": "1"}) as (screen, pilot, _):
        for event in CONVERSATION:
            screen.show(event)
        await shown_with(pilot, screen, "█ wait 236", "✓ within")
        for strip in screen.screen._compositor.render_strips():
            for segment in strip:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    assert colour is None or colour.is_default
        shown = "\n".join(lines(screen))
        assert "█ wait 236" in shown
        assert "▓ stt 14" in shown
        assert "✓ within" in shown
        await pilot.press("l")  # there is nothing to choose


@pytest.mark.parametrize(
    ("environ", "shade"),
    [
        ({}, "dark"),
        ({"COLORFGBG": "0;15"}, "light"),
        ({"COLORFGBG": "15;default;0"}, "dark"),
        ({"NO_COLOR": "1"}, "none"),
    ],
    ids=["default", "light background", "dark background", "NO_COLOR"],
)
def test_shade_follows_the_environment(environ: dict[str, str], shade: str) -> None:
    assert shade_of(environ) == shade


def test_picture_in_the_docs_shows_this_screen() -> None:
    drawn = asyncio.run(picture("speaking", (120, 36), {}))
    kept = Path("docs/talk.svg").read_text(encoding="utf-8")
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    assert texts(kept) == texts(drawn), "run: python -m bench.program.talk_picture docs/talk.svg"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_screen_shows_lists_while_they_have_items(size: tuple[int, int]) -> None:
    async with opened(size=size) as (screen, pilot, _):
        screen.show(ListsChanged((ListItem("1", "shopping", "oat milk", 0), ListItem("2", "notes", "call", 1))))
        await shown_with(pilot, screen, "Shopping list", "oat milk", "Notes", "call")
        screen.show(ListsChanged(()))
        await until(pilot, lambda: "oat milk" not in text(screen))


def texts(svg: str) -> list[str]:
    """Returns the words of an SVG."""
    return [part.partition("</text>")[0].partition(">")[2] for part in svg.split("<text ")[1:]]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_screen_lists_timers_and_space_stops_what_rings(size: tuple[int, int]) -> None:
    pasta = ShownTimer(1, "timer", "pasta", "ringing", 0.0, 600.0)
    tea = ShownTimer(2, "timer", "", "running", 245.0, 300.0)

    async with opened(size=size) as (screen, pilot, controls):
        screen.show(TimersChanged((pasta, tea)))
        assert "rings" in await shown_with(pilot, screen, "pasta", "4:0")
        await pilot.press("space")
        await until(pilot, lambda: ("interrupt",) in controls.done)
        screen.show(TimersChanged(()))
        await until(pilot, lambda: "pasta" not in text(screen))
        assert "pasta" not in text(screen)
    assert ("interrupt",) in controls.done
