"""The group of all commands: its error messages cannot control the terminal."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from assistant.support.console import safe


class SafeErrorGroup(TyperGroup):
    """The command group. Removes terminal control characters from error messages, which quote arguments."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """See the base class."""
        with _safe_error_messages():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """See the base class."""
        with _safe_error_messages():
            return super().invoke(ctx)


@contextmanager
def _safe_error_messages() -> Generator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str) and hasattr(error, "format_message"):
            error.message = safe(message.replace("\n", " "))  # type: ignore[attr-defined]
        raise
