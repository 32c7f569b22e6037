"""Common parts of the tests of a conversation in the page: replies, phases, and scripted events of the server."""

from typing import Any

import numpy as np
from playwright.sync_api import Page
from support.pages.page_browser import load_recording, start_recording, to_wire
from support.servers.scripted_server import Reply

SPEECH_BOUNDS_S = (0.3, 1.9)
"""Position of the question in the fake microphone's sound; it begins with 0.7 s of room noise."""


def reply(seconds: float, text: str = "It is ten past four.") -> Reply:
    """Returns real speech from its first sound on."""
    sound = load_recording("Montreal-Forced-Al_mfa-internalsil")
    begin = int(np.flatnonzero(np.abs(sound) > 0.03)[0])
    return Reply(text, to_wire(sound[begin : begin + int(16_000 * seconds)]))


def start(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    start_recording(page)


def wait_for_phase(page: Page, phase: str) -> None:
    """Waits for a phase. It may be half a second old then, because the browser polls less often after a while."""
    page.wait_for_selector(f"body[data-phase={phase}]", timeout=20_000)


def dispatch_events(page: Page, *events: dict[str, Any]) -> None:
    """Passes events to the page as if the server had sent them together."""
    page.evaluate(
        "(events) => events.forEach((detail) => "
        "window.repartee.session.connection.dispatchEvent(new CustomEvent('event', { detail })))",
        events,
    )


def start_with_push_to_talk(page: Page) -> None:
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    start(page)


def send_texts(page: Page, *texts: str) -> None:
    """Types texts directly one after the other."""
    for text in texts:
        page.fill("#text-input", text)
        page.press("#text-input", "Enter")


def record_phases(page: Page) -> None:
    """Records the phases from now on."""
    page.evaluate("""() => {
        window.phases = [document.body.dataset.phase];
        new MutationObserver(() => {
            const { phase } = document.body.dataset;
            if (phases.at(-1) !== phase) phases.push(phase);
        }).observe(document.body, { attributeFilter: ["data-phase"] });
    }""")
