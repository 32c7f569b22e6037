"""Makes the timers and lists of this machine's user, with their files."""

import uuid
from collections.abc import Callable, Mapping
from functools import partial

from assistant.config.settings import Settings
from assistant.setup.build import local_now
from assistant.skills.home.due_commands import DueCommands
from assistant.skills.lists.items import UserLists
from assistant.skills.ringing.missed import missed_text
from assistant.skills.timers.user_timers import SharedTimers
from assistant.storage.list_file import ListFile, lists_path
from assistant.storage.list_keeper import ListKeeper
from assistant.storage.timer_file import TimerFile, timers_path
from assistant.storage.timer_keeper import TimerKeeper
from assistant.support.notice import notice
from assistant.support.paths import HomeError


def timer_keeper(
    settings: Settings, environ: Mapping[str, str], report_problem: Callable[[str], None]
) -> TimerKeeper | None:
    """Returns the timers of this machine's user with their file; None if they are not stored. Nothing is read yet.

    `report_problem` receives one sentence for the user if they cannot be stored.
    """
    if not (settings.skills.enabled and settings.skills.store_timers):
        return None
    try:
        path = timers_path(environ)
    except HomeError as error:
        report_problem(notice("timers_without_folder", reason=error))
        return None
    timers = SharedTimers(local_now, partial(missed_text, settings.assistant.language), lambda: uuid.uuid4().hex)
    commands = DueCommands(timers, local_now, settings.assistant.language)
    return TimerKeeper(timers, TimerFile(path, lambda: local_now().timestamp()), report_problem, commands.make)


def list_keeper(
    settings: Settings, environ: Mapping[str, str], report_problem: Callable[[str], None]
) -> ListKeeper | None:
    """Returns the lists of this machine's user with their file; None if they are not stored. Nothing is read yet.

    `report_problem` receives one sentence for the user if they cannot be stored.
    """
    if not (settings.skills.enabled and settings.skills.store_timers):
        return None
    try:
        path = lists_path(environ)
    except HomeError as error:
        report_problem(notice("lists_without_folder", reason=error))
        return None
    return ListKeeper(UserLists(stored=True, shared=True), ListFile(path), report_problem)
