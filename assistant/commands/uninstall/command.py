"""Implements `repartee uninstall`."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from assistant.commands.first_run.prompts import Prompts, Skipped
from assistant.commands.service.command import Service, Wish
from assistant.commands.service.unit import ServiceError
from assistant.commands.uninstall.inventory import CONVERSATIONS, Group, own_folders, stored_groups
from assistant.models.needs import size_text

DRY_RUN = "nothing was removed; to remove what is listed: repartee uninstall --yes"


class Uninstaller:
    """Shows and removes what this program has stored."""

    def __init__(self, environ: Mapping[str, str], start: Path, console: Console) -> None:
        """Finds it. `start`: the folder of the command. Raises HomeError."""
        self._environ, self._start, self._console = environ, start, console
        self._groups = stored_groups(environ, start)
        self._services = [wish for wish in (Wish(), Wish("talk"), Wish("satellite")) if self._is_installed(wish)]
        self._failed = False

    def run(self, prompts: Prompts | None, *, yes: bool, keep_conversations: bool, shared_models: bool) -> bool:
        """Shows everything, asks for each group and removes it. Returns whether all that was chosen is removed.

        Args:
            prompts: Asks the user; None: there is no terminal.
            yes: Remove without a question. Models that other programs may use stay unless `shared_models`.
            keep_conversations: Leave the conversations out.
            shared_models: Also remove the models in the cache that other programs may use.
        """
        self._show()
        groups = [group for group in self._groups if not (keep_conversations and group.name == CONVERSATIONS)]
        if not (groups or self._services):
            self._say("nothing of Repartee is stored here")
        elif prompts is None and not yes:
            self._say(DRY_RUN)
            return True
        else:
            self._remove(groups, None if yes else prompts, shared_models=shared_models)
        self._say(f"to remove the program itself: {last_command()}")
        return not self._failed

    def _remove(self, groups: Sequence[Group], prompts: Prompts | None, *, shared_models: bool) -> None:
        try:
            if self._services and (prompts is None or prompts.confirm("Stop and remove the service?", default=False)):
                self._remove_services()
            for group in groups:
                default = shared_models or not group.is_shared
                question = f"Remove {group.name} ({_size(group)})?"
                if default if prompts is None else prompts.confirm(question, default=False):
                    self._remove_group(group)
                elif group.is_shared:
                    self._say(f"kept, because other programs may use them: {group.name} (--shared-models removes them)")
                else:
                    self._say(f"kept: {group.name}")
        except (Skipped, EOFError):
            self._say("the rest is kept")
        for folder in own_folders(self._environ, self._start):
            with suppress(OSError):  # not empty, or not there
                folder.rmdir()

    def _remove_services(self) -> None:
        for wish in self._services:
            try:
                Service(wish, self._environ, self._console).remove()
            except ServiceError as error:
                self._fail(str(error))

    def _remove_group(self, group: Group) -> None:
        failed, self._failed = self._failed, False
        for path in group.paths:
            try:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                self._fail(f"{path} cannot be removed ({error.strerror}); remove it yourself")
        if not self._failed:
            self._say(f"removed: {group.name}")
        self._failed |= failed

    def _is_installed(self, wish: Wish) -> bool:
        try:
            return Service(wish, self._environ, self._console).file.exists()
        except (ServiceError, OSError):
            return False

    def _show(self) -> None:
        for wish in self._services:
            self._say(f"service: {Service(wish, self._environ, self._console).file}")
        for group in self._groups:
            self._say(f"{group.name}: {_size(group)}")
            for path in group.paths:
                self._say(f"    {path}")

    def _fail(self, text: str) -> None:
        self._failed = True
        self._say(text)

    def _say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)


def last_command() -> str:
    """Returns the command that removes the program, by the tool that installed it."""
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return "pipx uninstall repartee"
    if Path(sys.prefix, "uv-receipt.toml").exists():
        return "uv tool uninstall repartee"
    if (Path(sys.prefix).parent / "Makefile").exists():
        return f"delete the folder {Path(sys.prefix).parent}"
    return f"{Path(sys.executable).with_name('pip')} uninstall repartee"


def _size(group: Group) -> str:
    kilobytes = group.size_bytes / 1000
    return f"{kilobytes:.0f} kB" if kilobytes < 1000 else size_text(kilobytes / 1000)
