"""Words around requests of one language, from the files of this package."""

from dataclasses import dataclass

from assistant.skills.dialog.taken_back import TakenBackWords, taken_back_words
from assistant.skills.languages.language import DIALOG, read_skill


@dataclass(frozen=True, slots=True)
class DialogWords:
    """Words around requests.

    Attributes:
        joints: Words between two requests, longest first: "and then".
        small: Words that do not name one of several entries: "the", "one", "timer".
        questions: First words of a question.
        statements: First words of a statement, which asks for nothing.
        acknowledgements: Complete utterances that ask for nothing: "okay".
        wishes: Words that make a request of a statement: "I want".
        continuing: Words before the part of the last request that changes, longest first: "what about".
        taken_back: Words that take a request back.
    """

    joints: tuple[str, ...]
    small: frozenset[str]
    questions: frozenset[str]
    statements: frozenset[str]
    acknowledgements: frozenset[str]
    wishes: frozenset[str]
    continuing: tuple[str, ...]
    taken_back: TakenBackWords

    def continued(self, text: str) -> str | None:
        """Returns what follows a word of `continuing` in `text`; None if it begins otherwise."""
        plain = " ".join(text.lower().replace(",", " ").strip(" .!?¿¡").split())
        return next(
            (plain[len(beginning) + 1 :] for beginning in self.continuing if plain.startswith(f"{beginning} ")), None
        )


def dialog_words(code: str) -> DialogWords:
    """Reads the words of a language. Raises OSError or yaml.YAMLError if the installation is broken."""
    data = read_skill(DIALOG, code)["words"]
    return DialogWords(
        tuple(sorted(data["joints"], key=len, reverse=True)),
        frozenset(data["small"].split()),
        frozenset(data["questions"].split()),
        frozenset(data["statements"].split()),
        frozenset(map(str, data["acknowledgements"])),
        frozenset(data["wishes"].split()),
        tuple(sorted(data["continuing"], key=len, reverse=True)),
        taken_back_words(data),
    )
