"""Parses function calls that a model writes into its answer, in the formats of known models. No I/O.

{"name": "look", "parameters": {"q": "x"}}     also in a list, in code marks and between tags
[TOOL_CALLS]look{"q": "x"}                      a name before an object: Mistral, gpt-oss, DeepSeek, Kimi
<function=look><parameter=q>x</parameter>       Qwen, MiniMax; GLM has <arg_key> and <arg_value>
call:look{q:<|"|>x<|"|>}                        Gemma
[look(q="x")]                                   Python: Llama, Gemma
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from llm.answer_text.call_arguments import cleaned_name, repaired_arguments
from llm.answer_text.marks import MARK
from llm.chat import Function

MAX_CALL_CHARS = 64 << 10
"""Longest written call. Of a longer one, nothing is read."""

_MAX_ATTEMPTS = 64
_DECODER = json.JSONDecoder()
_CALL_NAMES = ("name", "function", "tool", "tool_name", "recipient_name", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "params", "kwargs")
_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,63}(?::\d+)?")
_NAMED = re.compile(r"to=\s*([\w.\-]+)|<function=([^<>\s]+)>|name\s*=\s*\"([^\"]+)\"|call:\s*([\w.\-]+)\s*\Z")
_NOT_NAMES = frozenset("json commentary function functions assistant python analysis final recipient type".split())
_PARAMETER = re.compile(
    r"<parameter(?:=|\s+name\s*=\s*\")([^<>\"\s]+)\"?\s*>(.*?)(?:</parameter>|(?=<parameter|</function>|</invoke>)|\Z)",
    re.DOTALL,
)
_ARG = re.compile(r"<arg_key>([^<]{1,64})</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<(?:function=|invoke\s+name\s*=\s*\"|function\s+name\s*=\s*\")([^<>\"\s]+)\"?\s*>")
_GEMMA_QUOTE = '<|"|>'
_FENCE = re.compile(r"```\w*")


@dataclass(frozen=True, slots=True)
class TextCall:
    """A function call that was written as text. `arguments` is JSON, if it could be read."""

    name: str
    arguments: str


def calls_in(text: str, functions: Sequence[Function]) -> list[TextCall]:
    """Returns the calls in a text that begins with a mark of a call. `functions`: those of the request."""
    if len(text) > MAX_CALL_CHARS:
        return []
    declared = {function.name: function for function in functions}
    calls = _tagged_calls(text, declared) or _listed_calls(text, declared) or _json_calls(text)
    calls = calls or _python_calls(text, declared, any_name=True)
    return [TextCall(cleaned_name(call.name, declared), call.arguments) for call in calls]


def calls_alone(text: str, functions: Sequence[Function]) -> list[TextCall]:
    """Returns the calls in a text without marks, such as an object; none if it may be something else."""
    if len(text) > MAX_CALL_CHARS:
        return []
    declared = {function.name: function for function in functions}
    bare = _FENCE.sub("", MARK.sub(" ", text) if "<" in text else text).strip()
    calls = list(_shaped_values(bare))
    calls = calls or _python_calls(bare, declared, any_name=False)
    return [TextCall(cleaned_name(call.name, declared), call.arguments) for call in calls]


def _tagged_calls(text: str, declared: Mapping[str, Function]) -> list[TextCall]:
    """Returns the calls whose arguments are between tags."""
    begins = list(_TAGGED.finditer(text))
    calls = []
    for number, begin in enumerate(begins):
        body = text[begin.end() : begins[number + 1].start() if number + 1 < len(begins) else len(text)]
        given = dict(_PARAMETER.findall(body))
        if given or not re.search(r"[{\[]", body):
            calls.append(_typed(begin[1], given, declared))
        else:
            calls.append(TextCall(begin[1], _object_in(body)))
    return calls


def _listed_calls(text: str, declared: Mapping[str, Function]) -> list[TextCall]:
    """Returns the calls in the formats of GLM and Gemma."""
    if "<arg_key>" in text:
        parts = re.split(r"</?tool_call>", text)
        named = ((_NAME.search(part), part) for part in parts if "<arg_key>" in part)
        return [_typed(name[0], dict(_ARG.findall(part)), declared) for name, part in named if name]
    if _GEMMA_QUOTE not in text and not re.search(r"call:[\w.\-]+\{", text):
        return []
    texts = text.split(_GEMMA_QUOTE)
    quoted = [
        json.dumps(part) if index % 2 else re.sub(r"([{,]\s*)(\w+)\s*:", r'\1"\2":', part)
        for index, part in enumerate(texts)
    ]
    return _json_calls("".join(quoted))


def _typed(name: str, given: Mapping[str, str], declared: Mapping[str, Function]) -> TextCall:
    """Returns a call whose values are read as JSON, unless the function's schema says that they are texts."""
    function = declared.get(cleaned_name(name, declared))
    types = _types(function) if function is not None else {}
    arguments: dict[str, object] = {}
    for key, value in ((key.strip(), value.strip("\n")) for key, value in given.items()):
        try:
            arguments[key] = value if types.get(key) == "string" else json.loads(value)
        except (ValueError, RecursionError):
            arguments[key] = value
    return TextCall(name, json.dumps(arguments, ensure_ascii=False))


