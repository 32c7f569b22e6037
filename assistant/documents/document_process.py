"""Reads and splits a document: a file on stdin, its parts as JSON on stdout. Run as its own process.

A document is not trusted. It is read apart from the conversations: with limits of memory and computing time, at low
priority, and without writing to the disk.

Argument: whether it is markdown, and the fields of `ReadLimits`, as JSON. Output:
{"parts": [[heading, text], …]} or {"error": "is empty"}. Only the first `max_parts` parts have a
text: no others are asked.
"""

import json
import sys

from assistant.documents import Document, DocumentError
from assistant.documents.files import text_of
from assistant.documents.splitting import split
from audio.resource_limits import limit_resources

MEMORY_BYTES = 1 << 30
COMPUTING_S = 30
"""Processor time. 1500 pages of plain text take 15 s."""


def main() -> int:
    """Reads the file on stdin. Returns the exit code."""
    limit_resources(MEMORY_BYTES, COMPUTING_S)
    is_markdown, max_mb, part_chars, max_parts = json.loads(sys.argv[1])
    answer: dict[str, object]
    try:
        answer = {"parts": _parts(is_markdown, max_mb, part_chars, max_parts)}
    except DocumentError as error:
        answer = {"error": str(error)}
    except OSError as error:
        answer = {"error": f"cannot be read ({error.strerror})"}
    except (MemoryError, RecursionError):
        answer = {"error": f"needs more than {MEMORY_BYTES >> 30} GB of memory to be read: name a simpler file"}
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace"))
    sys.stdout.buffer.flush()
    return 0


def _parts(is_markdown: bool, max_mb: int, part_chars: int, max_parts: int) -> list[tuple[str, str]]:
    content = sys.stdin.buffer.read(max_mb * 1_000_000 + 1)
    if len(content) > max_mb * 1_000_000:
        raise DocumentError(f"is larger than {max_mb} MB: name a smaller file")
    document = Document("", text_of(content), is_markdown)
    parts = split([document], part_chars)
    return [(part.heading, part.text) if part.number <= max_parts else ("", "") for part in parts]


if __name__ == "__main__":
    sys.exit(main())
