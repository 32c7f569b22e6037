"""Conversations as lines: what is printed, what is typed, and that nothing blocks."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TextIO

import pytest

from assistant.commands.talk.controls import NOT_YET, Status
from assistant.commands.talk.pipe import LINE_CHARS, MAX_LINES, LineWriter, lines_of
from assistant.commands.talk.plain import TalkPlain, screen_problem
from assistant.commands.talk.resumed import Resumed
from assistant.events import (
    ChunkSpoken,
    InterimWords,
    ListsChanged,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    TimersChanged,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.items import ItemId, UserMessage
from assistant.skills.lists.items import ListItem
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.trace.record import Outcome
from assistant.turns.events import ReplyId
from bench.program.talk_picture import CONVERSATION, ENGINES, STATUS, ScriptedControls

FIT = {"keys": True, "terminal": True, "encoding": "utf-8"}


def talked(
    typed: str, then: Callable[[TalkPlain], None] = lambda _: None, status: Status = STATUS, *, ends: bool = True
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Returns the printed lines, and the calls of the controls."""
    out = io.StringIO()
    controls = ScriptedControls(status)

    async def run() -> None:
        plain = TalkPlain(controls, clock=lambda: "14:10:07", out=out, typed=io.StringIO(typed), ends_with_input=ends)
        then(plain)
        async with asyncio.timeout(5):
            await plain.run()
        await plain.aclose()

    asyncio.run(run())
    return out.getvalue().splitlines(), controls.done


def test_conversation_is_printed_as_lines() -> None:
    def converse(plain: TalkPlain) -> None:
        plain.engines(ENGINES[:2])
        plain.engines(ENGINES)
        plain.ready()
        for event in CONVERSATION:
            plain.show(event)

    printed, done = talked("", converse)
    assert printed[:5] == [
        "vad: silero, 20 ms frames",
        "stt: faster-whisper, tiny.en, int8_float32 on CPU",
        "llm: local, http://127.0.0.1:8000/v1",
        "tts: espeak-ng, English (Great Britain) (fallback: instead of piper, because the Piper voice "
        "en_US-joe-medium is not downloaded; fetch it: repartee models pull en_US-joe-medium)",
        "ready: speak, or type; /help lists the commands",
    ]
    assert "you: what time is it" in printed
    assert "repartee: It's ten past two." in printed
    assert "latency: 246 ms, within 200–500 ms: wait 228, playout 18" in printed
    assert "latency: 587 ms, slower than 500 ms: wait 420, stt 22, model 95, voice 30, playout 20" in printed
    assert any(line.startswith("problem 14:10:07: the loudspeaker has gone") for line in printed)
    assert f"microphone: {STATUS.input}" in printed
    assert any("p50 272 ms" in line and "over 4 turns" in line for line in printed)
    assert not any("█" in line for line in printed)
    assert done == [("quit",)]


def test_typed_text_is_not_repeated_but_offline_speech_is_printed() -> None:
    def converse(plain: TalkPlain) -> None:  # as a new connection reports it
        plain.show(
            UserTurnCommitted(1, "typed", False, UserMessage(ItemId("a"), "typed", spoken=False), None, "requested")
        )
        plain.show(
            UserTurnCommitted(2, "spoken", False, UserMessage(ItemId("b"), "spoken", spoken=True), None, "requested")
        )

    printed, _ = talked("", converse)
    assert [line for line in printed if line.startswith("you")] == ["you: spoken"]


def test_text_is_made_printable_and_interim_words_omitted() -> None:
    def converse(plain: TalkPlain) -> None:
        plain.show(InterimWords("so far", low_confidence=False))
        plain.show(UserTurnCommitted(1, "\x1b[2Jhi\nthere", True, None, 1.0, "spoken"))
        plain.show(ChunkSpoken(ReplyId(1, 1), "[bold]a[/]\x07"))
        plain.show(ReplyStopped(ReplyId(1, 1), "a", 100.0, "voice"))
        plain.show(ReplyStopped(ReplyId(1, 1), "a", 100.0, "unheard"))
        plain.show(ReplyStopped(ReplyId(1, 1), "", 0.0, "unheard"))

    printed, _ = talked("", converse)
    assert printed[:3] == ["you: [2Jhi there (roughly)", "repartee: [bold]a[/]", "repartee: (interrupted)"]
    assert printed[3:5] == ['repartee: (heard: "a")', "repartee: (not heard)"]


