"""The load of the machine, read from the counters of a system that the tests write."""

import os
from pathlib import Path

import pytest

from audio.machine_load import MachineLoadReader


class Machine:
    """The folder /proc of a machine with its clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now_s = folder, 0.0
        self.own_s = self.whole_s = self.waited_s = 0.0
        self.runnable = 1
        (folder / "self").mkdir()
        (folder / "pressure").mkdir()

    def write(self) -> None:
        hz = os.sysconf("SC_CLK_TCK")
        whole = f"cpu {round(self.whole_s * hz)} 0 0 500 7 0 0 9 0 0\nprocs_running {self.runnable}\n"
        (self.folder / "stat").write_text(whole)
        times = f"7 (a ) b) S {'0 ' * 10}{round(self.own_s * hz)} 0 0 0"
        (self.folder / "self" / "stat").write_text(times)
        some = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={round(self.waited_s * 1e6)}\n"
        (self.folder / "pressure" / "cpu").write_text(some)

    def clock(self) -> float:
        return self.now_s


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.write()
    return machine


def test_load_of_other_programs_is_separate_from_own(machine: Machine) -> None:
    reader = MachineLoadReader(machine.folder, machine.clock)
    assert reader.read() is None
    machine.now_s, machine.own_s, machine.whole_s, machine.waited_s, machine.runnable = 2.0, 1.0, 4.0, 1.5, 9
    machine.write()
    load = reader.read()
    assert load is not None
    assert (load.own, load.others, load.runnable, load.waiting) == (0.5, 1.5, 8, 0.75)


def test_load_is_measured_at_most_once_a_second(machine: Machine) -> None:
    reader = MachineLoadReader(machine.folder, machine.clock)
    machine.now_s, machine.whole_s = 1.0, 1.0
    machine.write()
    first = reader.read()
    machine.now_s, machine.whole_s = 1.5, 3.0
    machine.write()
    assert reader.read() == first is not None


def test_load_is_unknown_without_counters(tmp_path: Path) -> None:
    reader = MachineLoadReader(tmp_path)
    assert reader.read() is None


def test_load_without_pressure_information_is_known(machine: Machine) -> None:
    reader = MachineLoadReader(machine.folder, machine.clock)
    (machine.folder / "pressure" / "cpu").unlink()
    machine.now_s = 1.0
    load = reader.read()
    assert load is not None
    assert load.waiting is None


@pytest.mark.parametrize(("own_s", "whole_s", "busy"), [(0.1, 2.0, True), (1.9, 2.0, False), (0.1, 0.8, False)])
def test_machine_is_busy_if_other_programs_keep_processors(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, own_s: float, whole_s: float, *, busy: bool
) -> None:
    monkeypatch.setattr("audio.machine_load._processors", lambda: 2)
    reader = MachineLoadReader(machine.folder, machine.clock)
    machine.now_s, machine.own_s, machine.whole_s = 1.0, own_s, whole_s
    machine.write()
    load = reader.read()
    assert load is not None
    assert load.busy is busy
    assert load.text == f"other programs use {whole_s - own_s:.1f} of 2 processors"
