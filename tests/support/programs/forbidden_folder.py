"""Simulates an unreadable folder. Permissions alone have no effect if the tests run as root."""

from collections.abc import Callable
from pathlib import Path

import pytest


def forbid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the folder behave as with mode 000: it exists, but its content cannot be listed, examined or opened."""

    def refusing(plain: Callable[..., object], *, itself: bool) -> Callable[..., object]:
        def asked(path: Path, *args: object, **more: object) -> object:
            if folder in path.absolute().parents or (itself and path.absolute() == folder):
                raise PermissionError(13, "Permission denied", str(path))
            return plain(path, *args, **more)

        return asked

    for name, itself in (("stat", False), ("open", False), ("iterdir", True)):
        monkeypatch.setattr(Path, name, refusing(getattr(Path, name), itself=itself))
