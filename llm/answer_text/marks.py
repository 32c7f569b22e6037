"""The marks that language models write around their thoughts, calls and turns. No I/O.

One table for all known models, and rules by form for unknown ones:

- `<|word|>`, `<｜word｜>`, `<|word>` and `<word|>` are marks of a template.
- `</think>`, `[/THINK]` and their like end thoughts.
- `[WORD]` is a mark only if a model is known to write it: "press [ENTER]" is text.
"""

import re
from enum import Enum, auto

MAX_MARK_CHARS = 96
"""Longest mark, with a name in it. A longer text between two angle brackets is text."""


class Mark(Enum):
    """Kinds of marks."""

    TEXT = auto()
    THOUGHTS = auto()
    THOUGHTS_END = auto()
    CALL = auto()
    END = auto()
    HEADER = auto()
    WRAPPER = auto()


_NAME = r"[A-Za-z_][\w.=:▁-]{0,63}"
MARK = re.compile(
    r"<[|｜][^<>|｜\s]{1,60}[|｜]>"
    r"|<\|[A-Za-z_]{1,40}>|<[A-Za-z_]{1,40}\|>"
    r"|<</?SYS>>"
    rf'|</?{_NAME}(?:\s+name\s*=\s*"[^"<>]{{1,64}}")?\s*/?>'
    r"|◁/?[a-z]{1,20}▷"
    r"|\[/?[A-Z][A-Z_]{1,40}\]|\[gMASK\]"
)
"""Any text with the form of a mark."""

PARTIAL = re.compile(
    r"(?:<(?:[|｜/<A-Za-z_][^<>\n]{0,90})?|<</?[A-Z]{0,3}>?|◁/?[a-z]{0,20}|\[(?:/?[A-Z_]{0,41}|g[MASK]{0,4})|`{1,2})\Z"
)
"""The end of a text that may be the beginning of a mark."""

_THOUGHT = r"(?:think|thinking|thoughts?|reason|reasoning|reflections?|scratchpad|analysis|cot|inner_monologue)"
_THOUGHT_TAG = re.compile(rf"(?:[a-z_]{{1,20}}[:_-])?(?:ant)?{_THOUGHT}(?:[:_-][a-z0-9_:-]{{1,24}})?")
_SAME_THOUGHTS = frozenset({"think", "thinking", "thought", "thoughts"})
_ABOUT_THOUGHT = re.compile(r"think|thought|reasoning")
_ENDING = re.compile(r"\A/|\Aend|[_▁]end\Z|/\Z")
_ABOUT_CALL = re.compile(r"tool|function|python_tag|plugin|action|python_start|ipython")
_ROLES = frozenset(
    "start start_header_id im_start start_of_turn start_of_role turn channel user assistant system human bot model"
    " observation tool_outputs im_user im_assistant im_system im_middle begin_of_text sop".split()
)
"""Words of barred marks that begin a message or name its role."""

_SKIPPED = frozenset("message constrain end_header_id end_of_role recipient startoftext begin▁of▁sentence bos".split())
"""Words of barred marks inside the head of a message."""

_CALL_TAGS = frozenset(
    "tool_call tool_calls toolcall tool_code function_call function_calls functioncall invoke minimax:tool_call"
    " tool_use use_mcp_tool tools".split()
)
_END_TAGS = frozenset(
    "end_of_turn eos /s eop eod eom eot end_of_utterance endoftext end_of_text tool_response tool_output"
    " function_results".split()
)
_HEADER_TAGS = frozenset({"start_of_turn"})
_SKIPPED_TAGS = frozenset("s bos pad unk sop mask start_of_text".split())
_RESERVED_TAG = re.compile(r"(?:unused|reserved_?|extra_id_|special_?)\d+")
WRAPPERS = frozenset("answer response final final_answer output assistant".split())
_BRACKETS = {
    "[THINK]": Mark.THOUGHTS,
    "[/THINK]": Mark.THOUGHTS_END,
    "[TOOL_CALLS]": Mark.CALL,
    "[INST]": Mark.END,
    "[/INST]": Mark.END,
    "[TOOL_RESULTS]": Mark.END,
    "[AVAILABLE_TOOLS]": Mark.END,
    "[SYSTEM_PROMPT]": Mark.END,
    "[EOS]": Mark.END,
    "[EOT]": Mark.END,
    "[BOS]": Mark.WRAPPER,
    "[PAD]": Mark.WRAPPER,
    "[UNK]": Mark.WRAPPER,
    "[SEP]": Mark.WRAPPER,
    "[CLS]": Mark.WRAPPER,
    "[gMASK]": Mark.WRAPPER,
    "[ARGS]": Mark.WRAPPER,
    "[CALL_ID]": Mark.WRAPPER,
    "[/TOOL_RESULTS]": Mark.WRAPPER,
    "[/AVAILABLE_TOOLS]": Mark.WRAPPER,
    "[/SYSTEM_PROMPT]": Mark.WRAPPER,
    "[/TOOL_CALLS]": Mark.WRAPPER,
}
MEDGEMMA_THOUGHTS = "<unused94>", "<unused95>"


def is_barred(mark: str) -> bool:
    """Returns whether a mark has a form that prose does not have."""
    return "|" in mark or "｜" in mark or mark[0] == "◁" or mark.startswith("<<")


def word_of(mark: str) -> str:
    """Returns the word of a mark in lower case, without brackets, bars and a name."""
    return mark.strip("<>[]|｜◁▷").split()[0].rstrip("/").lower() if mark.strip("<>[]|｜◁▷ ") else ""