def _types(function: Function) -> dict[str, object]:
    try:
        schema = json.loads(function.parameters)
        return {key: schema_of_key.get("type") for key, schema_of_key in schema["properties"].items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def _json_calls(text: str) -> list[TextCall]:
    """Returns the calls that are objects with a name, or objects after a name."""
    calls: list[TextCall] = []
    since = 0
    for begin, end, value in _values(text):
        if shaped := _shaped(value):
            calls += shaped
        elif isinstance(value, dict) and (name := _name_before(text[since:begin])):
            calls.append(TextCall(name, json.dumps(value, ensure_ascii=False)))
        since = end
    if not calls and (begin := text.find("{")) >= 0:  # cut, or not quite JSON
        name = _name_before(text[:begin])
        return [TextCall(name, _object_in(text[begin:]))] if name else _cut_call(text[begin:])
    if not calls and (name := _name_before(text)) and _NAMED.search(text):
        return [TextCall(name, "{}")]
    return calls


def _cut_call(text: str) -> list[TextCall]:
    repaired = repaired_arguments(text)
    return list(_shaped(json.loads(repaired))) if repaired else []


def _object_in(text: str) -> str:
    """Returns the first object of a text, or what is in its place, for the error of the call."""
    begin = text.find("{")
    if begin < 0:
        return "{}"
    try:
        _, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return text[begin:].strip()
    return text[begin:end]


def _values(text: str) -> Iterator[tuple[int, int, object]]:
    """Yields the objects and lists of a text with their places."""
    position = 0
    for _ in range(_MAX_ATTEMPTS):
        begin = re.compile(r"[{\[]").search(text, position)
        if begin is None:
            return
        try:
            value, position = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            if text[begin.start()] == "{":
                return  # not the objects inside a broken one
            position = begin.end()
        else:
            yield begin.start(), position, value


def _shaped_values(text: str) -> Iterator[TextCall]:
    """Yields the calls of a text that consists of objects in the shape of a call; none if one is not."""
    calls: list[TextCall] = []
    since = 0
    for begin, end, value in _values(text):
        shaped = _shaped(value)
        if not shaped or text[since:begin].strip(" \n\t,;"):
            break
        calls += shaped
        since = end
    if not calls and text.startswith("{"):
        calls = _cut_call(text)
    yield from calls


def _shaped(value: object) -> list[TextCall]:
    """Returns the calls that a JSON value describes."""
    if isinstance(value, list):
        each = [_shaped(element) for element in value]
        return [call for calls in each for call in calls] if all(each) else []
    return _shaped_object(value) if isinstance(value, dict) else []


def _shaped_object(value: dict[str, object]) -> list[TextCall]:
    inner = value.get("tool_calls") or value.get("tool_call") or value.get("function_call")
    if isinstance(inner, list | dict):
        return _shaped(inner)
    if isinstance(inner := value.get("function"), dict):
        return _shaped(inner)
    name = next((name for key in _CALL_NAMES if isinstance(name := value.get(key), str)), "")
    given = next((given for key in _ARGUMENTS if isinstance(given := value.get(key), dict | str)), None)
    if given is None or not _NAME.fullmatch(name):
        return []
    if isinstance(given, str):
        return [TextCall(name, given)] if repaired_arguments(given) is not None else []
    return [TextCall(name, json.dumps(given, ensure_ascii=False))]


def _name_before(text: str) -> str:
    """Returns the name of the function at the end of the text before its arguments; "" if there is none."""
    text = re.sub(r"\[CALL_ID\]\s*\w+", " ", text)
    if named := list(_NAMED.finditer(text)):
        return next(name for name in named[-1].groups() if name)
    words = [word for word in _NAME.findall(_FENCE.sub(" ", MARK.sub(" ", text))) if word not in _NOT_NAMES]
    return words[-1] if words else ""


def _python_calls(text: str, declared: Mapping[str, Function], *, any_name: bool) -> list[TextCall]:
    """Returns the calls in an expression of Python. `any_name`: also of functions that are not declared."""
    code = _FENCE.sub("", MARK.sub("", text)).strip().rstrip(";")
    try:
        tree = ast.parse(code, mode="eval") if code else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    calls: list[TextCall] = []
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).removesuffix(".call")
        if cleaned_name(name, declared) not in declared and not (any_name and name != "print" and node.keywords):
            continue
        try:
            given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
            calls.append(TextCall(name, json.dumps(given, ensure_ascii=False, allow_nan=False)))
        except (ValueError, TypeError, RecursionError):
            calls.append(TextCall(name, ast.unparse(node)))
    return calls
