"""The error of invalid settings. In a module of its own, because `repartee --help` needs no settings."""

from collections.abc import Sequence


class ConfigError(Exception):
    """Invalid settings.

    The text has one line for each problem of the first source that has any: the place, the key, the value found and the
    values allowed. It contains no secret.

    Attributes:
        problems: The lines.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        """`problems`: one line each, for the user; at least one."""
        # A quoted key or a flag may contain a line break, but each problem must stay on one line.
        self.problems = tuple(" ".join(problem.splitlines()) for problem in problems)
        super().__init__("\n".join(self.problems))
