"""The short form in which code and tables are spoken: a sentence that says what there is.

It is spoken as soon as the block begins, so that it delays nothing. The length of the block is not known then.
"""

from dataclasses import dataclass
from functools import cache

_CODE_LANGUAGES = {
    "python": "Python", "py": "Python", "python3": "Python", "javascript": "JavaScript", "js": "JavaScript",
    "typescript": "TypeScript", "ts": "TypeScript", "java": "Java", "kotlin": "Kotlin", "swift": "Swift", "go": "Go",
    "rust": "Rust", "c": "C", "cpp": "C++", "c++": "C++", "csharp": "C#", "php": "PHP", "ruby": "Ruby", "sql": "SQL",
    "html": "HTML", "css": "CSS", "json": "JSON", "yaml": "YAML", "toml": "TOML", "xml": "XML", "bash": "Bash",
}  # fmt: skip
"""Names of programming languages, by what follows the marks of a block of code."""

_MAX_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class BlockNotes:
    """Sentences for blocks.

    Attributes:
        code: Replaces the first block of code; "" for nothing.
        code_in: The same if the programming language, {language}, is known.
        table: Replaces a table; "": its cells are spoken.
        table_of: The same for a table with headings, {columns}.
    """

    code: str
    code_in: str = ""
    table: str = ""
    table_of: str = ""

    def of_code(self, info: str) -> str:
        """Returns the sentence for a block of code; `info`: the words after its opening marks."""
        words = info.split()
        name = _CODE_LANGUAGES.get(words[0].lower(), "") if words else ""
        return self.code_in.format(language=name) if name and self.code_in else self.code

    def of_table(self, head: str) -> str:
        """Returns the sentence for a table with this first line."""
        cells = [
            " ".join(cell.replace("*", "").replace("`", "").split()) for cell in head.strip().strip("|").split("|")
        ]
        named = [cell for cell in cells if cell]
        if not named or len(named) > _MAX_COLUMNS:
            return self.table
        return self.table_of.replace("{columns}", ", ".join(named))


_LEFT_OUT = {
    "en": "I'll leave out the code.",
    "de": "Den Code lasse ich weg.",
    "fr": "Je passe le code.",
    "es": "Omito el código.",
}
_SHOWN = {
    "en": BlockNotes(
        "Here is the code.", "Here is the {language} code.", "Here is a table.", "Here is a table: {columns}."
    ),
    "de": BlockNotes(
        "Hier ist der Code.", "Hier ist der Code in {language}.", "Hier ist eine Tabelle.",
        "Hier ist eine Tabelle: {columns}.",
    ),
    "fr": BlockNotes(
        "Voici le code.", "Voici le code en {language}.", "Voici un tableau.", "Voici un tableau : {columns}."
    ),
    "es": BlockNotes(
        "Aquí está el código.", "Aquí está el código en {language}.", "Aquí tienes una tabla.",
        "Aquí tienes una tabla: {columns}.",
    ),
}  # fmt: skip


@cache
def block_notes(language: str, *, shown: bool) -> BlockNotes:
    """Returns the sentences in a language; English where there are none.

    `shown`: the user sees the blocks on a screen. Otherwise tables are read aloud.
    """
    known = language.lower().replace("_", "-").split("-")[0]
    if shown:
        return _SHOWN.get(known, _SHOWN["en"])
    return BlockNotes(_LEFT_OUT.get(known, _LEFT_OUT["en"]))
