"""The program as a user calls it: help, configuration, and errors of one line."""

import os
import subprocess
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

import pytest
from support.conversations.trace_samples import DEMO
from support.models.phrase_whisper import phrase_settings
from support.programs.program import REPARTEE, repartee
from support.texts.text_cases import named_cases

from assistant import program


@pytest.mark.parametrize(
    "command", ["", "serve", "trace", "endpoints add"], ids=["repartee", "serve", "trace", "endpoints add"]
)
def test_short_help_option_works_everywhere_and_shows_no_python_types(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    short, long = (repartee(*command.split(), option) for option in ("-h", "--help"))
    assert (short.returncode, short.stdout) == (0, long.stdout)
    assert "--help" in long.stdout
    assert "<" not in long.stdout
    assert "[[" not in long.stdout


def test_shell_completes_commands_and_options() -> None:
    script = repartee("completion", "bash").stdout
    assert "complete -o default -F _repartee_completion repartee" in script
    assert "_REPARTEE_COMPLETE=complete_bash" in script

    def completed(*words: str) -> list[str]:
        asked = {
            "_REPARTEE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        return repartee(env={**os.environ, **asked}).stdout.split()

    assert completed("repartee", "tr") == ["trace"]
    assert completed("repartee", "trace", "re") == ["report", "replay"]
    assert "--play" in completed("repartee", "demo", "--")
    assert repartee("completion", "tcsh").returncode == 2


def test_unknown_model_is_refused_with_a_similar_name(tmp_path: Path) -> None:
    done = repartee("config", "--set", "stt.model=tiyn.en", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "repartee: --set: stt.model = 'tiyn.en' is not known; did you mean tiny.en? The known"
    )
    (tmp_path / "mine.toml").write_text("[stt]\nmodel = 'tiyn.en'\n")
    done = repartee("demo", "--config", "mine.toml", cwd=tmp_path)
    assert done.stderr.startswith("repartee: mine.toml:2: stt.model = 'tiyn.en' is not known")


def test_version_is_the_installed_one() -> None:
    done = subprocess.run([REPARTEE, "--version"], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (0, f"repartee {version('repartee')}\n")


def test_config_shows_values_and_their_origin(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[turn]\nprofile = 'patient'\n")
    done = repartee("config", "--config", "mine.toml", "--set", "tts.speed=1.5", cwd=tmp_path)
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert lines["turn.profile"] == ['"patient"', "mine.toml:2"]
    assert lines["tts.speed"][0] == "1.5"
    assert "--set" in lines["tts.speed"]
    assert lines["trace.words"] == ["false", "default"]


@pytest.mark.parametrize(
    ("columns", "folder"),
    [(40, "a"), (80, "a-folder-with-a-long-name" * 3)],
    ids=["40 columns", "long path"],
)
def test_config_fits_a_narrow_window_and_a_long_path(columns: int, folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    file = tmp_path / folder / "mine.toml"
    file.write_text("[tts]\nvoice = 'de_DE-thorsten-medium'\n")
    done = repartee("config", "--config", file, env={**os.environ, "COLUMNS": str(columns)})
    assert max(map(len, done.stdout.splitlines())) <= columns
    pieces = "".join(done.stdout.split())
    assert '"auto"' in done.stdout
    assert "de_DE" in pieces
    assert "…" not in pieces


@named_cases(
    ("arguments", "said"),
    {
        "unknown setting": (("config", "--set", "turn.hangover=3"), "turn.hangover"),
        "missing file": (("config", "--config", "missing.toml"), "missing.toml"),
        "missing recording": (("demo", "--wav", "missing.wav"), "missing.wav does not exist"),
        "unknown conversation": (("talk", "20260101"), "talk --resume 20260101"),
        "unknown recognizer": (("demo", "--stt", "nope"), '--stt "nope": must be "auto", "faster-whisper" or "ray"'),
        "unknown voice": (("demo", "--tts", "nope"), '--tts "nope": must be "auto", "espeak-ng", '),
        "invalid host": (("serve", "--host", "a b"), '--host "a b": must be a host name'),
        "port out of range": (
            ("serve", "--port", "99999"),
            '--port "99999": must be 0 or a whole number from 1 to 65535',
        ),
        "unknown mode": (("talk", "--mode", "nope"), '--mode "nope": must be "open", "push-to-talk" or "wake"'),
        "unknown echo setting": (
            ("talk", "--echo", "nope"),
            '--echo "nope": must be "auto", "cancel", "headphones" or "half-duplex"',
        ),
    },
)
def test_user_error_is_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = repartee(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("repartee: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_guide_shows_the_waterfall_as_it_is_printed() -> None:
    root = Path(__file__).parents[3]
    example = (root / "docs" / "traces.md").read_text(encoding="utf-8").partition("    $ repartee ")[2]
    command, _, rest = example.partition("\n")
    done = repartee(*command.split(), cwd=root)
    printed = textwrap.indent(done.stdout, "    ")
    assert len(printed.splitlines()) > 20
    assert rest.startswith(printed)


@pytest.mark.parametrize(("command", "encoding"), [("show", "ascii"), ("report", "cp1252")])
def test_limited_output_encoding_causes_no_error(command: str, encoding: str) -> None:
    done = subprocess.run(
        [REPARTEE, "trace", command, DEMO],
        capture_output=True,
        timeout=50,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?" in done.stdout
    assert done.stdout.decode(encoding)


def test_program_without_console_prints_nothing() -> None:
    none = "import sys; sys.stdout = sys.stderr = None; sys.argv = ['repartee', 'config']"
    code = f"{none}\nfrom repartee.cli import main\nmain()"
    assert subprocess.run([sys.executable, "-c", code], timeout=50, check=False).returncode == 0


@named_cases(
    ("arguments", "said"),
    {
        "config": (("config", "--config=~/missing.toml"), "{home}/missing.toml"),
        "demo recording": (("demo", "--wav=~/missing.wav"), "{home}/missing.wav does not exist"),
        "demo output": (("demo", "--out=~/file/out"), "{home}/file/out cannot be created"),
        "bench manifest": (("bench", "engines", "--manifest=~/missing.jsonl"), "{home}/missing.jsonl"),
        "HTML report": (("trace", "report", str(DEMO), "--html=~/a.jsonl"), "{home}/a.jsonl has the suffix of a trace"),
        "endpoint picture": (("endpoints", "--svg=~/file", "--config=~/file"), "{home}/file is the configuration file"),
        "empty config": (("config", "--config="), "a path is missing"),
        "unknown user": (("config", "--config=~nobody-of-this-name/a.toml"), "there is no such home folder"),
    },
)
def test_home_is_expanded_where_the_shell_does_not(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    recognizer = [part for value in phrase_settings() for part in ("--set", value)] if arguments[0] == "demo" else []
    done = repartee(*arguments, *recognizer, cwd=tmp_path)
    assert done.returncode == 2
    assert said.format(home=tmp_path) in done.stderr


@pytest.mark.parametrize("module", ["typer", "assistant.models.needs"])
def test_ctrl_c_during_start_shows_no_traceback(module: str) -> None:
    code = f"""
import signal, sys

class Pressed:
    def find_spec(name, *_rest):
        if name == "{module}":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Pressed)
from repartee.program import main
sys.argv = ["repartee", "config"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_console_script_of_an_older_installation_names_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert "run `make setup`" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    "arguments", [("--help",), ("trace", "report", DEMO, "--json")], ids=["help", "report as JSON"]
)
def test_full_disk_for_the_output_is_one_line(arguments: tuple[str | Path, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([REPARTEE, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=50, check=False)
    assert done.returncode == 1
    assert done.stderr == b"repartee: the output cannot be written (No space left on device)\n"


def test_closed_pipe_shows_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([REPARTEE, "config"], stdout=writing, stderr=subprocess.PIPE, timeout=50, check=False)
    os.close(writing)
    assert done.stderr == b""
