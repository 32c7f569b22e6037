"""deploy/locked_extras.py: the lock of what extras need."""

import re
import tomllib
from pathlib import Path

import pytest

from deploy.locked_extras import blocks_of, locked, missing_packages, requirements_of

ROOT = Path(__file__).parent.parent.parent
LOCK = """\
numpy==2.4.0 ; python_full_version < '3.12' \\
    --hash=sha256:aa
numpy==2.5.0 ; python_full_version >= '3.12' \\
    --hash=sha256:bb
Opentelemetry_SDK==1.45.2 \\
    --hash=sha256:cc
"""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_lock_of_packages_keeps_hashes_and_markers() -> None:
    text = locked(["numpy", "opentelemetry-sdk"], blocks_of(LOCK))
    assert text == LOCK


def test_package_that_is_not_locked_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"not in requirements-dev\.lock: redis"):
        locked(["redis"], blocks_of(LOCK))


def test_extras_give_their_requirements() -> None:
    assert requirements_of(["redis", " aws", ""], PROJECT) == [
        *PROJECT["optional-dependencies"]["redis"],
        *PROJECT["optional-dependencies"]["aws"],
    ]
    assert missing_packages([], []) == []


def test_unknown_extra_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown extras: rediss; known are aws, "):
        requirements_of(["redis", "rediss"], PROJECT)


def test_default_extras_of_image_are_locked() -> None:
    (extras,) = re.findall(r"^ARG EXTRAS=(.*)$", (ROOT / "deploy" / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    blocks = blocks_of((ROOT / "requirements-dev.lock").read_text(encoding="utf-8"))
    names = [re.split(r"[\[<>=!~; ]", one)[0] for one in requirements_of(extras.split(","), PROJECT)]
    assert locked(names, blocks).count("--hash=sha256:") >= len(names) > 0