def kind_of(mark: str) -> Mark:  # noqa: C901, PLR0911, PLR0912 - the table
    """Returns the kind of a text that `MARK` matches."""
    if mark[0] == "[":
        return _BRACKETS.get(mark, Mark.TEXT)
    if mark in MEDGEMMA_THOUGHTS:
        return Mark.THOUGHTS if mark == MEDGEMMA_THOUGHTS[0] else Mark.THOUGHTS_END
    word = word_of(mark)
    if is_barred(mark):
        if mark.startswith("<<") or word in _SKIPPED:
            return Mark.WRAPPER
        if mark == "<|channel>":
            return Mark.THOUGHTS
        if mark == "<channel|>":
            return Mark.THOUGHTS_END
        if _ABOUT_THOUGHT.search(word):
            return Mark.THOUGHTS_END if _ENDING.search(word) else Mark.THOUGHTS
        if re.search(r"response|solution|answer|output", word) and "tool" not in word:
            return Mark.WRAPPER
        if _ABOUT_CALL.search(word):
            return Mark.WRAPPER if _ENDING.search(word) or (mark.endswith("|>") and mark[1] not in "|｜") else Mark.CALL
        if mark.endswith("|>") and mark[1] not in "|｜":
            return Mark.END  # <turn|>
        if word in _ROLES:
            return Mark.HEADER
        is_end = re.match(r"e(?:nd|o[a-z])|im_end|return|call|endof|pad\Z", word)
        return Mark.END if is_end else Mark.WRAPPER
    if word.removeprefix("/") != word and _THOUGHT_TAG.fullmatch(word[1:]):
        return Mark.THOUGHTS_END
    if _THOUGHT_TAG.fullmatch(word):
        return Mark.THOUGHTS
    if word in _CALL_TAGS or re.match(r"function=", word) or (word == "function" and "name" in mark):
        return Mark.CALL
    if word in _END_TAGS:
        return Mark.END
    if word in _HEADER_TAGS:
        return Mark.HEADER
    if word in _SKIPPED_TAGS or _RESERVED_TAG.fullmatch(word) or word.removeprefix("/") in WRAPPERS | _CALL_TAGS:
        return Mark.WRAPPER
    return Mark.WRAPPER if word in {"/function", "/parameter"} else Mark.TEXT


def end_of_thoughts(opener: str) -> re.Pattern[str]:
    """Returns the pattern that ends the thoughts which this mark begins."""
    if opener[0] == "[":
        return re.compile(r"\[/THINK\]")
    if opener == MEDGEMMA_THOUGHTS[0]:
        return re.compile(re.escape(MEDGEMMA_THOUGHTS[1]))
    if opener == "<|channel>":
        return re.compile(r"<channel\|>")
    if opener[0] == "◁":
        return re.compile(f"◁/{re.escape(word_of(opener))}▷", re.IGNORECASE)
    if is_barred(opener):
        return re.compile(
            r"<[|｜](?:/|end)[^<>|｜\s]{0,50}[|｜]>|<[|｜][^<>|｜\s]{1,50}(?:_end|/)[|｜]>", re.IGNORECASE
        )
    word = word_of(opener)
    names = "|".join(sorted(_SAME_THOUGHTS)) if word in _SAME_THOUGHTS else re.escape(word)
    return re.compile(rf"</(?:{names})\s*>", re.IGNORECASE)


LONE_END = re.compile(
    r"</(?:[a-z_]{1,20}[:_-])?(?:think|thinking|thoughts?|reasoning)(?:[:_-][a-z0-9_:-]{1,24})?\s*>"
    r"|◁/think▷|\[/THINK\]|<channel\|>|<unused95>"
    r"|<\|channel\|>\s*final\s*<\|message\|>"
    r"|<[|｜](?:/|end_?(?:of_?)?)(?:think|thinking|thoughts?|reasoning)[|｜]>",
    re.IGNORECASE,
)
"""The end of thoughts whose beginning is in the chat template."""

_CALL_ENDS = {
    "<tool_call>": r"</tool_call>",
    "<tool_calls>": r"</tool_calls>",
    "<toolcall>": r"</toolcall>",
    "<function_call>": r"</function_call>",
    "<function_calls>": r"</function_calls>",
    "<functioncall>": r"</functioncall>|<\|endoftext\|>",
    "<tool_code>": r"</tool_code>",
    "<tool_use>": r"</tool_use>",
    "<tools>": r"</tools>",
    "<minimax:tool_call>": r"</minimax:tool_call>",
    "<|tool_call>": r"<tool_call\|>",
    "<|tool▁calls▁begin|>": r"<[|｜]tool▁calls▁end[|｜]>",
    "<|tool_calls_section_begin|>": r"<\|tool_calls_section_end\|>",
    "<|start_action|>": r"<\|END_ACTION\|>",
    "<|action_start|>": r"<\|action_end\|>",
    "<|python_start|>": r"<\|python_end\|>",
}
_TURN_END = (
    r"<\|(?:eot_id|eom_id|im_end|end|call|return|endoftext|end_of_text)\|>|<[|｜]end▁of▁sentence[|｜]>"
    r"|</s>|<end_of_turn>|<turn\|>"
)


def end_of_call(opener: str) -> re.Pattern[str]:
    """Returns the pattern that ends the call which this mark begins."""
    opener = opener.lower().replace("｜", "|")
    if opener.startswith(("<function=", "<function ", "<invoke ")):
        return re.compile(rf"</(?:function|invoke)>|{_TURN_END}")
    end = _CALL_ENDS.get(opener)
    return re.compile(f"{end}|{_TURN_END}" if end else _TURN_END, re.IGNORECASE)
