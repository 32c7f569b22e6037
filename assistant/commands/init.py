"""Implements `repartee init`: the first steps in the terminal. It writes the user's configuration at the end."""

import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assistant.commands.devices import meter
from assistant.commands.first_run.answerer_step import AnswererStep
from assistant.commands.first_run.language_names import language_code, offered_language, unknown_language
from assistant.commands.first_run.options import InitOptions
from assistant.commands.first_run.prompts import Prompts, Skipped
from assistant.commands.first_run.sample import loudest_level, play_sample, sample_of
from assistant.config.edit import ConfigFile, file_to_edit
from assistant.config.errors import ConfigError
from assistant.config.files import VARIABLE
from assistant.config.loading import Loaded, load_settings
from assistant.config.settings import DEFAULTS, Settings
from assistant.config.words import config_option
from assistant.first_run.microphone import CHECK_S, judge
from assistant.first_run.plan import (
    Answers,
    Change,
    change_of,
    missing_models,
    overridden,
    shown_values,
)
from assistant.first_run.voices import (
    SKILL_LANGUAGES,
    VoiceOption,
    base_of,
    current_voice,
    language_name,
    languages,
    more_voices,
    voice_options,
)
from audio.errors import AudioError
from audio.noisy_libraries import hushed
from llm.discovery import PORTS

NO_TERMINAL = (
    "init asks questions, and its input is no terminal: run it in a terminal, or add --yes to take what is found, and "
    "--language, --voice, --llm, --model, --api-key-env or --remember to choose"
)


def init(
    options: InitOptions,
    config: Path | None,
    environ: Mapping[str, str],
    console: Console,
    *,
    prompts: Prompts | None = None,
    ports: Sequence[int] = PORTS,
) -> None:
    """Runs the first steps.

    Args:
        options: Answers given in advance.
        config: The file to change; None: the user's.
        environ: Environment variables: keys of clouds.
        console: Shows what is found and done.
        prompts: Asks the user; None: the terminal does, if there is one.
        ports: Local ports to search for servers.

    Raises:
        ConfigError: An answer cannot be used, the file cannot be changed, or there is no terminal to ask in.
    """
    file = file_to_edit(config, environ)
    if prompts is None and not options.yes:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            raise ConfigError([NO_TERMINAL])
        prompts = Prompts(console, input, getpass.getpass)
    if file.exists:
        loaded = load_settings(config, environ, ())
    else:  # a file that was named need not exist yet
        loaded = load_settings(None, {name: value for name, value in environ.items() if name != VARIABLE}, ())
    setup = _Setup(options, file, loaded, environ, console, prompts, config, ports)
    try:
        setup.run()
    except (KeyboardInterrupt, EOFError):
        console.print()
        console.print("Nothing was changed.")
        raise SystemExit(130) from None


