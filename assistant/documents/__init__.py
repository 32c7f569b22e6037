"""Summaries of documents: each is split into parts, all parts are asked in parallel, the answers are told in order."""

from dataclasses import dataclass

MAX_FILE_MB = 20
"""Largest file that is read, in MB: 10,000 pages of text. The process that reads it has 1 GB."""

MAX_CHARS = 5_000_000
"""Characters of one document that are read, about 1500 pages of text."""


class DocumentError(Exception):
    """A document that cannot be read. The text is one sentence: the file, what is wrong, and the remedy."""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one file.

    Attributes:
        name: Name of the file, for the screen and the voice.
        text: Its whole text.
        is_markdown: Whether lines that begin with # are headings.
    """

    name: str
    text: str
    is_markdown: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a document that is asked at once.

    Attributes:
        document: Index of the document in the reading, from 0.
        name: Name of the document.
        number: Number in the document, from 1.
        count: How many parts the document has.
        heading: The heading that it stands under; "" if there is none.
        text: Its text; never blank.
    """

    document: int
    name: str
    number: int
    count: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document in parts.

    Attributes:
        name: Name of the file, for the screen and the voice.
        parts: Its parts, in order; their `document` is 0.
    """

    name: str
    parts: tuple[Part, ...]
