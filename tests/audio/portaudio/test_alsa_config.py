"""A missing ALSA configuration is detected and reported before ALSA aborts the program."""

import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

from audio.errors import DeviceError
from audio.portaudio.alsa_config import lacking
from audio.portaudio.device_watcher import DeviceWatcher

ENDS_ITSELF = (sys.executable, "-c", "import os; os.abort()")


def test_existing_configuration_lacks_nothing(tmp_path: Path) -> None:
    file = tmp_path / "alsa.conf"
    file.write_text("pcm.!default { type null }\n")
    assert lacking({"ALSA_CONFIG_PATH": str(file)}, "linux") == ""
    assert lacking({"ALSA_CONFIG_PATH": f"/nowhere:{file}"}, "linux") == ""
    assert lacking({"ALSA_CONFIG_DIR": str(tmp_path)}, "linux") == ""


def test_missing_configuration_is_named_with_remedy(tmp_path: Path) -> None:
    empty = tmp_path / "empty.conf"
    empty.touch()
    for named in ("/nowhere", str(empty), str(tmp_path), f"/nowhere:{empty}"):
        assert f"ALSA_CONFIG_PATH names {named}" in lacking({"ALSA_CONFIG_PATH": named}, "linux")
    assert f"{tmp_path}/alsa.conf is missing" in lacking({"ALSA_CONFIG_DIR": str(tmp_path)}, "linux")


@pytest.mark.parametrize(
    "content", ["# no cards\n", "\n", "x 1\n", "ctl.x { type hw }\n", "# pcm.default\n", "pcm { }\n"]
)
def test_configuration_without_devices_is_named_with_remedy(tmp_path: Path, content: str) -> None:
    file = tmp_path / "asound.none"
    file.write_text(content)
    assert "has no devices: correct it, or unset it" in lacking({"ALSA_CONFIG_PATH": str(file)}, "linux")


@pytest.mark.parametrize(
    "content", ["pcm.foo 1\n", "pcm.!default foo\n", "pcm { x { type null } }\n", "ctl.x 1; pcm.x 1\n", '"pcm".x 1\n']
)
def test_configuration_with_a_device_lacks_nothing(tmp_path: Path, content: str) -> None:
    file = tmp_path / "asound.conf"
    file.write_text(content)
    assert lacking({"ALSA_CONFIG_PATH": str(file)}, "linux") == ""


def test_other_systems_need_no_configuration() -> None:
    assert lacking({"ALSA_CONFIG_PATH": "/nowhere"}, "darwin") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no signal ends a process there")
def test_aborted_listing_process_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALSA_CONFIG_PATH", "/nowhere")
    with pytest.raises(DeviceError, match=r"ALSA crashes every program .* names /nowhere, .* unset it"):
        DeviceWatcher(ENDS_ITSELF).look()


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or find_library("portaudio") is None, reason="needs Linux and libportaudio2"
)
@pytest.mark.parametrize("content", [None, "# no cards\n"])
def test_program_ends_with_error_message(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "asound.none"
    if content is not None:
        file.write_text(content)
    done = subprocess.run(
        [Path(sys.executable).with_name("repartee"), "devices"],
        env={**os.environ, "ALSA_CONFIG_PATH": str(file)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("repartee: ALSA crashes every program")
