"""The command `repartee completion`."""

from typing import Annotated, Literal

import typer

COMPLETE = "_REPARTEE_COMPLETE"
"""Environment variable with which the shell asks for completions."""

Shell = Literal["bash", "zsh", "fish", "powershell"]


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
) -> None:
    """Print the script with which your shell completes commands and options (docs/talk.md)."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415

    typer.echo(get_completion_script(prog_name="repartee", complete_var=COMPLETE, shell=shell))
