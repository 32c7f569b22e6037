"""Code and tables of a reply in the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.commands.talk.blocks import MAX_BLOCKS, MAX_LINES, ReplyBlocks, ShownBlock
from assistant.commands.talk.view import View
from assistant.events import ChunkSpoken, MarkupWritten, ReplySent, ReplyStarted, ReplyStopped
from assistant.history.items import ItemId
from assistant.turns.events import ReplyId

REPLY = ReplyId(1, 1)


def blocks_of(text: str, size: int = 7) -> tuple[ShownBlock, ...]:
    blocks = ReplyBlocks()
    for at in range(0, len(text), size):
        blocks.add_text(text[at : at + size])
    return blocks.blocks()


def test_code_keeps_its_lines_and_spaces() -> None:
    text = "See:\n\n```python\ndef f():\n\treturn  1\n\n```\nand\n~~~\nx\n~~~"
    assert blocks_of(text) == (
        ShownBlock("code (python)", ("def f():", "    return  1", "")),
        ShownBlock("code", ("x",)),
    )


def test_code_that_is_not_complete_is_shown() -> None:
    assert blocks_of("```sh\nls") == (ShownBlock("code (sh)", ("ls",)),)


def test_table_has_columns() -> None:
    (table,) = blocks_of("| City | **Height** |\n|:--|--:|\n| 東京 | 40 m |\n| Bern | `540 m` |\nEnd")
    assert table.lines == ("City  Height", "────  ──────", "東京  40 m", "Bern  540 m")


def test_wide_table_becomes_lists() -> None:
    (table,) = blocks_of(f"| a | b |\n|---|---|\n| {'x' * 50} | {'y' * 50} |")
    assert table.lines == (f"a: {'x' * 50}", f"b: {'y' * 50}")


def test_text_without_blocks_has_none() -> None:
    assert blocks_of("A | b\nand | c\n- one\n`code`") == ()


def test_long_code_is_cut() -> None:
    (block,) = blocks_of("```\n" + "x\n" * 100 + "```", 1000)
    assert len(block.lines) == MAX_LINES + 1
    assert block.lines[-1] == "… 40 more lines"
    assert len(blocks_of("```\nx\n```\n" * 20)) == MAX_BLOCKS


def test_escape_sequences_of_a_model_are_not_shown() -> None:
    (code,) = blocks_of("```\x1b]0;title\x07\n\x1b[31mred\x1b[0m \u202eevil\n```")
    (table,) = blocks_of("| \x1b[2Ja | b |\n|---|---|\n| \x9b31mc | \r\x08d |")
    for line in (code.title, *code.lines, *table.lines):
        assert line.isprintable()
    assert code.lines == ("[31mred[0m evil",)


@given(st.text(st.sampled_from("`|-~ \n\x1b[a\t\r\x9b\u202e:\\漢"), max_size=200))
def test_any_text_is_safe(text: str) -> None:
    for block in blocks_of(text):
        assert all(line.isprintable() for line in (block.title, *block.lines))


def test_links_follow_the_blocks_each_once() -> None:
    blocks = ReplyBlocks()
    blocks.add_text("[Goethe](https://a.example/Goethe_(poet)) or [x](https://b.example/x). See https://b.example/x.\n")
    blocks.add_text("```\nhttps://c.example\n```\n")
    assert blocks.blocks() == (ShownBlock("code", ("https://c.example",)),)
    assert blocks.blocks(links=True)[1:] == (
        ShownBlock("links", ("https://a.example/Goethe_(poet)", "https://b.example/x")),
    )


# ---- on the screen ----


def shown(*events: object) -> list[str]:
    view = View()
    for event in (ReplyStarted(REPLY, ItemId("a"), spoken=True), *events):
        view.apply(event, "12:00")  # type: ignore[arg-type]
    return [entry.text for entry in view.entries]


SAID = (
    ChunkSpoken(REPLY, "Here is the Python code."),
    MarkupWritten(REPLY, "```python\npri"),
    MarkupWritten(REPLY, "nt(1)\n```\n"),
    ChunkSpoken(REPLY, "Done."),
)


def test_blocks_follow_the_words_of_the_reply() -> None:
    sent = ReplySent(REPLY, "", None, None, None, None)
    assert shown(*SAID, sent) == ["Here is the Python code. Done.", "code (python):\n  print(1)"]
    assert shown(*SAID, sent, ReplyStopped(REPLY, "Here", 100.0, "voice"))[1:] == ["code (python):\n  print(1)"]


def test_blocks_of_an_interrupted_reply_are_shown() -> None:
    stopped = ReplyStopped(REPLY, "Here", 100.0, "voice")
    assert shown(*SAID, stopped) == ["Here is the Python code. Done.", "code (python):\n  print(1)"]


WRITTEN = (
    "Sure! A **short** answer:\n\n1. The *first* point.\n2. `code` in text.\n\n```python\nprint(1)\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\nMore: [this page](https://example.org)."
)
READABLE = ["Sure! A short answer:", "1. The first point.", "2. code in text.", "More: this page."]
BELOW = ["code (python):", "print(1)", "table:", "a  b", "─  ─", "1  2", "links:", "https://example.org"]


def test_reply_that_is_not_spoken_is_shown_without_markup_and_its_code_once() -> None:
    view = View()
    view.apply(ReplyStarted(REPLY, ItemId("a"), spoken=False), "12:00")
    for char in WRITTEN:
        view.apply(ChunkSpoken(REPLY, char), "12:00")
    view.apply(ReplySent(REPLY, WRITTEN, None, None, None, None), "12:00")
    text, *below = [entry.text for entry in view.entries]
    assert text == " ".join(READABLE)
    assert [line.strip() for block in below for line in block.splitlines()] == BELOW


def test_stopped_reply_that_is_not_spoken_shows_all_that_was_written() -> None:
    view = View()
    view.apply(ReplyStarted(REPLY, ItemId("a"), spoken=False), "12:00")
    view.apply(ChunkSpoken(REPLY, "A **short** an"), "12:00")
    view.apply(ReplyStopped(REPLY, "A **short** an", 0.0, "client"), "12:00")
    assert [(entry.text, entry.unheard_from) for entry in view.entries] == [("A short an", None)]
