"""Derives the changes of the configuration and the remaining steps from the answers. Reads the disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from assistant.config.endpoint_settings import RESERVED, EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.keys import Value
from assistant.config.settings import Settings
from assistant.config.toml_table import Headers
from assistant.config.words import spelled
from assistant.first_run.answerers import KEY_VARIABLE, Answerer, LocalEndpoint
from assistant.first_run.voices import VoiceOption
from assistant.models.needs import at_hand, missing
from assistant.registry.protocols import protocol_on_this_machine
from assistant.setup import build
from assistant.setup.derived_settings import needs

MAX_KEY_CHARS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The user's answers; None: the question was skipped.

    Attributes:
        language: Code of the language.
        voice: The voice.
        answerer: Who answers.
        model: Its model; "" for the first one that it lists.
        variable: Environment variable of its key; "" for none.
        key: The key itself, to be stored in the configuration; "" for none.
        remember: Whether `repartee talk` stores conversations.
        microphone: Setting audio.input.
    """

    language: str | None = None
    voice: VoiceOption | None = None
    answerer: Answerer | None = None
    model: str = ""
    variable: str = ""
    key: str = field(default="", repr=False)
    remember: bool | None = None
    microphone: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the configuration.

    Attributes:
        values: New values by dotted key; only values that differ.
        endpoint: An endpoint that is added, or replaces the one of its name; None: none.
        private: Whether the endpoint contains a key.
    """

    values: Mapping[str, Value]
    endpoint: EndpointSection | None = None
    private: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.values and self.endpoint is None

    def applied_to(self, settings: Settings) -> Settings:
        """Returns the settings after the change. Raises ConfigError if a value is not allowed."""
        for dotted, value in self.values.items():
            section, _, name = dotted.partition(".")
            try:
                changed: dict[str, Any] = {section: replace(getattr(settings, section), **{name: value})}
            except ValueError as error:
                raise ConfigError([f"{section}.{error}"]) from error
            settings = replace(settings, **changed)
        if self.endpoint is not None:
            others = tuple(endpoint for endpoint in settings.llm.endpoints if endpoint.name != self.endpoint.name)
            settings = replace(settings, llm=replace(settings.llm, endpoints=(*others, self.endpoint)))
        return settings


def change_of(
    answers: Answers,
    own: Settings,
    local_endpoint: LocalEndpoint = build.local_endpoint,
    *,
    in_effect: Settings | None = None,
) -> Change:
    """Returns what the answers change in a configuration file.

    Args:
        answers: The user's answers.
        own: The settings of that file alone.
        local_endpoint: Returns the model on this machine.
        in_effect: The settings of this run, also by options and environment variables. The dialogs offer them, so an
            answer that equals them was not chosen, and is not written.

    Raises:
        ConfigError: An answer cannot be used. The text says why and never contains a key.
    """
    values: dict[str, Value] = {}
    if answers.language is not None:
        values["assistant.language"] = answers.language
        if answers.voice is None and answers.language != own.assistant.language:
            values["tts.voice"] = ""  # the voice of another language
    if answers.voice is not None:
        values |= answers.voice.values()
    if answers.remember is not None:
        values["talk.remember"] = answers.remember
    if answers.microphone is not None:
        values["audio.input"] = answers.microphone
    endpoint = endpoint_of(answers, own)
    if answers.answerer is not None and endpoint is None:
        # "off" only where it has an effect: a model that is downloaded later is meant to answer.
        language = answers.language or own.assistant.language
        spoken = replace(own, assistant=replace(own.assistant, language=language))
        if answers.answerer.kind == "skills" and local_endpoint(spoken)[0] is not None:
            values["llm.local_model"] = "off"
        if answers.answerer.kind in {"local", "download"} and own.llm.local_model == "off":
            values["llm.local_model"] = "auto"
    known = [own] if in_effect is None else [own, in_effect]
    change = Change(
        {key: value for key, value in values.items() if all(value != _value(settings, key) for settings in known)},
        None if endpoint in own.llm.endpoints else endpoint,
        bool(answers.key),
    )
    change.applied_to(own)
    return change


def endpoint_of(answers: Answers, own: Settings) -> EndpointSection | None:
    """Returns the endpoint that the answers describe; None if they need none. Raises ConfigError."""
    who = answers.answerer
    if who is None or who.kind in {"keep", "skills"}:
        return None
    model = answers.model or next(iter(who.models), "")
    if who.kind in {"local", "download"}:
        # Without endpoints, the settings use the best model that is downloaded.
        if not own.llm.endpoints:
            return None
        return _section(name=_free_name(who.name, own, ""), kind=protocol_on_this_machine().name, model=model)
    if answers.variable and not KEY_VARIABLE.fullmatch(answers.variable):
        raise ConfigError(
            ["the environment variable of the key must have a name of capitals, digits and _, such as OPENAI_API_KEY"]
        )
    if not model:
        raise ConfigError([f"{who.url} lists no models: name one"])
    name = _free_name(_host(who.url) if who.kind == "url" else who.name, own, who.url)
    if not answers.key:
        return _section(name=name, url=who.url, model=model, api_key_env=answers.variable)
    if len(answers.key) > MAX_KEY_CHARS or not answers.key.isascii() or not answers.key.isprintable():
        raise ConfigError(["the key contains characters that no key has; copy it again"])
    if " " in answers.key or "${" in answers.key:
        raise ConfigError(["the key contains characters that no key has; copy it again"])
    return _section(name=name, url=who.url, model=model, headers=Headers.of({"Authorization": f"Bearer {answers.key}"}))


@dataclass(frozen=True, slots=True)
class MissingModel:
    """A model that is left to download.

    Attributes:
        kind: Its kind.
        purpose: What it is for: "speech to text".
        remedy: How to get it: "repartee models pull base".
    """

    kind: str
    purpose: str
    remedy: str


def missing_models(settings: Settings) -> list[MissingModel]:
    """Returns what is left to download for these settings."""
    return [
        MissingModel(need.kind, need.purpose, missing(need).removeprefix("missing: "))
        for need in needs(settings)
        if at_hand(need) is None
    ]


def overridden(values: Mapping[str, Value], origin: Mapping[str, str]) -> list[str]:
    """Returns the environment variables that replace changed values."""
    prefix = "environment "
    names = [origin.get(key, "") for key in values]
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def _host(url: str) -> str:
    """Returns the host of an address, as the name of its endpoint."""
    try:
        return urlsplit(url).hostname or "server"
    except ValueError:  # an invalid address; the endpoint's check reports it
        return "server"


def _free_name(name: str, own: Settings, url: str) -> str:
    """Returns a name that no other endpoint has. An endpoint with the same address keeps its name."""
    taken = {endpoint.name: endpoint.url for endpoint in own.llm.endpoints}
    base_name, number = name, 1
    while base_name in RESERVED or taken.get(base_name, url) != url:
        number += 1
        base_name = f"{name}-{number}"
    return base_name


def _section(**values: Any) -> EndpointSection:
    try:
        return EndpointSection(**values)
    except ValueError as error:
        key = "headers" if "headers" in values else "endpoint"
        raise ConfigError(
            [f"{key}: {error}" if key == "endpoint" else "the key cannot be used; copy it again"]
        ) from None


def _value(settings: Settings, dotted: str) -> object:
    section, _, name = dotted.partition(".")
    value: object = getattr(getattr(settings, section), name)
    return value


def shown_values(change: Change) -> Sequence[str]:
    """Returns the new values for display, without secrets."""
    lines = [f"{key} = {spelled(value)}" for key, value in change.values.items()]
    if change.endpoint is not None:
        section = change.endpoint
        lines.append(
            f"LLM endpoint {section.name}: {section.model}"
            + (f" at {section.shown_url}" if section.url else " on this machine")
        )
    return lines
