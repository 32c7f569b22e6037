"""The page keeps conversations: on the server, in the browser, or nowhere; reload, continue, search, export, delete."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page
from support.pages.page_browser import wait_until
from support.servers.page_server import Running, page_server

from assistant.storage.conversation_file import ConversationFile

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

Choice = Literal["server", "browser", "no"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    file = ConversationFile(folder / "c.sqlite3", time.time)
    with page_server(folder / "traces", "server.resume_s=30", "tts.speed=2", conversations=file) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Running) -> Iterator[Page]:
    """A page in text-only mode, in a window of its own."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script("localStorage.setItem('repartee', JSON.stringify({textOnly: true}))")
    page.goto(server.url)
    yield page
    context.close()
    assert errors == []


def choose(page: Page, choice: Choice) -> None:
    page.click("#history-open")
    page.check(f"#history input[value={choice}]")
    page.keyboard.press("Escape")
    page.wait_for_selector("#history", state="hidden")


def shown(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#transcript .item .text").all_inner_texts()]


def say(page: Page, text: str) -> None:
    """Types a message and waits until its reply is complete and kept."""
    page.fill("#text-input", text)
    page.press("#text-input", "Enter")
    wait_until(page, lambda: shown(page)[-2:-1] == [text], "a reply")
    page.wait_for_selector("body[data-phase=listening]", timeout=20_000)
    wait_until(page, lambda: tab_record(page)["messages"][-2:-1] == [tab_message(text)], "the copy of the tab")


def tab_message(text: str) -> dict[str, object]:
    return {"role": "user", "text": text, "spoken": False, "complete": True}


OPEN_AFRESH = """() => {
    document.querySelector("#history [role=status]").textContent = "loading";
    document.querySelector("#history-open").click();
}"""
"""Opens the panel; when it has loaded the list, it replaces the text of its status."""


def listed(page: Page) -> list[str]:
    """Opens the panel and returns the titles."""
    page.evaluate(OPEN_AFRESH)
    wait_until(page, lambda: page.inner_text("#history [role=status]") != "loading", "the list")
    return page.locator("#history .name").all_inner_texts()


def check_listed(page: Page, titles: list[str]) -> None:
    """Opens the panel, again if needed: the server keeps a message after its reply. Checks the titles."""

    def agrees() -> bool:
        if page.locator("#history").is_visible():
            page.keyboard.press("Escape")
        return listed(page) == titles

    if not titles:
        page.wait_for_timeout(500)
        assert agrees()
        return
    wait_until(page, agrees, f"these titles: {titles}")


def tab_record(page: Page) -> dict[str, Any]:
    """Returns the copy of the conversation in the tab; without messages before it is written."""
    stored = page.evaluate("sessionStorage.getItem('repartee.tab')")
    record: dict[str, Any] = json.loads(stored) if stored else {"messages": []}
    return record


def end(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=idle]")


@pytest.mark.parametrize("choice", ["server", "browser", "no"])
def test_reload_continues_the_running_conversation(page: Page, choice: Choice) -> None:
    choose(page, choice)
    say(page, "what is two plus three")
    before, token = shown(page), tab_record(page)["token"]
    page.reload()
    wait_until(page, lambda: shown(page) == before, "the transcript")
    assert page.inner_text("#start-label") == "Continue conversation"
    say(page, "what is three plus three")
    assert shown(page)[:3] == [*before, "what is three plus three"]
    assert tab_record(page)["token"] == token
    if choice != "no":
        check_listed(page, ["what is two plus three"])


@pytest.mark.parametrize("choice", ["server", "browser"])
def test_conversation_is_found_renamed_and_continued(page: Page, choice: Choice) -> None:
    choose(page, choice)
    say(page, "what is two plus four")
    end(page)
    say(page, "what is nine minus two")
    end(page)
    check_listed(page, ["what is nine minus two", "what is two plus four"])
    page.fill("#history input[type=search]", "PLUS")
    names = page.locator("#history .name")
    wait_until(page, lambda: names.all_inner_texts() == ["what is two plus four"], "the search")
    page.click("#history .kept-row")
    page.wait_for_selector("#history .messages")
    assert page.locator("#history .messages .item").count() == 2
    page.click("#history .actions >> text=Rename")
    page.fill("#history .rename", "  My   sums ")
    page.press("#history .rename", "Enter")
    page.wait_for_selector("#history h3 >> text=My sums")
    page.click("#history .actions button.primary")
    assert page.evaluate("document.activeElement.id") == "start"
    assert shown(page)[0] == "what is two plus four"
    say(page, "what is two plus five")
    assert [shown(page)[0], shown(page)[2]] == ["what is two plus four", "what is two plus five"]
    end(page)
    check_listed(page, ["My sums", "what is nine minus two"])
    assert "2 turns" in page.locator("#history .kept-row").first.inner_text()


@pytest.mark.parametrize("choice", ["server", "browser"])
def test_conversation_is_exported_and_deleted(page: Page, choice: Choice) -> None:
    choose(page, choice)
    say(page, "what is two plus six")
    end(page)
    say(page, "what is two plus seven")
    end(page)
    check_listed(page, ["what is two plus seven", "what is two plus six"])
    page.click("#history .kept-row >> nth=1")
    page.wait_for_selector("#history .messages")
    text = downloaded(page, "Save as Markdown")
    assert text.startswith("# what is two plus six\n")
    assert "**Repartee:** " in text
    assert json.loads(downloaded(page, "Save as JSON"))["messages"][0] == tab_message("what is two plus six")
    page.click("#history .actions .danger")
    page.click("text=Really delete?")
    names = page.locator("#history .name")
    wait_until(page, lambda: names.all_inner_texts() == ["what is two plus seven"], "one left")
    page.click("#history .keep-choice > .danger")
    page.click("text=Really delete all of them?")
    wait_until(page, lambda: names.count() == 0, "none left")
    assert "No conversations yet" in page.inner_text("#history [role=status]")


def downloaded(page: Page, button: str) -> str:
    with page.expect_download() as saved:
        page.click(f"text={button}")
    return Path(saved.value.path()).read_text()


def test_nothing_is_kept_without_consent(page: Page, folder: Path) -> None:
    say(page, "what is twelve plus thirteen")
    end(page)
    check_listed(page, [])
    assert "Choose below" in page.inner_text("#history [role=status]")
    content = b"".join(path.read_bytes() for path in folder.glob("c.sqlite3*"))
    assert b"twelve plus thirteen" not in content
    assert page.evaluate("localStorage.getItem('repartee.browser')") is None


def test_other_browser_does_not_see_it(page: Page, browser: Browser, server: Running) -> None:
    choose(page, "server")
    say(page, "what is two plus eight")
    other = browser.new_context(service_workers="block").new_page()
    other.goto(server.url)
    choose(other, "server")
    check_listed(other, [])
    other.context.close()
    tab = page.context.new_page()
    tab.goto(server.url)
    check_listed(tab, ["what is two plus eight"])


def test_reload_without_a_server_keeps_the_transcript(page: Page) -> None:
    say(page, "what is two plus fifteen")
    before = shown(page)
    page.reload()
    wait_until(page, lambda: shown(page) == before, "the transcript")
    page.context.set_offline(True)
    page.click("#start")
    page.wait_for_timeout(1000)
    page.click("#start")
    wait_until(page, lambda: shown(page) == before, "the transcript")
    assert page.inner_text("#start-label") == "Continue conversation"
    page.context.set_offline(False)
    say(page, "what is two plus sixteen")
    assert shown(page)[0] == "what is two plus fifteen"


def test_duplicated_tab_does_not_take_over_the_session(page: Page, server: Running) -> None:
    say(page, "what is two plus nine")
    record = page.evaluate("sessionStorage.getItem('repartee.tab')")
    tab = page.context.new_page()
    tab.add_init_script(f"sessionStorage.setItem('repartee.tab', {json.dumps(record)})")
    tab.goto(server.url)
    tab.wait_for_timeout(500)
    assert tab.inner_text("#start-label") == "Start conversation"
    assert shown(tab) == []


def test_new_conversation_clears_the_transcript(page: Page) -> None:
    choose(page, "browser")
    say(page, "what is two plus ten")
    page.click("#history-open")
    page.click("text=New conversation")
    wait_until(page, lambda: shown(page) == [], "an empty transcript")
    assert page.inner_text("#start-label") == "Start conversation"
    say(page, "what is two plus eleven")
    assert shown(page)[0] == "what is two plus eleven"


@pytest.mark.parametrize("choice", ["server", "browser"])
def test_deleting_the_running_conversation_ends_its_keeping(page: Page, choice: Choice) -> None:
    choose(page, choice)
    say(page, "what is two plus twelve")
    check_listed(page, ["what is two plus twelve"])
    page.click("#history .kept-row")
    page.click("#history .actions .danger")
    page.click("text=Really delete?")
    wait_until(page, lambda: page.locator("#history .name").count() == 0, "none left")
    page.keyboard.press("Escape")
    say(page, "what is two plus thirteen")
    page.reload()
    wait_until(page, lambda: len(shown(page)) == 4, "the transcript")
    say(page, "what is two plus fourteen")
    check_listed(page, [])


def test_panel_covers_a_phone_and_closes_by_escape_and_back(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for close in (
        lambda: page.keyboard.press("Escape"),
        page.go_back,
        lambda: page.click("#history [aria-label^=Close]"),
    ):
        page.click("#history-open")
        box = page.locator("#history").bounding_box()
        assert box == {"x": 0, "y": 0, "width": 390, "height": 844}
        assert page.evaluate("document.querySelector('main').inert")
        close()
        page.wait_for_selector("#history", state="hidden")
        assert page.evaluate("document.activeElement.id") == "history-open"
        assert not page.evaluate("document.querySelector('main').inert")
    page.set_viewport_size({"width": 1280, "height": 800})


def test_damaged_storage_of_the_tab_is_ignored(page: Page) -> None:
    for text in (
        "{",
        '"text"',
        "null",
        '{"messages": 7}',
        '{"messages": [{"role": "x"}], "running": true, "key": "k"}',
    ):
        page.evaluate("(text) => sessionStorage.setItem('repartee.tab', text)", text)
        page.reload()
        page.wait_for_timeout(200)
        assert page.inner_text("#start-label").endswith("conversation")


def words(page: Page) -> list[list[str]]:
    """Returns the words of each line, without the label of what was not heard."""
    return [text.replace("(not heard)", "").split() for text in shown(page)]


@pytest.mark.parametrize("choice", ["server", "browser"])
def test_unheard_text_and_code_are_shown_after_a_reload_and_when_continued(
    browser: Browser, tmp_path: Path, choice: Choice
) -> None:
    code = "def f(n):\n    return n"
    long = " ".join(f"Sentence number {n} is here." for n in range(40))
    answer = f"Read **this** now. {long}\n\n```python\n{code}\n```\n\nThe end."
    file = ConversationFile(tmp_path / "c.sqlite3", time.time)
    answers = (answer, "Fine.", "It is changed.")
    with page_server(tmp_path / "traces", "server.resume_s=30", answers=answers, conversations=file) as server:
        page = browser.new_context(service_workers="block").new_page()
        page.goto(server.url)
        choose(page, choice)
        page.fill("#text-input", "write a function")
        page.press("#text-input", "Enter")
        wait_until(page, lambda: page.locator("#transcript .word.played").count() > 2, "words that are heard")
        page.keyboard.press("Escape")
        page.wait_for_selector("body[data-phase=listening]")
        wait_until(page, lambda: "unheard" in str(tab_record(page)["messages"][-1:]), "the copy of the tab")
        heard = page.locator("#transcript .word.played").count()
        before = words(page)
        assert before[-1][-2:] == ["The", "end."]
        assert "was not heard" in page.inner_text("#transcript .item:last-child .note")
        page.reload()
        wait_until(page, lambda: words(page) == before, "the whole text")
        assert abs(page.locator("#transcript .word.played").count() - heard) <= 1
        assert page.inner_text("#transcript .rich pre code").strip() == code
        assert page.locator("#transcript .rich .visually-hidden").inner_text().strip() == "(not heard)"
        say(page, "thanks")
        assert words(page)[: len(before)] == before
        end(page)
        check_listed(page, ["write a function"])
        page.click("#history .kept-row")
        page.wait_for_selector("#history .messages .rich pre")
        exported = downloaded(page, "Save as Markdown")
        assert "*(not heard)*" in exported
        assert f"```python\n{code}\n```\n\nThe end." in exported
        page.click("#history .actions button.primary")
        wait_until(page, lambda: page.locator("#transcript .rich pre").count() == 1, "the code")
        say(page, "change its second line")
        assert shown(page)[-1] == "It is changed.", "the model got the earlier messages before the new one"
        assert page.inner_text("#transcript .rich pre code").strip() == code
        page.context.close()


def test_start_after_end_keeps_the_transcript_above(page: Page) -> None:
    choose(page, "browser")
    say(page, "what is two plus three")
    end(page)
    before = shown(page)
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    assert shown(page) == before
    say(page, "what is two plus nine")
    assert shown(page)[:3] == [*before, "what is two plus nine"]
    whole = shown(page)
    page.reload()
    wait_until(page, lambda: shown(page) == whole, "both conversations")
    assert [one["text"] for one in tab_record(page)["messages"] if one["role"] == "user"] == ["what is two plus nine"]
