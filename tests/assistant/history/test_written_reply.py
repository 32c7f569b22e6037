"""A reply as the model wrote it, cut to what was heard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.history.cut_to_heard import SpokenTranscript
from assistant.history.history import History
from assistant.history.items import AssistantMessage, ItemId, ToolUse
from assistant.history.prompt_limits import tokens_of
from assistant.history.written_reply import MAX_CHARS, WrittenReply
from assistant.text.chunker import Chunker
from assistant.text.markup.notes import block_notes
from assistant.turns.events import ReplyId
from audio.tts import WordMark
from audio.units import ReplySamples
from llm.chat import FunctionCall

NOTES = block_notes("en", shown=True)
CODE = "```python\nfor n in range(3):\n\tprint(n)\n```"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
REPLY = ReplyId(1, 1)


def written(*answers: str) -> WrittenReply:
    reply = WrittenReply(NOTES)
    for answer in answers:
        reply.add_text(answer)
        reply.end_answer()
    return reply


def spoken(text: str) -> str:
    chunker = Chunker(notes=NOTES)
    return " ".join(chunk.text for chunk in (*chunker.feed(text), *chunker.finish()))


def test_reply_heard_in_full_is_kept_as_written() -> None:
    text = f"See **this** and [the docs](https://example.org/a):\n\n{CODE}\n\n- one\n- two 😀\n\n{TABLE}\n\nDone."
    assert written(text).heard(spoken(text)) == text


@pytest.mark.parametrize(
    ("heard", "kept"),
    [
        ("", ""),
        ("Look at", "Look at"),
        ("Look at this:", "Look at **this**:"),
        ("Look at this: Here is the", "Look at **this**: Here is the"),
        ("Look at this: Here is the Python code.", f"Look at **this**:\n\n{CODE}"),
        ("Look at this: Here is the Python code. It", f"Look at **this**:\n\n{CODE}\n\n- It"),
        ("Look at this: Here is the Python code. It counts. Here is a table: a, b.",
         f"Look at **this**:\n\n{CODE}\n\n- It counts.\n\n{TABLE}"),
    ],
)  # fmt: skip
def test_interrupted_reply_is_kept_up_to_what_was_heard(heard: str, kept: str) -> None:
    assert written(f"Look at **this**:\n\n{CODE}\n\n- It counts.\n\n{TABLE}\n\nBye.").heard(heard) == kept


@pytest.mark.parametrize(
    ("heard", "unheard"),
    [
        ("", f"Look at **this**:\n\n{CODE}\n\n- It counts.\n\n{TABLE}\n\nBye."),
        ("Look at", f" **this**:\n\n{CODE}\n\n- It counts.\n\n{TABLE}\n\nBye."),
        ("Look at this: Here is the", f"\n\n{CODE}\n\n- It counts.\n\n{TABLE}\n\nBye."),
        ("Look at this: Here is the Python code. It", f" counts.\n\n{TABLE}\n\nBye."),
        ("Look at this: Here is the Python code. It counts. Here is a table: a, b.", "\n\nBye."),
    ],
)  # fmt: skip
def test_rest_of_an_interrupted_reply_is_kept_as_unheard(heard: str, unheard: str) -> None:
    reply = written(f"Look at **this**:\n\n{CODE}\n\n- It counts.\n\n{TABLE}\n\nBye.")
    assert reply.split(heard)[1] == unheard


def test_emphasis_that_was_cut_begins_again_in_the_unheard_rest() -> None:
    assert written("It is **very important** now.").split("It is very") == ("It is very", " **important** now.")


def test_later_answers_of_a_reply_are_unheard() -> None:
    assert written("One moment.", "It rains.").split("One moment.") == ("One moment.", "\n\nIt rains.")


def test_unheard_text_is_kept_and_not_sent_to_the_model() -> None:
    history = History("", max_turns=9)
    history.add_reply(REPLY, SpokenTranscript())
    history.set_heard(REPLY, ReplySamples(0), complete=False, answer="It is ten. Anything else?")
    answered = history.items[-1]
    assert isinstance(answered, AssistantMessage)
    assert (answered.text, answered.unheard) == ("", "It is ten. Anything else?")
    assert history.messages() == ()
    history.retract(REPLY)
    assert history.items == ()


def test_block_that_is_still_written_is_closed() -> None:
    assert written("Look:\n\n```\nprint(").heard("Look: Here is the code.") == "Look:\n\n```\nprint(\n```"


def test_link_of_which_a_part_was_heard_is_words() -> None:
    text = "See [the long guide](https://example.org) now."
    assert written(text).heard("See the long") == "See the long"
    assert written(text).heard("See the long guide") == "See [the long guide](https://example.org)"


def test_words_with_a_gap_have_no_markup() -> None:
    assert written(f"One two three.\n\n{CODE}").heard("One … three. Here is the Python code.") == ""


def test_answers_before_and_after_tools_are_paragraphs() -> None:
    reply = written("I **look**.", f"Here:\n\n{CODE}\n\nBye now.")
    assert reply.text == f"I **look**.\n\nHere:\n\n{CODE}\n\nBye now."
    assert reply.heard("I look. Here: Here is the Python code. Bye") == f"I **look**.\n\nHere:\n\n{CODE}\n\nBye"


def test_notice_before_the_answer_is_left_out() -> None:
    reply = WrittenReply(NOTES)
    reply.add_paragraph("Another model answers.")
    reply.add_text("It is **noon**.")
    assert reply.text == reply.heard("It is noon.") == "It is **noon**."


def test_apology_follows_what_was_said_of_a_broken_answer() -> None:
    reply = WrittenReply(NOTES)
    reply.add_text(f"{CODE}\n\nThis is **fine**. And then the")
    reply.add_paragraph("Sorry, my answer breaks off there.")
    heard = "Here is the Python code. This is fine. Sorry, my answer"
    assert reply.heard(heard) == f"{CODE}\n\nThis is **fine**.\n\nSorry, my answer"


def test_text_beyond_the_limit_is_not_kept() -> None:
    assert written("x" * (MAX_CHARS + 1)).heard("x") == ""


@given(st.text("ab.*`#|-\n[]() 1é😀~$_\t", max_size=60), st.integers(0, 30))
def test_any_text_is_cut_to_words_that_are_spoken(text: str, words: int) -> None:
    all_words = spoken(text).split()
    heard = " ".join(all_words[:words])
    kept = written(text).heard(heard)
    if len(all_words) <= words and any(map(str.isalnum, heard)):
        assert kept.replace("\n```", "").startswith(text.strip()[:1])
    if not any(map(str.isalnum, heard)):
        assert kept == ""


def mark(text_end: int, number: int) -> WordMark:
    """Returns the mark of a word; each lasts 10 samples."""
    return WordMark(0, text_end, ReplySamples(10 * number), ReplySamples(10 * number + 10))


def heard_message(text: str, said: str, words: int) -> AssistantMessage:
    """Returns the history's item of a reply of which these words were heard."""
    transcript = SpokenTranscript(written(text))
    transcript.begin_chunk(said)
    ends = [at for at, char in enumerate(said) if char == " "] + [len(said)]
    transcript.add_audio(10 * len(ends), tuple(mark(end, n) for n, end in enumerate(ends)))
    history = History("", 20)
    item = history.add_reply(REPLY, transcript)
    history.add_tool_call(REPLY, ToolUse(FunctionCall("c", "f", "{}"), "out", len("Look:")))
    history.set_heard(REPLY, ReplySamples(10 * words), complete=words == len(ends))
    found = history.find(item)
    assert isinstance(found, AssistantMessage)
    assert [one.content for one in history.messages() if one.content != "out"] == (
        ["Look:", found.written.removeprefix("Look:").strip()] if words > 1 else ["Look:"]
    )
    return found


