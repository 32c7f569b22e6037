"""Several sources of tools as one."""

from collections.abc import Callable, Sequence

from assistant.tools import ToolError, Tools
from llm.chat import Function


class JoinedTools:
    """Implements `Tools` with the tools of all sources. Of two with the same name the first source's counts."""

    def __init__(self, sources: Sequence[Tools]) -> None:
        """`sources`: in order."""
        self._sources = tuple(sources)

    @property
    def functions(self) -> tuple[Function, ...]:
        """See `Tools`."""
        named: dict[str, Function] = {}
        for source in self._sources:
            for function in source.functions:
                named.setdefault(function.name, function)
        return tuple(named.values())

    async def call(self, name: str, arguments: str) -> str:
        """See `Tools`."""
        for source in self._sources:
            if any(function.name == name for function in source.functions):
                return await source.call(name, arguments)
        raise ToolError("there is no tool of that name")

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """See `Tools`."""
        ended = [source.subscribe(report_problem) for source in self._sources]

        def unsubscribe() -> None:
            for end in ended:
                end()

        return unsubscribe
