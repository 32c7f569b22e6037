"""The command `repartee uninstall`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from assistant.support.console import terminal


def uninstall(
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: remove what is listed.")] = False,
    keep_conversations: Annotated[bool, typer.Option("--keep-conversations", help="Keep the conversations.")] = False,
    shared_models: Annotated[
        bool,
        typer.Option("--shared-models", help="With --yes: also the models in the cache that other programs may use."),
    ] = False,
) -> None:
    """Show what Repartee has stored on this machine, and remove it, group by group. Without a terminal: only show."""
    import sys

    from assistant.commands.first_run.prompts import Prompts
    from assistant.commands.uninstall.command import Uninstaller

    console = terminal()
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    prompts = Prompts(console, input, input) if has_terminal else None
    done = Uninstaller(os.environ, Path.cwd(), console).run(
        prompts, yes=yes, keep_conversations=keep_conversations, shared_models=shared_models
    )
    sys.exit(0 if done else 1)
