"""Reads the entry points of engines. An engine's module is imported when its declaration is first asked for."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import Distribution, EntryPoint, EntryPoints, entry_points
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)

PROGRAM = "repartee"
"""The distribution with the built-in engines."""

_ERROR_CHARS = 200


class Declaration(Protocol):
    """The object that an entry point refers to."""

    @property
    def name(self) -> str: ...


D = TypeVar("D", bound=Declaration)


class EnginesNotRegisteredError(Exception):
    """The program's own entry points are missing. The text says what to do."""


@dataclass(frozen=True, slots=True)
class BrokenEngine:
    """An installed engine that cannot be used.

    Attributes:
        group: Group of its entry point.
        name: Name of its entry point.
        distribution: The package that offers it, with its version.
        error: What is wrong, as a clause.
    """

    group: str
    name: str
    distribution: str
    error: str


class Registry(Generic[D]):
    """The engines of one group. Those of the program come first; otherwise they are in the order of their names."""

    def __init__(self, group: str, kind: type[D], reserved: frozenset[str] = frozenset()) -> None:
        """Reads nothing yet.

        Args:
            group: Group of the entry points.
            kind: Class of the declarations.
            reserved: Names that no engine may have.
        """
        self.group = group
        self._kind = kind
        self._reserved = reserved
        self._declared: dict[str, D] = {}
        self._broken: dict[tuple[str, str], BrokenEngine] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all engines, without importing them; broken ones are included."""
        return tuple(self._points)

    def get(self, name: str) -> D | None:
        """Returns the declaration of an engine; None if it is unknown or broken."""
        if name in self._declared:
            return self._declared[name]
        point = self._points.get(name)
        if point is None or (name, distribution_of(point)) in self._broken:
            return None
        try:
            declared = point.load()
            if not isinstance(declared, self._kind):
                raise TypeError(f"{point.value} is no {self._kind.__name__}")  # noqa: TRY301 - reported like the others
            if declared.name != name:
                raise ValueError(f"it declares the name {declared.name!r}")  # noqa: TRY301
        except Exception as error:  # noqa: BLE001 - a foreign package may raise anything; the others must work
            self._report(point, f"{type(error).__name__}: {error}")
            return None
        self._declared[name] = declared
        return declared

    def all(self) -> tuple[D, ...]:
        """Returns all declarations that can be loaded."""
        return tuple(declaration for name in self.names if (declaration := self.get(name)) is not None)

    def is_of_program(self, name: str) -> bool:
        """Returns whether the program itself offers the engine, not another package."""
        return name in self._points and _is_own(self._points[name])

    def reject(self, name: str, error: Exception) -> None:
        """Counts an engine as broken that was loaded, but cannot be used."""
        if self._declared.pop(name, None) is not None:
            self._report(self._points[name], f"{type(error).__name__}: {error}")

    def of_other_packages(self) -> tuple[D, ...]:
        """Returns the declarations that other packages than the program offer. Imports only these."""
        names = (name for name in self.names if not self.is_of_program(name))
        return tuple(declaration for name in names if (declaration := self.get(name)) is not None)

    def broken(self) -> tuple[BrokenEngine, ...]:
        """Returns the engines that cannot be used. Loads all."""
        self.all()
        return self.broken_so_far()

    def broken_so_far(self) -> tuple[BrokenEngine, ...]:
        """Returns those that were found unusable by now. Loads nothing."""
        return tuple(self._broken.values())

    def problem_of(self, name: str) -> str:
        """Returns why an installed engine cannot be used, as a sentence without a full stop; "" if it can."""
        if self.get(name) is not None:
            return ""
        for broken in self._broken.values():
            if broken.name == name:
                return f"the engine {name} of the package {broken.distribution} cannot be loaded ({broken.error})"
        return f"no installed package has an engine {name} ({self.group})"

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        points_by_name: dict[str, EntryPoint] = {}
        for point in _points_of(self.group):
            if point.name in self._reserved:
                self._report(point, "this name is reserved")
            elif (taken := points_by_name.get(point.name)) is not None:
                if distribution_of(point) != distribution_of(taken):
                    self._report(point, f"{distribution_of(taken)} has an engine of this name, too")
            else:
                points_by_name[point.name] = point
        return points_by_name

    def _report(self, point: EntryPoint, error: str) -> None:
        distribution, error = distribution_of(point), " ".join(error.split())[:_ERROR_CHARS]
        self._broken[point.name, distribution] = BrokenEngine(self.group, point.name, distribution, error)
        log.warning("%s: the engine %s of %s cannot be used: %s", self.group, point.name, distribution, error)


def distribution_of(point: EntryPoint) -> str:
    """Returns the package that offers an entry point, with its version."""
    return "an unknown package" if point.dist is None else " ".join(_name_and_version(point.dist))


def _points_of(group: str) -> Iterator[EntryPoint]:
    """Yields the entry points of a group, those of the program first. Raises EnginesNotRegisteredError without them."""
    points = sorted(_all_points().select(group=group), key=lambda point: (not _is_own(point), point.name))
    if not points or not _is_own(points[0]):
        raise EnginesNotRegisteredError(
            f"the engines of Repartee are not registered in this environment ({group}), because it was installed from "
            "an older version: run `make setup`, or `pip install --no-deps -e .` in Repartee's folder."
        )
    yield from points


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and _name_and_version(point.dist)[0] == PROGRAM


@cache
def _name_and_version(dist: Distribution) -> tuple[str, str]:
    """Returns both. Each is a millisecond of parsing in the library, and every start asks for them 84 times."""
    return dist.name, dist.version


@cache
def _all_points() -> EntryPoints:
    points: EntryPoints = entry_points()  # type: ignore[assignment]
    return points