def test_reply_that_is_not_spoken_is_printed_in_paragraphs_without_markup() -> None:
    def converse(plain: TalkPlain) -> None:
        plain.show(ReplyStarted(ReplyId(1, 1), ItemId("a"), spoken=False))
        for char in WRITTEN:
            plain.show(ChunkSpoken(ReplyId(1, 1), char))
        plain.show(ReplySent(ReplyId(1, 1), WRITTEN, None, None, None, None))

    printed, _ = talked("", converse)
    lines = [line.strip() for line in printed]
    assert lines[: len(READABLE) + len(BELOW)] == [*(f"repartee: {text}" for text in READABLE), *BELOW]


WRITTEN = (
    "Sure! A **short** answer:\n\n1. The *first* point.\n\n```python\nprint(1)\n```\n\n"
    "More: [this page](https://example.org)."
)
READABLE = ["Sure! A short answer:", "1. The first point.", "More: this page."]
BELOW = ["code (python):", "print(1)", "links:", "https://example.org"]


def test_commands_call_the_controls() -> None:
    typed = "/mute\n/interrupt\n/repeat\n/use input USB headset\n/use output\n\nhello there\n/quit\n"
    _, done = talked(typed, ends=False)
    assert done == [
        ("mute", True),
        ("interrupt",),
        ("repeat",),
        ("use", "input", "USB headset"),
        ("use", "output", ""),
        ("type", "hello there"),
        ("quit",),
    ]


def test_talk_command_requires_push_to_talk() -> None:
    printed, done = talked("/talk\n")
    assert ("talk", True) not in done
    assert any(line.startswith("talk: the mode is open") for line in printed)
    _, done = talked("/talk\n", status=replace(STATUS, mode="push-to-talk"))
    assert done == [("talk", True), ("quit",)]


def test_unknown_command_is_reported() -> None:
    printed, done = talked("/fly\n/use speaker\n/devices\n/help\n")
    assert "unknown: there is no command /fly; /help lists the commands" in printed
    assert any(line.startswith("use: write /use input") for line in printed)
    assert "input: Built-in Audio Analog Stereo (in use)" in printed
    assert any(line.startswith("/interrupt") for line in printed)
    assert done == [("quit",)]


