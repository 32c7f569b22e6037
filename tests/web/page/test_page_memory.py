"""The page shows what is remembered of its user, who edits, deletes and switches it off."""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from support.pages.page_browser import wait_until
from support.servers.page_server import Running, page_server

from assistant.memory.extractor import Extractor
from assistant.memory.facts import Fact
from assistant.memory.keeper import FactKeeper
from assistant.memory.memory_file import MemoryFile
from assistant.memory.recalling_chat import Recall
from assistant.setup.answering.user_memory import MEMORY_THREADS, UserMemory, lines_of
from assistant.storage.conversation_database import ConversationDatabase
from assistant.storage.conversation_file import ConversationFile, owner_of_browser

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SECRET = "s" * 40


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> MemoryFile:
    return MemoryFile(ConversationDatabase(tmp_path_factory.mktemp("kept") / "c.sqlite3", 1.0), time.time)


@pytest.fixture(scope="module")
def server(file: MemoryFile) -> Iterator[Running]:
    keeper = FactKeeper(file, Recall(), MEMORY_THREADS, lambda _what: None)
    memory = UserMemory(keeper, Extractor(file, lambda: None, lines_of, keeper.changed, MEMORY_THREADS))
    conversations = ConversationFile(file.path, time.time)
    folder = file.path.parent / "traces"
    with page_server(folder, "server.resume_s=30", conversations=conversations, memory=memory) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Running, file: MemoryFile) -> Iterator[Page]:
    """A page with two remembered facts."""
    owner = owner_of_browser(SECRET)
    file.delete_all(owner)
    file.enable(owner, enabled=True)
    facts = [
        Fact("a", "my daughter is called Ada", "2026-11-20T10:00:00"),
        Fact("b", "I am allergic to nuts", "2026-11-21T10:00:00"),
    ]
    file.change(owner, {fact.key: fact for fact in facts})
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(
        f"localStorage.setItem('repartee.keep', 'server'); localStorage.setItem('repartee.browser', '{SECRET}')"
    )
    page.goto(server.url)
    page.click("#history-open")
    page.click("#history .memory summary")
    wait_until(page, lambda: len(shown(page)) == 2, "the facts")
    yield page
    context.close()
    assert errors == []


def shown(page: Page) -> list[str]:
    return page.locator("#history .fact").all_inner_texts()


def kept(file: MemoryFile) -> list[str]:
    return [fact.text for fact in file.facts(owner_of_browser(SECRET))]


def test_facts_are_shown_the_newest_first(page: Page) -> None:
    assert shown(page) == ["I am allergic to nuts", "my daughter is called Ada"]
    assert page.inner_text("#history .memory summary") == "What is remembered of you (2)"
    group = page.get_by_role("group", name="my daughter is called Ada")
    assert group.get_by_role("button").all_inner_texts() == ["Edit", "Delete"]


def test_fact_is_edited_with_the_keyboard(page: Page, file: MemoryFile) -> None:
    page.get_by_role("button", name="Edit: my daughter is called Ada").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("my daughter is called Eda")
    page.keyboard.press("Enter")
    wait_until(page, lambda: "my daughter is called Eda" in shown(page), "the new words")
    assert "my daughter is called Eda" in kept(file)
    page.get_by_role("button", name="Edit: I am allergic to nuts").click()
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    assert page.is_visible("#history")
    assert "I am allergic to nuts" in shown(page)


def test_secret_is_not_taken(page: Page, file: MemoryFile) -> None:
    page.get_by_role("button", name="Edit: I am allergic to nuts").click()
    page.keyboard.type("my PIN is 1234")
    page.keyboard.press("Enter")
    page.wait_for_selector("#history .memory .error:has-text('Secrets')")
    assert "I am allergic to nuts" in kept(file)


def test_fact_is_deleted_after_a_second_click(page: Page, file: MemoryFile) -> None:
    group = page.get_by_role("group", name="I am allergic to nuts")
    group.get_by_role("button", name="Delete").click()
    assert len(kept(file)) == 2
    group.get_by_role("button", name="Really delete?").click()
    wait_until(page, lambda: shown(page) == ["my daughter is called Ada"], "the deletion")
    assert kept(file) == ["my daughter is called Ada"]
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_everything_is_forgotten(page: Page, file: MemoryFile) -> None:
    page.get_by_role("button", name="Forget everything").click()
    page.get_by_role("button", name="Really forget everything?").click()
    wait_until(page, lambda: not shown(page), "the deletion")
    assert kept(file) == []


def test_memory_is_switched_off(page: Page, file: MemoryFile) -> None:
    page.uncheck("#history .memory input[type=checkbox]")
    page.reload()
    page.click("#history-open")
    page.click("#history .memory summary")
    wait_until(page, lambda: len(shown(page)) == 2, "the facts")
    assert not page.is_checked("#history .memory input[type=checkbox]")
