"""The page's pure modules, tested in the browser: the page imports each file of tests/web/page_modules."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page
from support.pages.page_browser import load_recording, to_wire
from support.servers.scripted_server import Server

from audio.level import audible_onset

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def page(context: BrowserContext, shared_server: Server) -> Page:
    page = context.new_page()
    page.goto(shared_server.url)
    return page


@pytest.mark.parametrize("module", ["audio", "first-run", "phone", "player", "rich-text", "session", "timing"])
def test_module_checks_pass(page: Page, module: str) -> None:
    result: dict[str, Any] = page.evaluate(f"import('/test/{module}.js').then((checks) => checks.default())")
    assert result["failures"] == []
    assert result["count"] >= 8


def test_failing_check_is_reported(page: Page) -> None:
    result = page.evaluate("import('/test/check.js').then(({run, same}) => run({'wrong': () => same(1, 2)}))")
    assert result == {"failures": ["wrong:  is 1, should be 2"], "count": 1}


def test_onset_is_the_same_in_page_and_server(page: Page) -> None:
    chance = np.random.default_rng(4)
    sounds = [to_wire(load_recording("rhasspy3_set-timer"))[:20_000], to_wire(load_recording("koala_noise"))[:20_000]]
    for level in (120, 164, 165, 400, 4000):
        noise = chance.normal(0, level, 9600)
        noise[: chance.integers(0, 6000)] = 0
        noise[chance.integers(0, 9000) :] *= chance.integers(0, 2)
        sounds.append(noise.clip(-32768, 32767).astype(np.int16))
    onsets = page.evaluate(
        "(sounds) => import('/test/audible-onset.js').then((onset) => onset.default(sounds))",
        [sound.tolist() for sound in sounds],
    )
    assert onsets == [audible_onset(sound, 24_000) for sound in sounds]
    assert None in onsets
    assert any(onsets)
