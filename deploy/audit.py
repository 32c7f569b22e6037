"""Checks the locked packages against known vulnerabilities: what `make audit` runs.

The advisories come from an OSV service, or from a file: the export of its ecosystem PyPI, a zip of JSON files. Only
names and versions of packages are sent. Exit status: 0 nothing found; 1 a package is affected; 2 the reviewed
advisories or arguments are wrong; 3 not checked because no data could be had (the output says so).
"""

import argparse
import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent.parent
LOCKS = (ROOT / "requirements.lock", ROOT / "requirements-dev.lock")
REVIEWED = ROOT / "deploy" / "advisories.toml"

SERVICE = "https://api.osv.dev"
TIMEOUT_S = 20.0
MAX_QUERIES = 1000
"""Packages of one request; the limit of the service."""
MAX_BYTES = 16 << 20
"""Longest answer."""
MAX_PAGES = 20
"""Pages of one answer."""
MAX_DETAILS = 200
"""Advisories whose details are asked for."""

_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_FIRST = Version("0.dev0")
"""Before every version: "0" in an advisory."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{2,80}")


class NoDataError(Exception):
    """The advisories could not be had. The text says why."""


class WrongFileError(Exception):
    """The file of reviewed advisories is wrong. The text says where."""


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """A locked package; its name is normalized."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Advisory:
    """A known vulnerability.

    Attributes:
        id: Its name in the database.
        aliases: Its other names, such as that of the CVE.
        summary: One line; "" if there is none.
        fixed: Versions in which it is repaired.
    """

    id: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    fixed: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All its names."""
        return frozenset({self.id, *self.aliases})


def pins_in(lock: str) -> set[Pin]:
    """Returns the packages of a lock in the format of pip."""
    matches = (_PIN.match(line) for line in lock.splitlines())
    return {Pin(_normal(match[1]), match[2]) for match in matches if match is not None}


def reviewed_in(text: str) -> dict[tuple[str, str], str]:
    """Returns why advisories do not apply, by package and id. Raises WrongFileError."""
    try:
        entries = tomllib.loads(text).get("reviewed", [])
        reasons = {(_normal(entry["package"]), entry["id"]): entry["why"] for entry in entries}
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise WrongFileError(f"each [[reviewed]] needs id, package and why ({error})") from error
    if any(not isinstance(why, str) or len(why.split()) < 3 for why in reasons.values()):
        raise WrongFileError("each `why` must say in a sentence why the advisory does not apply")
    return reasons


# ---- the service ----


def from_service(address: str, pins: Sequence[Pin]) -> dict[Pin, list[Advisory]]:
    """Asks an OSV service. Raises NoDataError."""
    with httpx.Client(base_url=address, timeout=TIMEOUT_S, headers={"accept-encoding": "identity"}) as client:
        ids: dict[Pin, list[str]] = {}
        for start in range(0, len(pins), MAX_QUERIES):
            part = pins[start : start + MAX_QUERIES]
            for pin, names in _ids(client, part):
                ids.setdefault(pin, []).extend(names)
        every_id = list(dict.fromkeys(chain.from_iterable(ids.values())))
        if len(every_id) > MAX_DETAILS:
            raise NoDataError(f"{address} names {len(every_id)} advisories; at most {MAX_DETAILS} are looked at")
        entries = {name: _answer(client, "GET", f"/v1/vulns/{name}") for name in every_id}
    return {
        pin: [_advisory(entries[name], pin.name) for name in names if "withdrawn" not in entries[name]]
        for pin, names in ids.items()
    }


def _ids(client: httpx.Client, pins: Sequence[Pin]) -> Iterator[tuple[Pin, list[str]]]:
    """Yields the ids of the advisories about each package. A package with many of them comes once for each page."""
    queries = [(pin, {"package": {"name": pin.name, "ecosystem": "PyPI"}, "version": pin.version}) for pin in pins]
    for _ in range(MAX_PAGES):
        body = {"queries": [query for _, query in queries]}
        results = _answer(client, "POST", "/v1/querybatch", body).get("results")
        if not isinstance(results, list) or len(results) != len(queries):
            raise NoDataError(f"{client.base_url} answers with another number of results than packages")
        more = []
        for (pin, query), result in zip(queries, results, strict=True):
            yield pin, [str(entry["id"]) for entry in result.get("vulns", ()) if _ID.fullmatch(str(entry.get("id")))]
            if token := result.get("next_page_token"):
                more.append((pin, {**query, "page_token": token}))
        if not more:
            return
        queries = more
    raise NoDataError(f"{client.base_url} answers with more than {MAX_PAGES} pages")


def _answer(client: httpx.Client, method: str, path: str, body: object = None) -> dict[str, Any]:
    try:
        with client.stream(method, path, json=body) as answer:
            if answer.status_code != 200:
                raise NoDataError(f"{client.base_url} answers {answer.status_code}")
            content = b""
            for block in answer.iter_bytes():
                content += block
                if len(content) > MAX_BYTES:
                    raise NoDataError(f"{client.base_url} answers with more than {MAX_BYTES} bytes")
        document = json.loads(content)
    except (httpx.HTTPError, OSError) as error:
        raise NoDataError(f"{client.base_url} cannot be reached ({type(error).__name__})") from error
    except ValueError as error:
        raise NoDataError(f"{client.base_url} does not answer with JSON") from error
    if not isinstance(document, dict):
        raise NoDataError(f"{client.base_url} does not answer with a JSON object")
    return document


# ---- a file ----


def from_file(file: Path, pins: Sequence[Pin]) -> dict[Pin, list[Advisory]]:
    """Reads an export of the database. Raises NoDataError."""
    advisories: dict[Pin, list[Advisory]] = {pin: [] for pin in pins}
    by_name: dict[str, list[Pin]] = {}
    for pin in pins:
        by_name.setdefault(pin.name, []).append(pin)
    try:
        with zipfile.ZipFile(file) as export:
            for name in export.namelist():
                entry = json.loads(export.read(name))
                if "withdrawn" in entry:
                    continue
                for affected in entry.get("affected", ()):
                    package = _normal(str(affected.get("package", {}).get("name", "")))
                    for pin in by_name.get(package, ()):
                        if _affects(affected, pin.version):
                            advisories[pin].append(_advisory(entry, package))
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise NoDataError(f"{file} cannot be read ({error})") from error
    return advisories


def _affects(affected: Mapping[str, Any], version: str) -> bool:
    if version in affected.get("versions", ()):
        return True
    ranges = [span for span in affected.get("ranges", ()) if span.get("type") == "ECOSYSTEM"]
    return any(_in_range(span.get("events", ()), version) for span in ranges)


def _in_range(events: Iterable[Mapping[str, str]], version: str) -> bool:
    """Returns whether a version is in a range: from `introduced` on, before `fixed`, up to `last_affected`.

    The events may have any order. A range that cannot be read counts: a person looks at it, and may review it.
    """
    is_in = False
    try:
        locked_version = Version(version)
        for event in sorted(events, key=_event_version):
            if "introduced" in event:
                is_in = is_in or locked_version >= _event_version(event)
            elif "fixed" in event:
                is_in = is_in and locked_version < _event_version(event)
            elif "last_affected" in event:
                is_in = is_in and locked_version <= _event_version(event)
    except InvalidVersion:
        return True
    return is_in


def _event_version(event: Mapping[str, str]) -> Version:
    (version,) = event.values()
    return _FIRST if version == "0" else Version(version)


# ---- both ----


def _advisory(entry: Mapping[str, Any], package: str) -> Advisory:
    ranges = [
        span
        for affected in entry.get("affected", ())
        if _normal(str(affected.get("package", {}).get("name", ""))) == package
        for span in affected.get("ranges", ())
        if span.get("type") == "ECOSYSTEM"
    ]
    fixed = dict.fromkeys(event["fixed"] for span in ranges for event in span.get("events", ()) if "fixed" in event)
    summary = " ".join(str(entry.get("summary", "")).split())[:120]
    shown = "".join(char if char.isprintable() else "?" for char in summary)
    return Advisory(str(entry.get("id", "")), tuple(map(str, entry.get("aliases", ()))), shown, tuple(fixed))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def report(advisories: Mapping[Pin, Sequence[Advisory]], reviewed: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yields a line for each advisory that applies and was not reviewed. Advisories with a common name count once."""
    for pin in sorted(advisories):
        known = [
            advisory.names
            for advisory in advisories[pin]
            if any((pin.name, name) in reviewed for name in advisory.names)
        ]
        known_names = set().union(*known)  # another entry about the same weakness is reviewed, too
        for advisory in advisories[pin]:
            if known_names & advisory.names:
                continue
            known_names |= advisory.names
            fixed = f"; repaired in {', '.join(advisory.fixed)}" if advisory.fixed else ""
            names = ", ".join([advisory.id, *advisory.aliases])
            yield f"{pin.name} {pin.version}: {names}: {advisory.summary or 'no summary'}{fixed}"


