"""A reply's text as the language model wrote it, for clients that show Markdown."""

import asyncio

import pytest
from support.conversations.session_harness import LONG, SessionHarness

pytestmark = pytest.mark.virtual_time


async def test_client_that_shows_markdown_gets_the_text_as_written() -> None:
    answer = "See **this**:\n\n```py\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nDone."
    async with SessionHarness((answer,)).running() as harness:
        await harness.update(repartee={"markup": True})
        await harness.speak(until="response.done")
    assert "".join(event["delta"] for event in harness.events("repartee.markup")) == answer
    said = harness.events("response.output_audio_transcript.done")[0]["transcript"]
    assert said == "See this: Here is the Python code. Here is a table: a, b. Done."
    kinds = [event["type"] for _, event in harness.log]
    assert kinds.index("repartee.markup") > kinds.index("response.output_item.added")


async def test_other_clients_get_no_markup() -> None:
    async with SessionHarness(("See **this**: `x`.\n\n```\ny\n```",)).running() as harness:
        await harness.update(repartee={"duck": True})
        await harness.speak(until="response.done")
    assert harness.events("repartee.markup") == []
    assert "leave out the code" in harness.events("response.output_audio_transcript.done")[0]["transcript"]


async def test_reconnected_client_gets_the_markup_of_the_reply_again() -> None:
    async with SessionHarness((f"**{LONG}**",)).running() as harness:
        await harness.update(repartee={"markup": True})
        await harness.speak(until="repartee.markup")
        await asyncio.sleep(0.1)
        harness.talk.on_disconnect()
        harness.resume()
    written = [event["delta"] for event in harness.events("repartee.markup")]
    assert "".join(written).startswith("**" + LONG[:20])


CODE = "```py\nx = 1\nprint(x)\n```"


def last_prompt(harness: SessionHarness) -> str:
    """Returns what the model saw of its first answer when it was asked for the second."""
    (answered,) = [message for message in harness.model.asked[-1] if message.role == "assistant"]
    return answered.content


async def test_model_sees_its_code_in_the_next_prompt() -> None:
    async with SessionHarness((f"**Look**:\n\n{CODE}\n\nDone.", "Good.")).running() as harness:
        await harness.update(repartee={"markup": True})
        for _ in range(2):
            await harness.speak(until="response.done")
            await asyncio.sleep(5)
    assert last_prompt(harness) == f"**Look**:\n\n{CODE}\n\nDone."
    said = harness.events("response.output_audio_transcript.done")[0]["transcript"]
    assert said == "Look: Here is the Python code. Done."


async def test_model_sees_the_spoken_form_where_the_user_has_seen_no_more() -> None:
    async with SessionHarness((f"**Look**:\n\n{CODE}\n\nDone.", "Good.")).running() as harness:
        for _ in range(2):
            await harness.speak(until="response.done")
            await asyncio.sleep(5)
    assert last_prompt(harness) == "Look: I'll leave out the code. Done."


async def test_interrupted_reply_keeps_the_code_whose_sentence_was_heard() -> None:
    async with SessionHarness((f"{CODE}\n\n**{LONG}**.", "Good.")).running() as harness:
        await harness.update(repartee={"markup": True})
        await harness.speak(until="repartee.words")
        item = harness.events("response.output_item.added")[0]["item"]["id"]
        last = [words["words"][-1] for words in harness.events("repartee.words")]
        code_ends_ms = round(max(word["end_ms"] for word in last if word["text"].startswith("code")))
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=code_ends_ms + 50)
        await asyncio.sleep(1)
        await harness.send("conversation.item.retrieve", item_id=item)
        await harness.speak()
        await asyncio.sleep(3)
    assert last_prompt(harness) == CODE
    assert harness.events("repartee.heard")[-1]["markup"] == CODE
    (retrieved,) = harness.events("conversation.item.retrieved")
    assert retrieved["item"]["content"][0]["transcript"] == "Here is the Python code."


async def test_rest_of_a_resumed_reply_is_told_as_no_longer_unheard() -> None:
    async with SessionHarness((LONG,), transcripts=("what time is it", "")).running() as harness:
        await harness.update(repartee={"markup": True})
        await harness.speak(until="repartee.words")
        await harness.sound(1200, loud=False)
        await harness.speak()
        await harness.sound(4000, loud=False)
        await harness.until("response.done", 2)
    stopped, continued = harness.events("repartee.heard")
    assert stopped["unheard"]
    assert (continued["item_id"], continued["unheard"], continued["continued"]) == (stopped["item_id"], "", True)
