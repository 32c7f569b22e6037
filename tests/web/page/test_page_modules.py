"""The page's pure modules, tested in the browser: the page imports each file of tests/web/page_modules."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from support.pages.page_browser import chromium, load_recording, to_wire
from support.servers.scripted_server import Reply, Script, serving

from audio.level import audible_onset

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    script = Script([Reply("nothing", np.zeros(10, np.int16))])
    with serving(script) as server, chromium() as browser:
        page = browser.new_page()
        page.goto(server.url)
        yield page


@pytest.mark.parametrize("module", ["audio", "first-run", "player", "rich-text", "session", "timing"])
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
