"""Reads documents in processes of their own (`document_process`), a few at a time."""

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath

from assistant.documents import MAX_FILE_MB, DocumentError, Part, SplitDocument
from assistant.documents.document_process import COMPUTING_S
from assistant.documents.files import MARKDOWN

MAX_PROCESSES = 2
"""Documents that are read at the same time, of all conversations."""

TIMEOUT_S = 600.0
"""Time limit for one document, in seconds of wall time: for a machine 20 times too slow for `COMPUTING_S`."""

_places = asyncio.Semaphore(MAX_PROCESSES)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of reading one document.

    Attributes:
        part_chars: Longest part in characters.
        max_parts: Parts from the beginning whose text is needed.
        max_mb: Largest file in MB (1,000,000 bytes).
    """

    part_chars: int
    max_parts: int
    max_mb: int = MAX_FILE_MB


async def read_document(descriptor: int, shown: str, name: str, limits: ReadLimits) -> SplitDocument:
    """Returns a document in parts. Cancellation ends its process.

    Args:
        descriptor: The open regular file; is closed.
        shown: Its name in errors.
        name: Name of the document; its ending tells whether it is markdown.
        limits: The limits.

    Raises:
        DocumentError: It is too large, empty or no text, cannot be read, or takes too long or too much memory.
    """
    is_markdown = PurePath(name).suffix.lower() in MARKDOWN
    argument = json.dumps([is_markdown, limits.max_mb, limits.part_chars, limits.max_parts])
    try:
        async with asyncio.timeout(TIMEOUT_S), _places:
            output, code = await _output(descriptor, argument)
    except TimeoutError as error:
        raise DocumentError(f"{shown} could not be read within {TIMEOUT_S:g} s: name a simpler file") from error
    finally:
        os.close(descriptor)
    if code:
        raise DocumentError(
            f"{shown} takes more than {COMPUTING_S} s of computing time or too much memory to be read: save its text "
            "as a file, and name that"
        )
    answer = json.loads(output)
    if "error" in answer:
        raise DocumentError(f"{shown} {answer['error']}")
    parts = answer["parts"]
    return SplitDocument(
        name,
        tuple(Part(0, name, number, len(parts), heading, text) for number, (heading, text) in enumerate(parts, 1)),
    )


async def _output(descriptor: int, argument: str) -> tuple[bytes, int]:
    """Returns the output and the exit code of the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "assistant.documents.document_process", argument,
        stdin=descriptor, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await process.communicate()
        assert process.returncode is not None
        return output, process.returncode
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
