"""A reply that was cut keeps its Markdown up to what was heard."""

from assistant.history.written_reply import WrittenReply
from assistant.text.markup.notes import block_notes

WRITTEN = """Look:

```python
print(1)
```

| city | temperature |
|---|---|
| Berlin | 12 |

Done."""


def test_cut_table_sentence_starts_a_new_line_after_code() -> None:
    reply = WrittenReply(block_notes("en", shown=True))
    reply.add(WRITTEN)
    assert reply.heard("Look: Here is the Python code. Here is a") == "Look:\n\n```python\nprint(1)\n```\n\nHere is a"
