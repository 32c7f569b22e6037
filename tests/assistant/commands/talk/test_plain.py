"""Conversations as lines: what is printed, what is typed, and that nothing blocks."""

import asyncio
import io
import os
from collections.abc import Callable
from contextlib import suppress
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
    SessionEvent,
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
    typed: str = "",
    *events: SessionEvent,
    then: Callable[[TalkPlain], None] = lambda _: None,
    status: Status = STATUS,
    ends: bool = True,
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Returns the printed lines, and the calls of the controls. `then`: is called before the events are shown."""
    out = io.StringIO()
    controls = ScriptedControls(status)

    async def run() -> None:
        plain = TalkPlain(controls, clock=lambda: "14:10:07", out=out, typed=io.StringIO(typed), ends_with_input=ends)
        then(plain)
        for event in events:
            plain.show(event)
        async with asyncio.timeout(5):
            await plain.run()
        await plain.aclose()

    asyncio.run(run())
    return out.getvalue().splitlines(), controls.done


def test_conversation_is_printed_as_lines() -> None:
    def start(plain: TalkPlain) -> None:
        plain.engines(ENGINES[:2])
        plain.engines(ENGINES)
        plain.ready()

    printed, done = talked("", *CONVERSATION, then=start)
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
    events = (  # as a new connection reports it
        UserTurnCommitted(turn, text, False, UserMessage(ItemId(text), text, text == "spoken"), None, "requested")
        for turn, text in enumerate(("typed", "spoken"), 1)
    )
    printed, _ = talked("", *events)
    assert [line for line in printed if line.startswith("you")] == ["you: spoken"]


def test_several_speakers_are_named() -> None:
    said = [("one", "S1"), ("two", "S2"), ("three", "ann")]
    printed, _ = talked(
        "",
        *(
            UserTurnCommitted(1, text, False, UserMessage(ItemId(text), text, True, speaker=name), 1.0, "spoken")
            for text, name in said
        ),
    )
    assert printed[:3] == ["you: one", "S2: two", "ann: three"]


def test_text_is_made_printable_and_interim_words_omitted() -> None:
    printed, _ = talked(
        "",
        InterimWords("so far", low_confidence=False),
        UserTurnCommitted(1, "\x1b[2Jhi\nthere", True, None, 1.0, "spoken"),
        ChunkSpoken(ReplyId(1, 1), "[bold]a[/]\x07"),
        ReplyStopped(ReplyId(1, 1), "a", 100.0, "voice"),
        ReplyStopped(ReplyId(1, 1), "a", 100.0, "unheard"),
        ReplyStopped(ReplyId(1, 1), "", 0.0, "unheard"),
    )
    assert printed[:3] == ["you: [2Jhi there (roughly)", "repartee: [bold]a[/]", "repartee: (interrupted)"]
    assert printed[3:5] == ['repartee: (heard: "a")', "repartee: (not heard)"]


def test_reply_that_is_not_spoken_is_printed_in_paragraphs_without_markup() -> None:
    printed, _ = talked(
        "",
        ReplyStarted(ReplyId(1, 1), ItemId("a"), spoken=False),
        *(ChunkSpoken(ReplyId(1, 1), char) for char in WRITTEN),
        ReplySent(ReplyId(1, 1), WRITTEN, None, None, None, None),
    )
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


async def test_end_of_a_pipe_does_not_end_the_conversation() -> None:
    controls = ScriptedControls(STATUS)
    plain = TalkPlain(controls, clock=lambda: "", out=io.StringIO(), typed=io.StringIO("hi\n"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.7):
            await plain.run()
    assert controls.done == [("type", "hi")]


def test_end_of_input_without_a_microphone_ends_the_conversation() -> None:
    _, done = talked("what time is it\n", status=replace(STATUS, floor="typing"), ends=False)
    assert done == [("type", "what time is it"), ("quit",)]


async def test_too_long_lines_are_skipped_and_many_are_queued() -> None:
    typed = "\n".join([*[f"line {at}" for at in range(100)], "x" * (3 * LINE_CHARS), "last"])
    assert [line async for line in lines_of(io.StringIO(typed))] == [*[f"line {at}" for at in range(100)], "", "last"]


async def test_unread_output_does_not_block() -> None:
    ours, theirs = os.pipe()
    pipe = os.fdopen(theirs, "w", encoding="utf-8")
    writer = LineWriter(pipe, lambda: None)
    for _ in range(2 * MAX_LINES):
        writer.write("x" * 1000)
    assert writer.left_out > 0
    os.close(ours)  # so that the thread can end
    await writer.aclose()
    with suppress(BrokenPipeError):  # some of a line may still be in its buffer
        pipe.close()


def test_end_names_only_engines_in_place_of_others() -> None:
    """All engines were printed at the start."""

    printed, _ = talked(then=lambda plain: plain.engines(ENGINES))
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
    (timed,) = [event.record for event in CONVERSATION if isinstance(event, TurnFinished)][:1]
    untimed = replace(timed, response_latency_ms=None, no_latency_reason="requested", stages={})
    events = (TurnFinished(replace(untimed, outcome=outcome)) for outcome in outcomes)
    printed, _ = talked("", *events, then=lambda plain: plain.engines(ENGINES))
    assert said in printed


async def test_closed_output_ends_the_conversation() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    controls = ScriptedControls(STATUS)
    with os.fdopen(theirs, "w", encoding="utf-8") as pipe:
        plain = TalkPlain(controls, clock=lambda: "", out=pipe, typed=io.StringIO(""), ends_with_input=False)
        plain.show(Problem("anything"))
        async with asyncio.timeout(5):
            await plain.run()
        await plain.aclose()
    assert controls.done == [("quit",)]


async def test_unencodable_character_is_replaced() -> None:
    raw = io.BytesIO()
    out: TextIO = io.TextIOWrapper(raw, encoding="ascii")
    writer = LineWriter(out, lambda: None)
    writer.write("200–500 ms")
    await writer.aclose()
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
    def measure(plain: TalkPlain) -> None:
        plain.measuring("the speed of Whisper on this machine (tiny, base.en), 30 s at most")
        plain.ready()

    assert talked(then=measure)[0][0] == "measuring: the speed of Whisper on this machine (tiny, base.en), 30 s at most"


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

    printed, _ = talked(
        "/lists\n",
        ListsChanged((milk, note)),  # as stored by earlier conversations
        UserTurnCommitted(1, "add tea", False, None, None, "spoken"),
        ListsChanged((milk, tea, note)),
    )
    changed_list = "list: Shopping list: milk, tea"
    assert [line for line in printed if line.startswith("list: ")] == [changed_list, changed_list, "list: Notes: call"]
    assert "list: there are no lists and no notes" in talked("/lists\n")[0]


def test_enter_stops_what_rings() -> None:
    pasta = ShownTimer(1, "timer", "pasta", "ringing", 0.0, 600.0)
    printed, done = talked("\n", TimersChanged((pasta,)))
    assert "ring: press Enter to stop it" in printed
    assert ("interrupt",) in done
    assert ("interrupt",) not in talked("\n")[1]
