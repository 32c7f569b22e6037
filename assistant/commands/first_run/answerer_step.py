"""The question "who answers?" of `repartee init`: a choice, a model, a key, and a test."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.text import Text

from assistant.commands.first_run.options import InitOptions
from assistant.commands.first_run.prompts import Prompts, Skipped
from assistant.config.edit import ConfigFile
from assistant.config.errors import ConfigError
from assistant.config.settings import Settings
from assistant.endpoint_probe.local_servers import AUTO, LOCAL, SKILLS, shortened
from assistant.first_run.answerers import KEY_VARIABLE, Answerer, answerers, default_of
from assistant.first_run.plan import Answers, endpoint_of
from assistant.first_run.service import is_address, models_of, problem_of
from assistant.models.errors import ModelError
from assistant.models.pull import pull
from llm.discovery import discover

_MANY = 20


@dataclass(slots=True)
class AnswererStep:
    """Asks who answers. Without `prompts` it takes what the options say or what is found.

    Attributes:
        options: Answers given in advance.
        file: The file that will be changed.
        settings: The settings in effect, with the language of the first question.
        environ: Environment variables: keys of clouds.
        console: Shows what is found.
        prompts: Asks the user.
        ports: Local ports to search for servers.
    """

    options: InitOptions
    file: ConfigFile
    settings: Settings
    environ: Mapping[str, str]
    console: Console
    prompts: Prompts | None
    ports: Sequence[int]

    def run(self, answers: Answers) -> Answers:
        """Asks who answers, and tests the answer. Raises ConfigError."""
        servers = asyncio.run(discover(self.ports))
        possible = answerers(self.settings, servers, self.environ)
        if self.options.llm is not None:
            answers = replace(answers, answerer=_answerer_named(self.options.llm, possible))
            return self._with_model(answers, None)
        if self.prompts is None:
            who = default_of(possible)
            self._say(f"answers: {who.label}")
            if who.kind in {"keep", "skills"}:
                return answers
            return self._with_model(replace(answers, answerer=who), None)
        try:
            default = possible.index(default_of(possible))
            chosen = possible[self.prompts.choose("Who answers", [answerer.label for answerer in possible], default)]
            return self._with_model(replace(answers, answerer=chosen), self.prompts)
        except Skipped:
            return answers

    def _with_model(self, answers: Answers, prompts: Prompts | None) -> Answers:
        """Completes the answer with a model and a key, and tests it. Raises ConfigError, Skipped."""
        who = answers.answerer
        assert who is not None
        if who.kind == "download":
            self._download(who, prompts)
        if who.kind in {"keep", "skills", "local", "download"}:
            return replace(answers, model=self.options.model or next(iter(who.models), ""))
        if who.kind == "url" and not who.url:
            assert prompts is not None
            who = replace(who, url=_ask_url(prompts))
            answers = replace(answers, answerer=who)
        answers = self._with_key(answers, prompts)
        answers = self._with_listed_model(answers, prompts)
        problem = self._test(answers)
        if problem and prompts is not None and not prompts.confirm("Use it all the same?", default=False):
            return replace(answers, answerer=None, model="", variable="", key="")
        return answers

    def _with_key(self, answers: Answers, prompts: Prompts | None) -> Answers:
        who = answers.answerer
        assert who is not None
        if self.options.api_key_env is not None:
            return replace(answers, variable=self.options.api_key_env)
        variable = who.variable
        if prompts is None or who.kind == "server":
            if variable and not self.environ.get(variable):
                self._say(f"Before the next start: export {variable}=…", "yellow")
            return replace(answers, variable=variable)
        while True:
            variable = prompts.ask(
                "Environment variable that holds the key" + ("" if variable else " (Enter: no key)"), variable
            )
            if not variable or KEY_VARIABLE.fullmatch(variable):
                break
            self._say("Type the name of a variable, such as OPENAI_API_KEY: capitals, digits and _.")
        if not variable or self.environ.get(variable):
            return replace(answers, variable=variable)
        key = prompts.secret(
            f"{variable} is not set. Paste the key (it is not shown), or Enter to set {variable} later"
        )
        if not key:
            self._say(f"Before the next start: export {variable}=…", "yellow")
            return replace(answers, variable=variable)
        where = f"Store the key in {self.file.path}? Only you can read that file then"
        if prompts.confirm(where, default=False):
            return replace(answers, key=key)
        self._say(f"Not stored. Before the next start: export {variable}=…", "yellow")
        self.environ = {**self.environ, variable: key}  # for the test
        return replace(answers, variable=variable)

    def _with_listed_model(self, answers: Answers, prompts: Prompts | None) -> Answers:
        who = answers.answerer
        assert who is not None
        if self.options.model is not None:
            return replace(answers, model=self.options.model)
        listed: tuple[str, ...] = who.models
        key = answers.key or self.environ.get(answers.variable) or None
        if who.kind in {"cloud", "url"} and (key is not None or not answers.variable):
            listed = asyncio.run(models_of(who.name, who.url, key)) or listed
        default = who.models[0] if who.models and (who.models[0] in listed or who.kind == "server") else ""
        default = default or next(iter(listed), "")
        if prompts is None:
            if not default:
                raise ConfigError([f"{who.url} lists no models: name one with --model"])
            return replace(answers, model=default)
        if len(listed) > 1:
            self._say(f"Models: {shortened(listed, _MANY)}")
        model = ""
        while not model:
            model = prompts.ask("Model", default)
        return replace(answers, model=model)

    def _download(self, who: Answerer, prompts: Prompts | None) -> None:
        if not who.models:
            raise ConfigError([f"{who.label}; choose another answer"])
        if prompts is not None and not prompts.confirm("Download it now?", default=True):
            self._say(f"Later: repartee models pull {who.models[0]}", "yellow")
            return
        try:
            pull(who.models[0], self.console)
        except ModelError as error:
            if prompts is None:
                raise
            self._say(str(error), "yellow")

    def _test(self, answers: Answers) -> str:
        """Asks the service one short question and reports the result. Returns the problem; "" if it answers."""
        endpoint = endpoint_of(answers, self.file.settings())
        if endpoint is None:
            return ""
        if endpoint.api_key_env and not self.environ.get(endpoint.api_key_env):
            return ""  # reported already, or by the next start
        self._say(f"asking {endpoint.model} one short question …", "dim")
        problem, first_token_ms = asyncio.run(problem_of(endpoint, self.settings, self.environ, answers.key))
        if problem:
            self._say(f"It does not answer: {problem}", "yellow")
        else:
            self._say(f"It answers: first words after {first_token_ms:.0f} ms.", "green")
        return problem

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(Text(line, style=style), soft_wrap=True)


def _ask_url(prompts: Prompts) -> str:
    while True:
        url = prompts.ask("Address, such as https://api.example.com/v1").strip()
        if is_address(url):
            return url
        prompts.say("Type an address that begins with http:// or https://.")


def _answerer_named(llm: str, possible: Sequence[Answerer]) -> Answerer:
    """Interprets --llm. Raises ConfigError."""
    if is_address(llm):
        return Answerer("url", "url", llm, llm)
    if llm == AUTO:
        offered = [
            answerer for kind in ("server", "local", "keep", "skills") for answerer in possible if answerer.kind == kind
        ]
        return offered[0] if offered else possible[0]
    known = [answerer for answerer in possible if answerer.kind != "url"]
    names = [LOCAL if answerer.kind == "download" else answerer.name for answerer in known]
    if llm in names:
        return known[names.index(llm)]
    if llm == SKILLS:
        raise ConfigError(
            ["--llm skills: endpoints are configured; remove them first with `repartee endpoints remove`"]
        )
    raise ConfigError([f'--llm "{llm}": must be {AUTO}, an address, or one of {", ".join(dict.fromkeys(names))}'])
