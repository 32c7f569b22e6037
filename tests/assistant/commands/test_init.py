"""`repartee init`: the first steps in the terminal."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.programs import program
from support.services import llm_server

from assistant.commands import init as init_command
from assistant.commands.first_run.options import InitOptions
from assistant.commands.first_run.prompts import Prompts
from assistant.commands.init import NO_TERMINAL, init
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.config.settings import Settings

KEY = "sk-verysecret-123"
MODELS = {"object": "list", "data": [{"id": "small", "object": "model"}, {"id": "large", "object": "model"}]}


@dataclass
class Typist:
    """Answers the questions in order, and keeps what was shown."""

    answers: Sequence[str]
    questions: list[str] = field(default_factory=list)
    secrets: int = 0
    console: Console = field(default_factory=lambda: Console(file=StringIO(), width=100, highlight=False))

    def read(self, prompt: str) -> str:
        self.questions.append(prompt)
        if len(self.questions) > len(self.answers):
            raise EOFError
        return self.answers[len(self.questions) - 1]

    def read_secret(self, prompt: str) -> str:
        self.secrets += 1
        return self.read(prompt)

    @property
    def prompts(self) -> Prompts:
        return Prompts(self.console, self.read, self.read_secret)

    @property
    def shown(self) -> str:
        assert isinstance(self.console.file, StringIO)
        return self.console.file.getvalue()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "config.toml"


def run(file: Path, typist: Typist, options: InitOptions | None = None, **environ: str) -> Settings:
    init(options or InitOptions(), file, environ, typist.console, prompts=typist.prompts, ports=())
    return settings(file)


def settings(file: Path) -> Settings:
    return load_settings(file if file.exists() else None, {}, ()).settings


def test_enter_at_every_question_changes_nothing(file: Path) -> None:
    # language, voice, microphone (there is none), who answers, conversations
    typist = Typist(["", "", "", "", ""])
    run(file, typist)
    assert not file.exists()
    assert "nothing to change" in typist.shown
    assert "not checked: no microphone was found" in typist.shown
    assert [question.partition(" [")[0] for question in typist.questions] == [
        "Language",
        "Voice",
        "Press Enter and say a sentence; it takes 4 s: ",
        "Who answers",
        "Keep conversations on this machine (to continue one: `talk --resume`)?",
    ]


def test_every_question_can_be_skipped(file: Path) -> None:
    run(file, typist := Typist(["s"] * 4))
    assert not file.exists()
    assert len(typist.questions) == 4


def test_answers_are_written_and_comments_stay(file: Path) -> None:
    file.write_text("# mine\n[turn]\nprofile = 'patient'  # slow\n", encoding="utf-8")
    found = run(file, typist := Typist(["nonsense!", "de", "7", "", "s", "", "x", "y"]))
    assert (found.assistant.language, found.talk.remember) == ("de", True)
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# mine\n[turn]\nprofile = 'patient'  # slow\n")
    assert 'the language "nonsense!" is not known; name it as in German, or by its code as in de' in typist.shown
    assert "Type a number from 1 to 2, or Enter." in typist.shown
    assert "Type y for yes or n for no." in typist.shown
    assert f"written to {file}" in typist.shown
    assert "after a restart: stop and start `repartee serve`" in typist.shown
    assert "still missing: speech to text: repartee models pull base" in typist.shown


def test_language_without_skills_is_pointed_out(file: Path) -> None:
    run(file, typist := Typist(["nl", "", "s", "s", "s"]))
    assert "The built-in skills do not know Dutch: a language model has to answer." in typist.shown


def test_language_of_the_environment_is_offered(file: Path) -> None:
    found = run(file, typist := Typist(["", "", "s", "s", "s"]), LANG="de_DE.UTF-8")
    assert typist.questions[0] == "Language [de]: "
    assert found.assistant.language == "de"


def test_configured_language_is_offered_before_that_of_the_environment(file: Path) -> None:
    file.write_text("[assistant]\nlanguage = 'en'\n", encoding="utf-8")
    run(file, typist := Typist(["", "", "s", "s", "s"]), LANG="de_DE.UTF-8")
    assert typist.questions[0] == "Language [en]: "


@pytest.mark.parametrize("answers", [["de"], ["de", "", "s", "2"]], ids=["early", "late"])
def test_end_of_input_changes_nothing(file: Path, answers: list[str]) -> None:
    typist = Typist(answers)
    with pytest.raises(SystemExit) as ended:
        run(file, typist)
    assert ended.value.code == 130
    assert typist.shown.endswith("Nothing was changed.\n")
    assert not file.exists()


async def _with_service(
    file: Path, typist: Typist, *, options: InitOptions | None = None
) -> tuple[Settings, list[str]]:
    """Runs the first steps beside a service; "URL" in an answer is its address. Returns the keys that it was sent."""
    async with llm_server.serving(llm_server.answer("one ", "two")) as server:
        server.models = llm_server.status(200, MODELS)
        typist.answers = [answer.replace("URL", server.url) for answer in typist.answers]
        found = await asyncio.to_thread(run, file, typist, options)
        return found, [seen.headers.get("authorization", "") for seen in server.posts]


def test_service_is_asked_for_its_models_and_one_question(file: Path) -> None:
    typist = Typist(["s", "s", "6", "URL", "", "large", "s"])
    found, keys = asyncio.run(_with_service(file, typist))
    (endpoint,) = found.llm.endpoints
    assert (endpoint.name, endpoint.model, endpoint.api_key_env) == ("127.0.0.1", "large", "")
    assert keys == [""]
    assert "Models: small, large" in typist.shown
    assert "It answers: first words after" in typist.shown


def test_pasted_key_is_stored_privately_on_request(file: Path) -> None:
    typist = Typist(["s", "s", "6", "URL", "MY_KEY", KEY, "y", "", "s"])
    found, keys = asyncio.run(_with_service(file, typist))
    (endpoint,) = found.llm.endpoints
    assert endpoint.headers.values == {"Authorization": f"Bearer {KEY}"}
    assert keys == [f"Bearer {KEY}"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert typist.secrets == 1
    assert KEY not in typist.shown + "".join(typist.questions)


def test_pasted_key_is_not_stored_without_a_yes(file: Path) -> None:
    typist = Typist(["s", "s", "6", "URL", "MY_KEY", KEY, "", "", "s"])
    found, keys = asyncio.run(_with_service(file, typist))
    (endpoint,) = found.llm.endpoints
    assert endpoint.api_key_env == "MY_KEY"
    assert keys == [f"Bearer {KEY}"]  # of the test
    assert KEY not in file.read_text(encoding="utf-8") + typist.shown
    assert "Not stored. Before the next start: export MY_KEY=…" in typist.shown


def test_service_that_does_not_answer_is_used_only_on_request(file: Path) -> None:
    typist = Typist(["s", "s", "6", "ftp://x", "http://127.0.0.1:9/v1", "", "m", "", "s"])
    found = run(file, typist)
    assert found.llm.endpoints == ()
    assert "Type an address that begins with http:// or https://." in typist.shown
    assert "It does not answer: " in typist.shown


def test_microphone_is_judged_and_can_be_checked_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = iter([-80.0, -20.0])

    async def heard(*_given: object) -> float:
        return next(levels)

    monkeypatch.setattr(init_command, "loudest_level", heard)
    run(file, typist := Typist(["s", "", "y", "", "s", "s"]))
    assert "No signal: the microphone is muted" in typist.shown
    assert "Fine: the microphone hears you well." in typist.shown


# ---- without questions ----


def silent(file: Path, **options: object) -> tuple[Settings, str]:
    console = Console(file=StringIO(), width=100, highlight=False)
    init(InitOptions(yes=True, **options), file, {}, console, ports=())  # type: ignore[arg-type]
    assert isinstance(console.file, StringIO)
    return settings(file), console.file.getvalue()


def test_yes_takes_what_is_found(file: Path) -> None:
    found, shown = silent(file)
    assert not file.exists()
    assert found.llm.local_model == "auto"
    assert "answers: Only the built-in skills" in shown


def test_yes_writes_only_what_options_choose(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TTS_ENGINE": "espeak-ng", "ASSISTANT_LANGUAGE": "fr", "TALK_REMEMBER": "true"}.items():
        monkeypatch.setenv(f"REPARTEE_{name}", value)
    console = Console(file=StringIO(), width=100, highlight=False)
    init(InitOptions(yes=True), file, os.environ, console, ports=())
    assert not file.exists()
    init(InitOptions(yes=True, language="de"), file, os.environ, console, ports=())
    assert file.read_text(encoding="utf-8") == '[assistant]\nlanguage = "de"\n'


def test_enter_writes_no_value_of_an_environment_variable(file: Path) -> None:
    environ = {"TTS_ENGINE": "espeak-ng", "ASSISTANT_LANGUAGE": "fr", "TALK_REMEMBER": "true"}
    run(file, Typist([""] * 5), None, **{f"REPARTEE_{name}": value for name, value in environ.items()})
    assert not file.exists()


def test_options_answer_the_questions(file: Path) -> None:
    found, _ = silent(file, language="de", voice="espeak-ng", llm="skills", remember=True)
    assert (found.assistant.language, found.talk.remember) == ("de", True)
    found, shown = silent(file, llm="openai", model="gpt-x")
    (endpoint,) = found.llm.endpoints
    assert (endpoint.model, endpoint.api_key_env) == ("gpt-x", "OPENAI_API_KEY")
    assert "Before the next start: export OPENAI_API_KEY=…" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"language": "dee"}, r'--language: the language "dee" is not known; did you mean de \(German\)\?'),
        ({"voice": "x"}, r'--voice "x": the voices of en on this machine are .*pico-en-US, pico-en-GB, espeak-ng'),
        ({"language": "de", "voice": "de_DE-thorsten-medium"}, "or fetch it: repartee models pull de_DE-thorsten-med"),
        ({"llm": "chatgtp"}, r'--llm "chatgtp": must be auto, an address, or one of local, openai, '),
        ({"llm": "http://127.0.0.1:9/v1"}, "lists no models: name one with --model"),
        ({"llm": "openai", "api_key_env": "x"}, "must have a name of capitals"),
    ],
)
def test_option_that_cannot_be_used_is_refused(file: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        silent(file, **options)
    assert not file.exists()


def test_pipe_gets_what_is_needed_and_status_2(tmp_path: Path) -> None:
    done = program.repartee("init", cwd=tmp_path, env={**os.environ, "REPARTEE_CONFIG": "mine.toml"})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"repartee: {NO_TERMINAL}\n")
    done = program.repartee(
        "init", "--yes", "--remember", cwd=tmp_path, env={**os.environ, "REPARTEE_CONFIG": "mine.toml"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == "[talk]\nremember = true\n"