def test_end_of_a_pipe_does_not_end_the_conversation() -> None:
    async def run() -> None:
        controls = ScriptedControls(STATUS)
        plain = TalkPlain(controls, clock=lambda: "", out=io.StringIO(), typed=io.StringIO("hi\n"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.7):
                await plain.run()
        assert controls.done == [("type", "hi")]

    asyncio.run(run())


def test_end_of_input_without_a_microphone_ends_the_conversation() -> None:
    _, done = talked("what time is it\n", status=replace(STATUS, floor="typing"), ends=False)
    assert done == [("type", "what time is it"), ("quit",)]


def test_too_long_lines_are_skipped_and_many_are_queued() -> None:
    typed = "\n".join([*[f"line {at}" for at in range(100)], "x" * (3 * LINE_CHARS), "last"])

    async def run() -> list[str]:
        return [line async for line in lines_of(io.StringIO(typed))]

    assert asyncio.run(run()) == [*[f"line {at}" for at in range(100)], "", "last"]


def test_unread_output_does_not_block() -> None:
    ours, theirs = os.pipe()

    async def run() -> None:
        with os.fdopen(theirs, "w", encoding="utf-8") as pipe:
            writer = LineWriter(pipe, lambda: None)
            for _ in range(2 * MAX_LINES):
                writer.write("x" * 1000)
            assert writer.left_out > 0
            os.close(ours)  # so that the thread can end
            await writer.aclose()

    asyncio.run(run())


def test_end_names_only_engines_in_place_of_others() -> None:
    """All engines were printed at the start."""

    def converse(plain: TalkPlain) -> None:
        plain.engines(ENGINES)

    printed, _ = talked("", converse)
    end = printed[printed.index("no turn was answered: no words were recognized") + 1 :]
    assert end == [
        f"{engine.stage}: {engine.name}, {engine.why}"
        for engine in ENGINES
        if engine.fallback and engine.stage != "llm"
    ]
    assert len(end) == 1


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([], "no turn was answered: no words were recognized"),
        (["no words"], "no turn was answered: no words were recognized"),
        (["answered"], "1 typed turn was answered; typed turns have no response latency"),
        (["answered", "interrupted"], "2 typed turns were answered; typed turns have no response latency"),
    ],
    ids=["no turns", "turn without words", "one answered", "two answered"],
)
def test_answered_turns_without_latency_are_counted(outcomes: list[Outcome], said: str) -> None:
    (timed,) = [event for event in CONVERSATION if isinstance(event, TurnFinished)][:1]

    def converse(plain: TalkPlain) -> None:
        plain.engines(ENGINES)
        for outcome in outcomes:
            untimed = replace(
                timed.record, outcome=outcome, response_latency_ms=None, no_latency_reason="requested", stages={}
            )
            plain.show(TurnFinished(untimed))

    printed, _ = talked("", converse)
    assert said in printed


def test_closed_output_ends_the_conversation() -> None:
    ours, theirs = os.pipe()
    os.close(ours)

    async def run() -> list[tuple[object, ...]]:
        controls = ScriptedControls(STATUS)
        with os.fdopen(theirs, "w", encoding="utf-8") as pipe:
            plain = TalkPlain(controls, clock=lambda: "", out=pipe, typed=io.StringIO(""), ends_with_input=False)
            plain.show(Problem("anything"))
            async with asyncio.timeout(5):
                await plain.run()
            await plain.aclose()
        return controls.done

    assert asyncio.run(run()) == [("quit",)]


def test_unencodable_character_is_replaced() -> None:
    raw = io.BytesIO()
    out: TextIO = io.TextIOWrapper(raw, encoding="ascii")

    async def run() -> None:
        writer = LineWriter(out, lambda: None)
        writer.write("200–500 ms")
        await writer.aclose()

    asyncio.run(run())
    assert raw.getvalue() == b"200?500 ms" + os.linesep.encode()


STARTING = replace(STATUS, floor="starting", input=NOT_YET, output=NOT_YET, echo=NOT_YET)


def load(plain: TalkPlain) -> None:
    plain.engines(ENGINES)
    plain.show(Problem("the folder is full"))


def loaded(plain: TalkPlain) -> None:
    load(plain)
    plain.ready()


def started(
    then: Callable[[TalkPlain], None] = load, *, typed: str = "", start_s: float = 5.0, status: Status = STARTING
) -> list[str]:
    """Returns the lines of a conversation that starts for a tenth of a second."""
    out = io.StringIO()

    async def run() -> None:
        typing = io.StringIO(typed)
        plain = TalkPlain(
            ScriptedControls(status), clock=str, out=out, typed=typing, ends_with_input=False, note="N", start_s=start_s
        )
        then(plain)
        asyncio.get_running_loop().call_later(0.1, plain.close)
        await plain.run()
        await plain.aclose()

    asyncio.run(run())
    return out.getvalue().splitlines()


def test_failed_start_prints_only_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert started() == []
    assert capsys.readouterr().err == ""


