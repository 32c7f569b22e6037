"""`repartee read`: the whole program with a scripted language model, as text and as a sound file."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.programs.program import REPARTEE, repartee
from support.programs.talk_app import talking
from support.services.llm_server import Server, answer, serving
from support.sound.virtual_card import Recorder, virtual_card, write_wav

from assistant.commands.read.command import PART_TIMEOUT_S, names_of, reading_settings
from assistant.config.settings import DEFAULTS

pytestmark = pytest.mark.timeout(200)

GUIDE = "# Install\n\n" + "Run the setup. " * 40 + "\n\n# Use\n\n" + "Speak to it. " * 40


WHAT_TIME = Path(__file__).parent.parent.parent / "recordings" / "rhasspy3_what-time-is-it.wav"


def question(folder: Path) -> Path:
    """Returns a spoken question with silence around it."""
    pcm, rate_hz = soundfile.read(WHAT_TIME, dtype="int16")
    quiet = np.zeros(rate_hz // 2, np.int16)
    return write_wav(folder / "question.wav", np.concatenate([quiet, pcm, quiet]), rate_hz)


def files_of(folder: Path) -> None:
    (folder / "guide.md").write_text(GUIDE)
    (folder / "note.txt").write_text("A short note.")


async def run(
    folder: Path, server: Server, *arguments: str, typed: Sequence[str] = ()
) -> tuple[int | None, list[str], str]:
    """Runs the program in a folder with the documents. Returns exit status, lines and error text."""
    endpoint = f'[{{name="near", url="{server.url}", model="m"}}]'
    given = [f"llm.endpoints={endpoint}", "documents.part_chars=700", "tts.engine=espeak-ng", "trace.dir=traces"]
    process = await asyncio.create_subprocess_exec(
        REPARTEE,
        "read",
        *arguments,
        *(part for value in given for part in ("--set", value)),
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate("".join(f"{line}\n" for line in typed).encode())
    return process.returncode, out.decode().splitlines(), err.decode()


def reading(
    folder: Path, *arguments: str, typed: Sequence[str] = (), scripts: Sequence[str] = ("It is so.",)
) -> tuple[int | None, list[str], str, Server]:
    files_of(folder)

    async def main() -> tuple[int | None, list[str], str, Server]:
        async with serving(*map(answer, scripts)) as server:
            return (*await run(folder, server, *arguments, typed=typed), server)

    return asyncio.run(main())


@pytest.mark.slow
@pytest.mark.calm
def test_documents_are_printed_in_order_and_questions_are_answered(tmp_path: Path) -> None:
    code, lines, error, server = reading(
        tmp_path, "guide.md", "note.txt", "--text", typed=["tell me more about the second"]
    )
    assert (code, error) == (0, "")
    assert lines[:9] == [
        "guide.md, in 2 parts.",
        "Part 1, Install.",
        "It is so.",
        "Part 2, Use.",
        "It is so.",
        "note.txt.",
        "It is so.",
        "> tell me more about the second",
        "It is so.",
    ]
    assert lines[9].startswith("trace ")
    assert lines[10].startswith("read   3 parts of 2 documents; first text after ")
    asked = [json.loads(post.body) for post in server.posts]
    assert all("tools" not in body for body in asked)
    last = asked[-1]["messages"]
    assert last[-1]["content"] == "tell me more about the second"
    assert "A short note." in last[1]["content"]
    (trace,) = (tmp_path / "traces").glob("*.jsonl")
    first, second = map(json.loads, trace.read_text().splitlines())
    assert [event["name"] for event in first["events"]].count("part") == 3
    assert second["outcome"] == "answered"


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
def test_sound_is_written_and_limits_are_told(tmp_path: Path) -> None:
    code, lines, error, _ = reading(
        tmp_path, "guide.md", "--out", "reading.wav", "--once", "--set", "documents.max_parts=1"
    )
    assert (code, error) == (0, "")
    sentence = "I leave out part 2 of guide.md, because of the limits in the settings."
    assert lines.count(sentence) == 2  # at the beginning, and as it is said
    assert any(line.startswith("sound  reading.wav, ") for line in lines)
    assert "first sound after" in lines[-1]
    pcm, rate_hz = soundfile.read(tmp_path / "reading.wav", dtype="int16")
    assert (rate_hz, pcm.ndim) == (24_000, 1)
    assert len(pcm) > 3 * rate_hz
    assert abs(pcm[: rate_hz // 2]).max() > 1000


@contextmanager
def controlled_llm(reply: str) -> Generator[str]:
    """Runs a language model that answers every request with these words. Yields its address."""
    program = [sys.executable, "-m", "bench.controlled_llm", "--port", "0", "--reply", reply]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
def test_reading_goes_over_to_a_spoken_conversation(tmp_path: Path) -> None:
    files_of(tmp_path)
    with virtual_card() as card, controlled_llm("It is so.") as url:
        given = (f'llm.endpoints=[{{name="near", url="{url}", model="m"}}]', "documents.part_chars=700")
        settings = [part for value in given for part in ("--set", value)]
        with talking(tmp_path, card.environ, *settings, command=("read", "guide.md")) as app:
            app.until("repartee: It is so.", count=2)
            assert [line for line in app.lines if line.startswith("repartee: ")] == [
                "repartee: guide.md, in 2 parts.",
                "repartee: Part 1, Install.",
                "repartee: It is so.",
                "repartee: Part 2, Use.",
                "repartee: It is so.",
            ]
            app.say("what is the second about")
            app.until("repartee: It is so.", count=3)
            card.speak(question(tmp_path)).wait()
            app.until("you: what time is it")
            app.until("latency:")
            app.say("/quit")
            assert app.ends_within_s(3.0) == 0
        assert any(line.startswith("read   2 parts of 1 document; first sound after ") for line in app.lines)
        reading = app.records()[0]
        assert [event["name"] for event in reading["events"]].count("part") == 2
        assert reading["playout_start_ms"] is not None


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
def test_reading_alone_needs_no_microphone(tmp_path: Path) -> None:
    files_of(tmp_path)
    with virtual_card() as card, controlled_llm("It is so.") as url:
        endpoint = f'llm.endpoints=[{{name="near", url="{url}", model="m"}}]'
        with Recorder(card) as heard:
            done = repartee(
                "read", "note.txt", "--once", "--set", endpoint, "--set", "tts.engine=espeak-ng",
                cwd=tmp_path, env=card.environ,
            )  # fmt: skip
            heard.stop()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["note.txt.", "It is so."]
    assert "first sound after" in done.stdout
    assert abs(heard.pcm).max() > 1000


def problems(tmp_path: Path, *arguments: str) -> list[str]:
    files_of(tmp_path)
    done = repartee("read", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.splitlines()


def test_every_unreadable_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert problems(tmp_path, "guide.md", "nothing.md", "empty.txt") == [
        "repartee: read: nothing.md: there is no such file",
        "read: empty.txt is empty",
    ]


def test_text_has_no_sound_to_write(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "guide.md", "--text", "--out", "a.wav")
    assert line == "repartee: --text: leave out --out; text has no sound to write"


def test_document_is_not_replaced_by_the_sound(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "note.txt", "--out", "./note.txt")
    assert "would replace a document" in line
    (line,) = problems(tmp_path, "note.txt", "--out", ".")
    assert "is a folder; name a file with --out" in line


def test_price_below_a_single_part_is_told(tmp_path: Path) -> None:
    endpoint = '[{name="a", url="http://127.0.0.1:9/v1", model="m", price_in_per_million=5.0}]'
    given = ("--set", f"llm.endpoints={endpoint}", "--set", "documents.max_price=0.0000001")
    (line,) = problems(tmp_path, "note.txt", *given)
    assert "documents.max_price is below the price of a single part" in line


def test_without_a_language_model_the_remedy_is_told(tmp_path: Path) -> None:
    files_of(tmp_path)
    done = repartee("read", "note.txt", "--text", "--llm", "skills", cwd=tmp_path)
    assert done.returncode == 2
    assert "`repartee models pull qwen3-0.6b`" in done.stderr


def test_documents_of_the_same_name_are_told_apart() -> None:
    assert names_of([Path("a/x.md"), Path("b/x.md"), Path("y.md")]) == ["a/x.md", "b/x.md", "y.md"]


def test_conversation_about_documents_has_room_for_them() -> None:
    settings = reading_settings(DEFAULTS)
    assert settings.llm.max_history_tokens == DEFAULTS.llm.max_history_tokens + 1500
    assert settings.llm.first_token_timeout_s == PART_TIMEOUT_S
    assert settings.assistant.greeting == ""
    assert settings.turn.stuck_after_s > 2 * settings.llm.first_token_timeout_s  # a part is asked twice
