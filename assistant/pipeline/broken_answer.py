"""Rules for answers of a language model that are empty or break off."""

from llm.chat import Finished


def empty_answer_error(answered_by: str, finished: Finished | None, *, has_text: bool) -> str:
    """Returns the cause of an empty answer and a remedy. `has_text`: there was text, but nothing speakable."""
    if has_text:
        what = "answered without speakable text, only with symbols such as emoji or markup: "
        remedy = "ask for words in assistant.instructions, or choose another model"
    else:
        ending = f"finish reason {finished.reason}" if finished is not None else "no finish reason"
        what = f"ended its answer without any text or valid function call ({ending}): "
        remedy = "check its server's chat template and tool-call parser, or choose another model"
    return f"llm endpoint {answered_by!r} {what}{remedy}"


def ends_sentence(text: str) -> bool:
    """Returns whether a broken answer may end with this text. A number before a full stop may have had decimals."""
    bare = text.rstrip("\"'’”»)）」』")
    return bare.endswith((*"!?。！？…",)) or (bare.endswith(".") and not bare[:-1][-1:].isdigit())
