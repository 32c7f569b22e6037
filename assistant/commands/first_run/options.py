"""Answers that are given on the command line of `repartee init`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InitOptions:
    """Answers given on the command line; None: asked, or with `yes` what is found.

    Attributes:
        language: Code of the language.
        voice: Name of an installed voice.
        llm: auto, local, skills, the address of a service, or the name of a cloud or a found server.
        model: Its model.
        api_key_env: Environment variable of its key.
        remember: Whether `repartee talk` stores conversations.
        yes: Whether to ask nothing.
    """

    language: str | None = None
    voice: str | None = None
    llm: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    remember: bool | None = None
    yes: bool = False
