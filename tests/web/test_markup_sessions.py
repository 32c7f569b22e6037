"""A reply's text as the language model wrote it, for clients that show Markdown."""

import asyncio

from session_harness import LONG, SessionHarness, run_scene


def test_client_that_shows_markdown_gets_the_text_as_written() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.update(repartee={"markup": True})
        await harness.speak()
        await harness.until("response.done")

    answer = "See **this**:\n\n```py\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nDone."
    harness = run_scene(scene, SessionHarness((answer,)))
    assert "".join(event["delta"] for event in harness.events("repartee.markup")) == answer
    said = harness.events("response.output_audio_transcript.done")[0]["transcript"]
    assert said == "See this: Here is the Python code. Here is a table: a, b. Done."
    kinds = [event["type"] for _, event in harness.log]
    assert kinds.index("repartee.markup") > kinds.index("response.output_item.added")


def test_other_clients_get_no_markup() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.update(repartee={"duck": True})
        await harness.speak()
        await harness.until("response.done")

    harness = run_scene(scene, SessionHarness(("See **this**: `x`.\n\n```\ny\n```",)))
    assert harness.events("repartee.markup") == []
    assert "leave out the code" in harness.events("response.output_audio_transcript.done")[0]["transcript"]


def test_reconnected_client_gets_the_markup_of_the_reply_again() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.update(repartee={"markup": True})
        await harness.speak()
        await harness.until("repartee.markup")
        await asyncio.sleep(0.1)
        harness.talk.on_disconnect()
        harness.log.clear()
        harness.client.comes_back()
        harness.talk.resume(None, None, None)
        harness._fetch()
        harness.talk.changed = harness._fetch

    harness = run_scene(scene, SessionHarness((f"**{LONG}**",)))
    written = [event["delta"] for event in harness.events("repartee.markup")]
    assert "".join(written).startswith("**" + LONG[:20])
