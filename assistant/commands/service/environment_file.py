"""The file with the service's keys and tokens: lines of `NAME=value`, readable by its owner only."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assistant.commands.service.unit import ServiceError
from audio.private_file import make_private_folder, open_private

MAX_BYTES = 100_000

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")

_HEAD = """\
# Environment variables of `repartee service`: keys of language models and tools, and REPARTEE_TOKEN.
# One NAME=value a line, without blanks around the equals sign. Only you may read this file.
"""


def read_environment(file: Path) -> dict[str, str]:
    """Reads the file; empty if there is none. Values may be quoted; lines that begin with # are skipped.

    Raises:
        ServiceError: It cannot be read, others may read it, or a line is not NAME=value. No value is in the text.
    """
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read(MAX_BYTES + 1).decode()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ServiceError(f"{file} is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise ServiceError(f"{file} cannot be read ({error.strerror}); correct its owner or its mode") from error
    if os.name == "posix" and mode & 0o077:
        raise ServiceError(f"{file} holds keys, but others may read it; run: chmod 600 '{file}'")
    if len(text) > MAX_BYTES:
        raise ServiceError(f"{file} has more than {MAX_BYTES} bytes; keep only the keys in it")
    return parsed(text, file)


def parsed(text: str, file: Path) -> dict[str, str]:
    """Parses the text of the file. Raises ServiceError with the line's number."""
    variables = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not (stripped := line.strip()) or stripped.startswith(("#", ";")):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise ServiceError(f"{file}:{number} is not of the form NAME=value; correct the line")
        name, value = match.groups()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        variables[name] = value[1:-1] if quoted else value
    return variables


def create_environment(file: Path, names: Sequence[str]) -> bool:
    """Creates the file with mode 0600 and a commented line for each wanted name. Returns False if it exists already.

    Raises:
        ServiceError: It cannot be written.
    """
    text = _HEAD + "".join(f"#{name}=\n" for name in names)
    try:
        make_private_folder(file.parent)
        with os.fdopen(open_private(file, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise ServiceError(f"{file} cannot be written ({error.strerror}); correct its folder") from error
    return True


def missing(names: Sequence[str], there: Mapping[str, str]) -> list[str]:
    """Returns the wanted names that have no value."""
    return [name for name in names if not there.get(name)]
