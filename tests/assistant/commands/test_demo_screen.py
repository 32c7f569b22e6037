"""Lines of `repartee demo`: interim words stay at their end; the language model that is missing; `--play`."""

import asyncio
import io
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rich.console import Console
from support.clocks.virtual_time import run_virtual
from support.sound.fake_cards import FakeLibrary, device, playback, run_card

from assistant.commands import demo
from assistant.commands.demo import _show_llm_choice, play_tape
from assistant.commands.demo_screen import Screen, summary, waterfall
from assistant.config.settings import DEFAULTS
from assistant.endpoint_probe.local_servers import LlmChoice
from assistant.events import InterimWords, ReplyStopped, SpeechStarted, TurnFinished
from assistant.history.items import ItemId
from assistant.registry.engine_choice import EngineChoice
from assistant.setup.engine_loader import EngineLoader
from assistant.trace.latency import STAGES, StageShare
from assistant.trace.record import TracedAnswer, TurnRecord
from assistant.turns.events import ReplyId
from audio.card.speaker import CardSpeaker
from audio.devices import Device
from audio.units import Pcm
from bench.program.talk_picture import CONVERSATION

(TIMED,) = [event.record for event in CONVERSATION if isinstance(event, TurnFinished)][:1]


def drawn(*events: SpeechStarted | InterimWords | ReplyStopped | TurnFinished) -> str:
    """Returns what the last event has drawn on a terminal."""
    out = io.StringIO()
    screen = Screen(Console(file=out, force_terminal=True, width=100))
    for event in events:
        out.seek(0)
        out.truncate()
        screen.show(event)
    return out.getvalue()


def test_interim_words_stay_after_the_interrupted_reply_ended() -> None:
    first, second = SpeechStarted(1, 0.0, ItemId("item_1")), SpeechStarted(2, 900.0, ItemId("item_3"))
    cut = ReplyStopped(ReplyId(1, 1), "It is", 400.0, "voice")
    interrupted = TurnFinished(replace(TIMED, turn=1, outcome="interrupted"))
    goes_on, ended = drawn(first, second, cut, interrupted), drawn(first, cut, interrupted)
    assert goes_on.rindex("hearing") > goes_on.rindex(" ms ")
    assert ended.rfind("hearing") < ended.rindex(" ms ")


APOLOGY = replace(TIMED, turn=2, response_latency_ms=235.0, error="llm endpoint 'x' failed (HTTP 500)")


def summed_up(*records: TurnRecord) -> str:
    """Returns the line about latencies at the end."""
    out = io.StringIO()
    summary(Console(file=out, width=200), records, [])
    return out.getvalue().splitlines()[0]


def test_failed_turn_is_not_within_the_band() -> None:
    line = waterfall(APOLOGY, 20).plain
    assert "235 ms ✗ failed, not counted" in line
    assert "✓" not in line
    assert "✓" in waterfall(TIMED, 20).plain


@pytest.mark.parametrize(
    "failed",
    [APOLOGY, replace(TIMED, outcome="stuck"), replace(TIMED, outcome="failed")],
    ids=["apology", "stuck", "failed"],
)
def test_summary_does_not_count_failed_turns(failed: TurnRecord) -> None:
    assert "over 1 turn, " in summed_up(TIMED)
    assert summed_up(TIMED, failed).endswith("over 1 turn, 1 of them within 200–500 ms; 1 more failed")
    assert summed_up(failed).startswith("no turn was answered: ")


def test_summary_shows_the_latency_of_apologies_separately() -> None:
    out = io.StringIO()
    summary(Console(file=out, width=200), [TIMED, APOLOGY], [])
    assert "failed turns      apology after 235 ms, not counted above" in out.getvalue()


CHOSEN = (
    EngineChoice("tts", "espeak-ng", "English", "instead of piper, because its voice is not downloaded", True, 80.0),
    EngineChoice("llm", "skills", "", "instead of a language model, because none is configured", True, 80.0),
    EngineChoice("vad", "silero", "20 ms frames", "as configured", False, 9.0),
)


