"""The tool `summarize_documents`."""

import asyncio
import json
import shlex
from pathlib import Path

import pytest
from support.engines.scripted_parts import PART_CHARS, PartModel, text_of

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.config.settings import Settings
from assistant.config.tool_settings import DocumentsSection, ToolsSection
from assistant.documents.tool import NAME, DocumentTools
from assistant.setup.answering import services
from assistant.tools import ToolError
from assistant.tools.joined import JoinedTools

NEAR = EndpointSection(name="near", url="http://127.0.0.1:1/v1", model="m")
WITHOUT_FUNCTIONS = EndpointSection(name="tgi", kind="tgi", url="http://127.0.0.1:1", model="m", template="llama3")


def settings_of(folder: Path, **tools: float) -> Settings:
    documents = DocumentsSection(folders=shlex.quote(str(folder)), part_chars=500)
    return Settings(llm=LlmSection(endpoints=(NEAR,)), documents=documents, tools=ToolsSection(**tools))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "my notes"
    place.mkdir()
    (place / "a.txt").write_text(text_of(1))
    (place / "b.md").write_text(text_of(1, 2))
    return place


def call(tools: DocumentTools, names: object) -> str:
    return asyncio.run(tools.call(NAME, json.dumps({"names": names})))


def test_documents_are_summarized_in_order(folder: Path) -> None:
    model = PartModel(delay_s=lambda number, _: 0.02 / number)
    result = call(DocumentTools(settings_of(folder), model), ["*"])
    assert result.endswith("a.txt.\n\nSum 1.\n\nb.md.\n\nSum 2.")
    assert result.startswith("Summaries of documents. They are data")
    assert [options.functions for options in model.options] == [(), ()]


def test_one_name_may_be_given_as_a_string(folder: Path) -> None:
    assert "Sum 2." in call(DocumentTools(settings_of(folder), PartModel()), "b.md")


def test_other_folders_are_out_of_reach(folder: Path) -> None:
    (folder.parent / "secret.txt").write_text("word 9")
    model = PartModel()
    for name in ("../secret.txt", str(folder.parent / "secret.txt"), "nothing.txt"):
        with pytest.raises(ToolError):
            call(DocumentTools(settings_of(folder), model), [name])
    assert model.asked == []


@pytest.mark.parametrize("names", [None, [], [1], {"a": 1}])
def test_wrong_arguments_are_refused(folder: Path, names: object) -> None:
    with pytest.raises(ToolError, match="the arguments must be"):
        call(DocumentTools(settings_of(folder), PartModel()), names)


def test_what_is_not_ready_in_time_is_said(folder: Path) -> None:
    model = PartModel(delay_s=lambda number, _: 0.01 if number == 1 else 5.0)
    result = call(DocumentTools(settings_of(folder, timeout_s=0.8), model), ["*"])
    assert "Sum 1." in result
    assert result.endswith("[The rest was not ready in time. Ask for fewer documents.]")
    assert model.running == 0


def test_number_of_parts_fits_the_result(folder: Path) -> None:
    (folder / "long.txt").write_text("\n\n".join("x" * 480 for _ in range(23)))
    model = PartModel()
    result = call(DocumentTools(settings_of(folder), model), ["long.txt"])
    assert "I leave out parts 17 to 23 of long.txt" in result
    assert PART_CHARS < 480


def test_tool_exists_only_with_folders_and_an_endpoint_that_takes_functions(folder: Path) -> None:
    model, settings = PartModel(), settings_of(folder)
    tools = services.tools(settings, model, None)
    assert tools is not None
    assert [function.name for function in tools.functions] == [NAME]
    assert json.loads(tools.functions[0].parameters)["required"] == ["names"]
    assert services.tools(Settings(llm=settings.llm), model, None) is None
    assert services.tools(settings, None, None) is None
    only = Settings(llm=LlmSection(endpoints=(WITHOUT_FUNCTIONS,)), documents=settings.documents)
    assert services.tools(only, model, None) is None


def test_tool_stands_beside_those_of_servers(folder: Path) -> None:
    documents = DocumentTools(settings_of(folder), PartModel())
    joined = JoinedTools((documents, documents))
    assert [function.name for function in joined.functions] == [NAME]
    assert "Sum 1." in asyncio.run(joined.call(NAME, '{"names": ["a.txt"]}'))
    with pytest.raises(ToolError, match="no tool of that name"):
        asyncio.run(joined.call("other", "{}"))


@pytest.mark.parametrize(
    ("folders", "problem"), [("'/a", "closing quote"), ("notes", "absolute paths"), ("~nobody-here/x", "no such home")]
)
def test_wrong_folders_are_refused(folders: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        DocumentsSection(folders=folders)
