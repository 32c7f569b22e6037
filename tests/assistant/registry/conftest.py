"""Fixtures of the tests of installed engines."""

from pathlib import Path

import pytest
from support.engines.installed_packages import Install, installer


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Returns what installs packages into the temporary folder."""
    return installer(tmp_path)