def test_device_that_is_not_open_yet_is_not_printed() -> None:
    assert not [line for line in started(TalkPlain.ready) if NOT_YET in line]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"then": loaded}, id="ready"),
        pytest.param({"start_s": 0.0}, id="a slow start"),
        pytest.param({"typed": "/help\n"}, id="somebody types"),
        pytest.param({"status": STATUS}, id="the conversation has begun"),
    ],
)
def test_held_back_lines_are_printed_in_order(how: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    lines = started(**how)
    assert lines[0].startswith("vad: ")
    assert lines[len(ENGINES)].startswith("problem ")
    assert capsys.readouterr().err == "repartee: N\n"


def test_what_is_measured_during_the_start_is_printed() -> None:
    def converse(plain: TalkPlain) -> None:
        plain.measuring("the speed of Whisper on this machine (tiny, base.en), 30 s at most")
        plain.ready()

    printed, _ = talked("", converse)
    assert printed[0] == "measuring: the speed of Whisper on this machine (tiny, base.en), 30 s at most"


def test_resumed_conversation_is_printed_first() -> None:
    def go_on(plain: TalkPlain) -> None:
        plain.resumed(Resumed("one, 1 turn:", (("you", "what time is it"), ("repartee", "Ten past two."))))
        plain.ready()

    assert started(go_on)[:4] == [
        "resumed: one, 1 turn:",
        "you (earlier): what time is it",
        "repartee (earlier): Ten past two.",
        "ready: speak, or type; /help lists the commands",
    ]


@pytest.mark.slow
def test_thread_waiting_for_input_does_not_keep_the_program() -> None:
    code = (
        "import asyncio\n"
        "from assistant.commands.talk.plain import TalkPlain\n"
        "from bench.program.talk_picture import STATUS, ScriptedControls\n"
        "async def run():\n"
        "    plain = TalkPlain(ScriptedControls(STATUS), clock=lambda: '')\n"
        "    try:\n"
        "        async with asyncio.timeout(0.3):\n"
        "            await plain.run()\n"
        "    except TimeoutError:\n"
        "        pass\n"
        "    await plain.aclose()\n"
        "asyncio.run(run())\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.wait(60) == 0  # with its input still open
        assert run.stderr.read() == ""
        assert "microphone: Built-in" in run.stdout.read()


@pytest.mark.parametrize(
    ("environ", "changed", "said"),
    [
        ({"TERM": "xterm-256color"}, {}, ""),
        ({}, {}, ""),  # as on Windows
        ({"TERM": "dumb"}, {}, "TERM=dumb"),
        ({}, {"terminal": False}, "the output or standard error is not a terminal"),
        ({}, {"keys": False}, "the input is not a terminal"),
        ({}, {"encoding": "latin-1"}, "encoding is latin-1"),
    ],
    ids=["xterm", "TERM unset", "TERM=dumb", "output to a pipe", "input from a pipe", "latin-1"],
)
def test_screen_problem_is_explained(environ: dict[str, str], changed: dict[str, object], said: str) -> None:
    reason = screen_problem(environ, **{**FIT, **changed})  # type: ignore[arg-type]
    assert reason.find(said) >= 0
    assert bool(reason) == bool(said)


_LISTED = (("shopping", "milk"), ("shopping", "tea"), ("notes", "call"))


def test_changed_list_is_printed_and_lists_shows_all() -> None:
    milk, tea, note = (ListItem(str(at), name, text, at) for at, (name, text) in enumerate(_LISTED))

    def change(plain: TalkPlain) -> None:
        plain.show(ListsChanged((milk, note)))  # as stored by earlier conversations
        plain.show(UserTurnCommitted(1, "add tea", False, None, None, "spoken"))
        plain.show(ListsChanged((milk, tea, note)))

    printed, _ = talked("/lists\n", change)
    changed_list = "list: Shopping list: milk, tea"
    assert [line for line in printed if line.startswith("list: ")] == [changed_list, changed_list, "list: Notes: call"]
    assert "list: there are no lists and no notes" in talked("/lists\n")[0]


def test_enter_stops_what_rings() -> None:
    pasta = ShownTimer(1, "timer", "pasta", "ringing", 0.0, 600.0)
    printed, done = talked("\n", lambda plain: plain.show(TimersChanged((pasta,))))
    assert "ring: press Enter to stop it" in printed
    assert ("interrupt",) in done
    assert ("interrupt",) not in talked("\n")[1]