@dataclass(slots=True)
class _Setup:
    """Runs the first steps once. Without `prompts` it asks nothing."""

    options: InitOptions
    file: ConfigFile
    loaded: Loaded
    environ: Mapping[str, str]
    console: Console
    prompts: Prompts | None
    config: Path | None
    ports: Sequence[int]

    def run(self) -> None:
        """Asks, shows what changes, writes it and says what is next. Raises ConfigError."""
        if self.prompts is not None:
            self._say(
                "First steps: four short questions. Enter takes the answer in brackets, s skips a question, Ctrl-C "
                "ends without a change. You can run it again at any time."
            )
        answers = self._voice(Answers())
        self._microphone()
        answers = self._answerer(answers)
        answers = self._remember(answers)
        own = self.file.settings()
        change = change_of(answers, own, in_effect=self._not_chosen(own))
        self._write(change)
        self._next(change)

    # ---- 1: language and voice ----

    def _voice(self, answers: Answers) -> Answers:
        self._heading("1 of 4  Language and voice")
        settings = self.loaded.settings
        language = settings.assistant.language
        if self.options.language is not None:
            language = _language_option(self.options.language)
        try:
            if self.prompts is not None and self.options.language is None:
                language = self._ask_language(self.prompts, self._offered_language())
            if base_of(language) not in SKILL_LANGUAGES:
                self._say(
                    f"The built-in skills do not know {language_name(language)}: a language model has to answer.",
                    "yellow",
                )
            voices = voice_options(language)
            if self.prompts is not None or self.options.language is not None:
                answers = replace(answers, language=language)
            if self.options.voice is not None:
                return replace(answers, voice=_voice_named(self.options.voice, voices, language))
            voice = current_voice(settings, language, voices)
            if self.prompts is not None:
                voice = self._ask_voice(self.prompts, language, voices, voice)
            else:
                self._say(f"language {language}, voice {voice.name}")
                return answers
            return replace(answers, voice=voice)
        except Skipped:
            return answers

    def _offered_language(self) -> str:
        """Returns the configured language; without one, that of the user's environment."""
        language = self.loaded.settings.assistant.language
        origin = self.loaded.origin["assistant.language"]
        named = origin != "default" and (self.file.exists or origin.startswith("environment"))  # not the project's file
        if named or language != DEFAULTS.assistant.language:
            return language
        return offered_language(self.environ) or language

    def _ask_language(self, prompts: Prompts, current: str) -> str:
        offered = languages(current)
        self._say("Languages: " + ", ".join(f"{code} {language_name(code)}" for code in offered) + ", or another one")
        while True:
            typed = prompts.ask("Language", current)
            if typed == current:
                return current
            if (code := language_code(typed)) is not None:
                return code
            self._say(unknown_language(typed), "yellow")

    def _ask_voice(
        self, prompts: Prompts, language: str, voices: Sequence[VoiceOption], current: VoiceOption
    ) -> VoiceOption:
        self._say("Type the number of a voice to hear it; Enter takes the one in brackets.")
        for number, voice in enumerate(voices, 1):
            self._say(f"  {number:>2}  {voice.label}")
        if more := more_voices(language):
            self._say(
                f"More voices: repartee models pull {more[0]}" + (f", or {', '.join(more[1:])}" if more[1:] else "")
            )
        position = voices.index(current)
        while typed := prompts.ask(f"Voice [{position + 1}]"):
            chosen = int(typed) - 1 if typed.isdecimal() and len(typed) < 4 else -1
            if chosen in range(len(voices)):
                position = chosen
                self._let_hear(voices[position], language)
            else:
                self._say(f"Type a number from 1 to {len(voices)}, or Enter.")
        return voices[position]

    def _let_hear(self, voice: VoiceOption, language: str) -> None:
        try:
            with hushed():
                asyncio.run(_hear(voice, language, self.loaded.settings.audio.output))
        except AudioError as error:
            self._say(f"not played: {error}", "yellow")

    # ---- 2: microphone ----

    def _microphone(self) -> None:
        if self.prompts is None:
            return
        self._heading("2 of 4  Microphone")
        try:
            while True:
                self.prompts.ask(f"Press Enter and say a sentence; it takes {CHECK_S:g} s")
                if self._check_microphone() or not self.prompts.confirm("Check it again?", default=True):
                    return
        except Skipped:
            return

    def _check_microphone(self) -> bool:
        """Shows the level and the verdict. Returns whether the microphone is fine, or is not there."""
        try:
            with Live(console=self.console, auto_refresh=False, transient=True) as live, hushed():
                loudest_dbfs = asyncio.run(
                    loudest_level(
                        self.loaded.settings.audio.input,
                        CHECK_S,
                        lambda level: live.update(Text(meter(level)), refresh=True),
                    )
                )
        except AudioError as error:
            self._say(f"not checked: {error}", "yellow")
            self._say("Without a microphone, type in `repartee talk`, or use the page of `repartee serve`.")
            return True
        verdict = judge(loudest_dbfs)
        self._say(verdict.text, "green" if verdict.verdict == "fine" else "yellow")
        if verdict.verdict != "fine":
            self._say("`repartee devices` lists the microphones; audio.input in the configuration chooses one.")
        return verdict.verdict == "fine"

    # ---- 3 and 4: who answers, conversations ----

    def _answerer(self, answers: Answers) -> Answers:
        self._heading("3 of 4  Who answers")
        settings = self._settings_so_far(answers)
        step = AnswererStep(self.options, self.file, settings, self.environ, self.console, self.prompts, self.ports)
        return step.run(answers)

    def _remember(self, answers: Answers) -> Answers:
        if self.options.remember is not None:
            return replace(answers, remember=self.options.remember)
        if self.prompts is None:
            return answers
        self._heading("4 of 4  Conversations")
        try:
            current = self.loaded.settings.talk.remember
            question = "Keep conversations on this machine (to continue one: `talk --resume`)?"
            return replace(answers, remember=self.prompts.confirm(question, default=current))
        except Skipped:
            return answers

    # ---- the end ----

    def _write(self, change: Change) -> None:
        self._heading("")
        if change.is_empty:
            self._say(f"{self.file.path}: nothing to change")
            return
        for line in shown_values(change):
            self._say(f"  {line}")
        self.file.change(change.values, change.endpoint, private=change.private)
        private = ", readable by you only" if change.private else ""
        self._say(f"written to {self.file.path}{private}")
        for name in overridden(change.values, self.loaded.origin):
            self._say(f"but the environment variable {name} is set and replaces it", "yellow")
        self._say("A server that runs already uses it after a restart: stop and start `repartee serve`.", "dim")

    def _next(self, change: Change) -> None:
        settings = change.applied_to(self.loaded.settings)
        for model in missing_models(settings):
            self._say(f"still missing: {model.purpose}: {model.remedy}", "yellow")
        more = config_option(self.config)
        self._say(f"next: repartee talk{more}, or repartee serve{more} for the page")

    def _not_chosen(self, own: Settings) -> Settings:
        """Returns the settings in effect that the questions offer. Settings from the command's options are left out."""
        given, settings = self.options, self.loaded.settings
        return replace(
            settings,
            assistant=settings.assistant if given.language is None else own.assistant,
            tts=settings.tts if given.voice is None else own.tts,
            talk=settings.talk if given.remember is None else own.talk,
        )

    def _settings_so_far(self, answers: Answers) -> Settings:
        settings = self.loaded.settings
        if answers.language is None:
            return settings
        return replace(settings, assistant=replace(settings.assistant, language=answers.language))

    def _heading(self, line: str) -> None:
        if self.prompts is not None:
            self._say()
        if line and self.prompts is not None:
            self._say(line, "bold")

    def _say(self, line: str = "", style: str = "") -> None:
        self.console.print(Text(line, style=style), soft_wrap=True)


async def _hear(voice: VoiceOption, language: str, device: str) -> None:
    await play_sample(await sample_of(voice, language), device)


def _language_option(typed: str) -> str:
    if (code := language_code(typed)) is None:
        raise ConfigError([f"--language: {unknown_language(typed)}"])
    return code


def _voice_named(name: str, voices: Sequence[VoiceOption], language: str) -> VoiceOption:
    voice = next((voice for voice in voices if voice.name == name), None)
    if voice is None:
        known = ", ".join(voice.name for voice in voices)
        pulled = f", or fetch it: repartee models pull {name}" if name in more_voices(language) else ""
        raise ConfigError([f'--voice "{name}": the voices of {language} on this machine are {known}{pulled}'])
    return voice
