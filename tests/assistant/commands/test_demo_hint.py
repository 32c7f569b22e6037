"""The line of the demo about a missing language model: how to get one, or why the installed one does not answer."""

from io import StringIO

import pytest
from rich.console import Console

from assistant.commands.demo import _show_llm_choice
from assistant.config.settings import DEFAULTS
from assistant.endpoint_probe.local_servers import LlmChoice
from assistant.pipeline.engines import EngineChoice
from assistant.setup.engine_loader import EngineLoader


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (
            "",
            "no language model: the built-in skills answer; to get one: repartee models pull qwen3-0.6b, or to connect "
            "one: repartee endpoints add",
        ),
        (
            "a.gguf is damaged or not a GGUF file of a language model",
            "no language model: the built-in skills answer, because a.gguf is damaged or not a GGUF file of a language "
            "model",
        ),
    ],
)
def test_hint_names_the_problem_of_an_installed_model(problem: str, line: str) -> None:
    screen = StringIO()
    loader = EngineLoader(DEFAULTS, {}, [EngineChoice("llm", "skills", "", "instead", True, 0.0)])
    loader.local_problem = problem
    _show_llm_choice(Console(file=screen, width=300), LlmChoice(DEFAULTS), loader, "")
    assert screen.getvalue().strip() == line
