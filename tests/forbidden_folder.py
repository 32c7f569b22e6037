"""A folder that may not be read: permissions alone prove nothing where tests run as root."""

from collections.abc import Callable
from pathlib import Path

import pytest


def forbid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with mode 000: it is there, and what is in it may be neither listed, looked at nor opened."""

    def refusing(plain: Callable[..., object], *, itself: bool) -> Callable[..., object]:
        def asked(path: Path, *args: object, **more: object) -> object:
            if folder in path.absolute().parents or (itself and path.absolute() == folder):
                raise PermissionError(13, "Permission denied", str(path))
            return plain(path, *args, **more)

        return asked

    for name, itself in (("stat", False), ("open", False), ("iterdir", True)):
        monkeypatch.setattr(Path, name, refusing(getattr(Path, name), itself=itself))
