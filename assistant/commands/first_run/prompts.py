"""Plain questions in a terminal: each is a line of text with the default in brackets."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from assistant.support.console import wrapped_for

SKIP = "s"


class Skipped(Exception):  # noqa: N818 - no error: the user leaves a question out
    """The user skips a question."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Asks the user.

    Attributes:
        console: Shows the questions.
        read: Prints a prompt and returns a line. Raises EOFError when the input has ended.
        read_secret: The same without showing what is typed.
    """

    console: Console
    read: Callable[[str], str]
    read_secret: Callable[[str], str]

    def say(self, line: str = "", style: str = "") -> None:
        """Prints a line."""
        self.console.print(Text(line, style=style), soft_wrap=True)

    def ask(self, question: str, default: str = "") -> str:
        """Returns the typed text, or the default for an empty line. Raises Skipped for "s"."""
        shown = f"{question} [{default}]: " if default else f"{question}: "
        typed = self.read(wrapped_for(sys.stdout, shown)).strip()
        if typed.lower() == SKIP:
            raise Skipped
        return typed or default

    def secret(self, question: str) -> str:
        """Returns what was typed or pasted; it is not shown."""
        return self.read_secret(f"{question}: ").strip()

    def confirm(self, question: str, *, default: bool) -> bool:
        """Returns the answer to a yes-or-no question. Raises Skipped for "s"."""
        while True:
            typed = self.ask(f"{question} [{'Y/n' if default else 'y/N'}]").lower()
            if not typed:
                return default
            if typed in {"y", "yes", "n", "no"}:
                return typed[0] == "y"
            self.say("Type y for yes or n for no.")

    def choose(self, question: str, labels: Sequence[str], default: int = 0) -> int:
        """Lists the labels with numbers and returns the index of the chosen one. Raises Skipped for "s"."""
        for number, label in enumerate(labels, 1):
            self.say(f"  {number:>2}  {label}")
        return self.number(question, len(labels), default)

    def number(self, question: str, count: int, default: int = 0) -> int:
        """Returns the index of a number from 1 to `count`. Raises Skipped for "s"."""
        while True:
            typed = self.ask(question, str(default + 1))
            if typed.isdecimal() and len(typed) < 6 and 1 <= int(typed) <= count:
                return int(typed) - 1
            self.say(f"Type a number from 1 to {count}, or s to skip the question.")