def unused(advisories: Mapping[Pin, Sequence[Advisory]], reviewed: Iterable[tuple[str, str]]) -> list[str]:
    """Returns the ids of reviewed advisories that no locked package has any more."""
    names = {(pin.name, name) for pin, of_pin in advisories.items() for advisory in of_pin for name in advisory.names}
    return [name for package, name in reviewed if (package, name) not in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the audit. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="audit", description="Check the locked packages for known vulnerabilities.")
    parser.add_argument("--service", default=SERVICE, help="address of an OSV service (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="export of the database instead: all.zip of the ecosystem PyPI")
    parser.add_argument("--reviewed", type=Path, default=REVIEWED, help="advisories that do not apply, and why")
    parser.add_argument("locks", nargs="*", type=Path, default=LOCKS, metavar="LOCK")
    given = parser.parse_args(arguments)
    try:
        pins = sorted(set().union(*(pins_in(lock.read_text(encoding="utf-8")) for lock in given.locks)))
        reviewed = reviewed_in(given.reviewed.read_text(encoding="utf-8"))
    except (OSError, WrongFileError) as error:
        _say(f"{given.reviewed if isinstance(error, WrongFileError) else 'audit'}: {error}")
        return 2
    try:
        advisories = from_service(given.service, pins) if given.data is None else from_file(given.data, pins)
    except NoDataError as error:
        _say(f"not checked: {error}")
        return 3
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        _say(f"not checked: {given.data or given.service} does not have the format of OSV ({error!r})")
        return 3
    lines = list(report(advisories, reviewed))
    for line in lines:
        _say(line)
    for name in unused(advisories, reviewed):
        _say(f"{name} is reviewed in {given.reviewed.name} and no longer reported: remove it there")
    count = len({line.partition(":")[0] for line in lines})
    _say(f"{len(pins)} packages checked against {given.data or given.service}: {count or 'none'} affected")
    return 1 if lines else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
