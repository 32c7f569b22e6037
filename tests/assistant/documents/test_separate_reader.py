"""Documents are read in processes of their own."""

import asyncio
import io
import os
import resource
from pathlib import Path

import pytest
from support.texts.pdf_files import pdf_of

from assistant.documents import DocumentError, SplitDocument, separate_reader
from assistant.documents.files import open_file
from assistant.documents.separate_reader import ReadLimits, read_document

LIMITS = ReadLimits(max_mb=1, part_chars=500, max_parts=2)


async def read(file: Path) -> SplitDocument:
    return await read_document(open_file(file), str(file), file.name, LIMITS)


def written(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


def problem(file: Path) -> str:
    with pytest.raises(DocumentError) as failure:
        asyncio.run(read(file))
    assert str(failure.value).startswith(str(file))
    return str(failure.value)


def nested_pdf(depth: int) -> bytes:
    """Returns a small PDF whose page draws a form that draws another twice, and so on: 2^depth drawings."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</A 5 0 R>>>>>>",
        b"<</Length 5>>stream\n/A Do\nendstream",
    ]
    for level in range(depth):
        resources = b"<</XObject<</A %d 0 R>>>>" % (6 + level) if level < depth - 1 else b"<<>>"
        body = b"/A Do " * 2 if level < depth - 1 else b"BT (x) Tj ET"
        objects.append(
            b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources%s/Length %d>>stream\n%s\nendstream"
            % (resources, len(body), body)
        )
    file, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    file.seek(0, os.SEEK_END)
    for number, content in enumerate(objects, 1):
        offsets.append(file.tell())
        file.write(b"%d 0 obj" % number + content + b"endobj\n")
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    file.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    file.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    return file.getvalue()


def test_document_is_read_in_parts_and_only_the_first_have_text(tmp_path: Path) -> None:
    document = asyncio.run(read(written(tmp_path, "a.MD", b"# Title\n\n" + b"word " * 400)))
    assert document.name == "a.MD"
    assert [bool(part.text) for part in document.parts] == [True, True, False, False, False]
    assert {part.count for part in document.parts} == {5}
    assert document.parts[0].heading == "Title"


def test_what_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    assert "is larger than 1 MB: name a smaller file" in problem(written(tmp_path, "large.txt", b"x" * 1_000_001))
    assert "is empty" in problem(written(tmp_path, "empty.txt", b""))
    assert "is encrypted" in problem(written(tmp_path, "secret.pdf", pdf_of("Text.", password="x")))


def test_small_pdf_that_inflates_does_not_grow_this_process(tmp_path: Path) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    file = written(tmp_path, "a.pdf", pdf_of("Text." + ") Tj (" * 2_500_000, compressed=True))
    assert file.stat().st_size < 150_000
    made_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "drawing operations" in problem(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - max(before_kb, made_kb) < 10_000


def test_document_beyond_its_computing_time_ends_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def killed_process(*_: object) -> tuple[bytes, int]:
        return b"", -9

    monkeypatch.setattr(separate_reader, "_output", killed_process)
    assert "computing time" in problem(written(tmp_path, "a.txt", b"x"))


def test_cancelled_reading_ends_its_process_at_once(tmp_path: Path) -> None:
    async def cancelled() -> float:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await read(written(tmp_path, "a.pdf", nested_pdf(24)))
        return loop.time() - began_s

    assert asyncio.run(cancelled()) < 5
    assert not _reading_processes()


def _reading_processes() -> list[str]:
    """Returns the command lines of this process's children that read documents."""
    children = " ".join(file.read_text() for file in Path("/proc/self/task").glob("*/children")).split()
    commands = [Path(f"/proc/{child}/cmdline").read_text() for child in children]
    return [command for command in commands if "document_process" in command]


def test_number_of_processes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0

    async def counted(*_: object) -> tuple[bytes, int]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return b'{"parts": []}', 0

    async def all_at_once() -> None:
        await asyncio.gather(*(read(written(tmp_path, f"{number}.txt", b"x")) for number in range(9)))

    monkeypatch.setattr(separate_reader, "_output", counted)
    asyncio.run(all_at_once())
    assert most == separate_reader.MAX_PROCESSES