def test_only_fallbacks_are_named_unless_all_engines_are_asked_for() -> None:
    brief, verbose = io.StringIO(), io.StringIO()
    summary(Console(file=brief, width=80), [TIMED], CHOSEN, verbose=False)
    summary(Console(file=verbose, width=80), [TIMED], CHOSEN)
    assert brief.getvalue().splitlines()[1:] == [
        "tts: espeak-ng, instead of piper, because its voice is not downloaded"
    ]
    assert "fallback: instead of piper" in " ".join(verbose.getvalue().split())
    assert "as configured" in verbose.getvalue()


def test_turn_fits_a_terminal_of_80_columns() -> None:
    stages = {stage: StageShare(100.0, 0.0) for stage in STAGES}
    record = replace(TIMED, stages=stages, response_latency_ms=900.0, error="x")
    out = io.StringIO()
    Screen(Console(file=out, force_terminal=True, color_system=None, width=80)).show(TurnFinished(record))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[0].endswith("█")
    assert lines[1].split()[:2] == ["wait", "100"]
    assert lines[2].split()[-2:] == ["playout", "100"]
    assert "\n" not in waterfall(record, 20).plain


REFUSED = replace(TIMED, answers=(TracedAnswer(1, "skills", 0, 1, 2, "refused", None, None, None, 1, 0, 0, False),))


def test_refusal_counts_as_answered_and_is_named() -> None:
    assert "✓ a refusal  " in waterfall(REFUSED, 20).plain
    assert summed_up(TIMED, REFUSED).endswith("over 2 turns, 2 of them within 200–500 ms; 1 of them refused")
    assert summed_up(replace(REFUSED, error="x")).startswith("no turn was answered: ")


# ---- the language model ----


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (
            "",
            "no language model: the built-in skills answer; to get one: repartee models pull qwen3-0.6b, or to connect "
            "one: repartee endpoints add",
        ),
        (
            "a.gguf is damaged or not a GGUF file of a language model",
            "no language model: the built-in skills answer, because a.gguf is damaged or not a GGUF file of a language "
            "model",
        ),
    ],
)
def test_hint_names_the_problem_of_an_installed_model(problem: str, line: str) -> None:
    screen = StringIO()
    loader = EngineLoader(DEFAULTS, {}, [EngineChoice("llm", "skills", "", "instead", True, 0.0)])
    loader.local_problem = problem
    _show_llm_choice(Console(file=screen, width=300), LlmChoice(DEFAULTS), loader, "")
    assert screen.getvalue().strip() == line


# ---- the recording is played ----


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """One second: the user in the first half, the assistant in the second."""
    sound = np.zeros((24_000, 2), np.int16)
    sound[:12_000, 0], sound[12_000:, 1] = 1000, -2000
    soundfile.write(tmp_path / "demo.wav", sound, 24_000)
    return tmp_path / "demo.wav"


def played(tape: Path, monkeypatch: pytest.MonkeyPatch, *devices: Device) -> tuple[Pcm, str]:
    """Returns what the loudspeaker played and what was printed."""
    out, blocks = io.StringIO(), [np.zeros(0, np.int16)]
    monkeypatch.setattr(demo, "list_devices", lambda: devices)

    async def run() -> None:
        library = FakeLibrary(*devices)
        monkeypatch.setattr(demo, "CardSpeaker", partial(CardSpeaker, library=library))
        async with asyncio.TaskGroup() as tasks:
            card = tasks.create_task(run_card(library, playback(lambda pcm, _at_s: blocks.append(pcm.copy()))))
            await play_tape(tape, "", Console(file=out, width=200))
            card.cancel()

    run_virtual(run())
    return np.concatenate(blocks), out.getvalue()


def test_both_speakers_are_played(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, text = played(tape, monkeypatch, device("desk", default=True, rate_hz=24_000))
    assert text == "playing it; Ctrl-C stops\n"
    assert np.count_nonzero(sound > 900) == pytest.approx(12_000, abs=500)
    assert np.count_nonzero(sound < -1900) == pytest.approx(12_000, abs=500)


def test_missing_loudspeaker_is_named(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, text = played(tape, monkeypatch)
    assert text.startswith("not played: ")
    assert sound.size == 0
