"""Declaration of a skill: the object that its package offers as an entry point of the group `repartee.skills`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from declarations.settings import NoSettings

Service = Literal["home", "weather"]


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: it answers requests without a language model.

    Attributes:
        name: Name of the entry point.
        make: Returns a `SentenceSkill` or a `MatchingSkill`, given a `SkillRequest` (`assistant.skills.kinds`). It
            imports what the skill needs.
        about: One clause for the list of engines.
        package: The package with a file LANGUAGE.yaml of each language: its sentences and its answers.
        languages: Codes of these languages.
        settings: Dataclass of its section [skills.NAME], with a `KeyInfo` for each field.
        needs: Services that it uses. Without one of them in the configuration, the skill is not used. One that needs
            the home is asked for users of the home only, not for telephone callers and client secrets.
        before_llm: Whether it answers before a language model. If not, it answers where there is no language model.
        shares_sentences: Whether its sentences are in one table with those of the other skills that share them: they
            are matched together, and refer to each other's lists and rules.
        order: Skills are asked, and named in the answer to "What can you do?", in ascending order, those of other
            packages after those of the program.
    """

    name: str
    make: Callable[..., object]
    about: str
    package: str
    languages: tuple[str, ...]
    settings: type = NoSettings
    needs: frozenset[Service] = frozenset()
    before_llm: bool = True
    shares_sentences: bool = False
    order: int = 100
