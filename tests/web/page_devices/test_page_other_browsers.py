"""The page in Firefox and in WebKitGTK: the layout of a phone, a typed turn with its sound, and the microphone."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from support.pages.other_browsers import BrowserPage, firefox, webkit
from support.servers.scripted_server import Reply, Script, Server, serving
from support.sound.virtual_card import virtual_card

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.alone,
    pytest.mark.timeout(300),
]

Opened = Callable[..., AbstractContextManager[BrowserPage]]

COVERED = """["#strip", "#start", "#interrupt", "#text-input", "#send", "#settings-open"].filter((selector) => {
    const element = document.querySelector(selector), box = element.getBoundingClientRect();
    const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.bottom > innerHeight + 1 || box.right > innerWidth + 1 || !(element === at || element.contains(at));
})"""


def wait_until_heard(server: Server) -> None:
    """Waits for a second of the microphone's sound."""
    end = time.monotonic() + 20
    while sum(map(len, server.audio_chunks)) < 24_000:
        assert time.monotonic() < end, "no sound of the microphone arrives"
        time.sleep(0.1)


@pytest.mark.parametrize("opened", [firefox, webkit])
def test_page_works_in_other_browsers(opened: Opened, tmp_path: Path) -> None:
    sound = (np.sin(np.arange(24_000) / 9) * 8000).astype(np.int16)
    script = Script([Reply("It is ten past four.", sound)], silence_timeout_ms=60_000)
    with virtual_card() as card, serving(script) as server, opened(server.url, card.environ, tmp_path) as page:
        page.wait_for("document.readyState === 'complete'")  # its scripts have run
        assert page.evaluate("document.documentElement.scrollWidth === innerWidth")
        assert page.evaluate(COVERED) == []
        page.submit("#text-input", "are you there")
        page.wait_for("(window.repartee?.turns.all[0]?.typed_ms ?? 0) > 20")
        assert page.evaluate("document.querySelector('#phase').textContent") in {
            "Repartee is speaking",
            "Microphone off: you can type",
        }
        page.wait_for("document.body.dataset.phase === 'listening'")
        page.wait_for("document.querySelectorAll('.item.assistant .word.played').length === 5")
        assert server.events_of("repartee.playout")[-1] == {
            "type": "repartee.playout",
            "response_id": "resp_1_1",
            "played_ms": 1000,
            "finished": True,
        }
        assert server.audio_chunks == []
        page.click("#mute")  # opens the microphone
        page.wait_for("document.querySelector('#phase').textContent.match(/Listening|You are speaking/)")
        assert page.evaluate("document.querySelectorAll('.notice').length") == 0
        wait_until_heard(server)