def test_history_holds_both_forms_and_the_prompt_the_markdown() -> None:
    said = spoken(f"Look:\n\n{CODE}\n\nBye.")
    found = heard_message(f"Look:\n\n{CODE}\n\nBye.", said, 7)
    assert (found.text, found.markup, found.complete) == (said, f"Look:\n\n{CODE}\n\nBye.", True)
    assert tokens_of(found) > tokens_of(AssistantMessage(ItemId("i"), said, tool_uses=found.tool_uses))
    cut = heard_message(f"Look:\n\n{CODE}\n\nBye.", said, 1)
    assert (cut.text, cut.markup, cut.complete) == ("Look:", "", False)


def test_truncation_by_a_client_cuts_the_markdown() -> None:
    transcript = SpokenTranscript(written(f"Hi **you**.\n\n{CODE}"))
    transcript.begin_chunk("Hi you.")
    transcript.add_audio(20, (mark(2, 0), mark(7, 1)))
    history = History("", 20)
    item = history.add_reply(REPLY, transcript)
    history.set_heard(REPLY, ReplySamples(20), complete=True)
    assert history.truncate(item, ReplySamples(12)) == "Hi"
    found = history.find(item)
    assert isinstance(found, AssistantMessage)
    assert found.written == "Hi"


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
    reply.add_text(WRITTEN)
    assert reply.heard("Look: Here is the Python code. Here is a") == "Look:\n\n```python\nprint(1)\n```\n\nHere is a"
