"""Makes the user's lists and their file."""

from collections.abc import Callable, Mapping

from assistant.config.settings import Settings
from assistant.skills.lists.items import UserLists
from assistant.storage.list_file import ListFile, lists_path
from assistant.storage.list_keeper import ListKeeper
from assistant.support.notice import notice
from assistant.support.paths import HomeError


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
