"""Several sources of tools as one."""

import asyncio

from support.engines.scripted_tools import ADD, WEATHER, ScriptedTools

from assistant.tools.joined import JoinedTools


def test_first_source_of_a_name_counts() -> None:
    first, second = ScriptedTools(result="first", takes_s=0.0), ScriptedTools(result="second", takes_s=0.0)
    first.functions, second.functions = (WEATHER,), (WEATHER, ADD)
    tools = JoinedTools((first, second))
    assert tools.functions == (WEATHER, ADD)
    assert asyncio.run(tools.call(WEATHER.name, "{}")) == "first"
    assert asyncio.run(tools.call(ADD.name, "{}")) == "second"


def test_problems_of_all_sources_are_reported_until_the_end() -> None:
    sources = (ScriptedTools(), ScriptedTools())
    end = JoinedTools(sources).subscribe(lambda _what: None)
    assert [source.listening for source in sources] == [1, 1]
    end()
    assert [source.listening for source in sources] == [0, 0]
