"""Recognizes why a service refuses a request, by its error text: too long a prompt, or no credit. Pure.

The texts are those of OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama, LM Studio, TGI, TensorRT-LLM, Bedrock, SageMaker,
Anthropic, Gemini, Mistral, Groq and LiteLLM.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_OVERFLOW = re.compile(
    r"context[_ ]length[_ ]exceeded|context_?window_?exceeded|exceed_context_size|model_context_window"
    r"|maximum context length|max(?:imum)? (?:model|context|sequence) len|context (?:length|size|window)"
    r"|exceeds? (?:the )?(?:available |model'?s? )?context|exceed context limit"
    r"|prompt (?:is )?too long|prompt contains \d+ tokens|input is too long|too many (?:input )?tokens(?! per)"
    r"|input token count .{0,20}exceeds|input tokens exceed|tokens? .{0,40}must be <=|must have less than \d+ tokens"
    r"|tokens to keep from the initial prompt|keep the first \d+ tokens"
    r"|prompt length .{0,12}exceeds maximum|longer than the maximum model length"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|input length .{0,30}exceeds?|exceeds the model limit|input is too large to process|request too large",
    re.IGNORECASE,
)
_NOT_OVERFLOW = re.compile(r"max_(?:completion_)?tokens.{0,20}(?:unsupported|not supported|at least)", re.IGNORECASE)
_LIMITS = (
    r"maximum (?:context|model) length (?:of |is )(\d+)",
    r"available context size \((\d+)",
    r"must be <= (\d+)",
    r"must have less than (\d+)",
    r"tokens > (\d+) maximum",
    r"context limit: \d+ \+ \d+ > (\d+)",
    r"model with (\d+) maximum context",
    r"number of tokens allowed \((\d+)",
    r"configured limit of (\d+)",
    r"maximum input length \((\d+)",
    r"context length (?:of (?:only )?|\()(\d+)",
)
_PROMPTS = (
    r"requested (?:a total of )?(\d+) tokens",
    r"resulted in (\d+) tokens",
    r"request \((\d+) tokens\)",
    r"given: (\d+)",
    r"(\d+) tokens > \d+",
    r"context limit: (\d+) \+",
    r"prompt contains (\d+) tokens",
    r"token count \((\d+)\)",
    r"(?:prompt|input) \((?:length )?(\d+)",
    r"prompt length \((\d+)",
    r"keep the first (\d+) tokens",
)

_QUOTA_KIND = re.compile(r"insufficient_quota|billing|insufficient_(?:balance|credit)|payment|credit", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient (?:balance|credits?|funds|quota)|credit balance|(?:used|out of|no) .{0,20}credits?"
    r"|check your plan and billing|exceeded your current quota|payment required"
    r"|spending limit|spend limit|billing (?:hard limit|not active|is disabled|account)",
    re.IGNORECASE,
)
_AGAIN_SOON = re.compile(r"retry in|try again in|retrydelay|per minute|per second", re.IGNORECASE)

MAX_RETRY_AFTER_S = 3600.0
"""Longer waits that a service asks for are taken for this."""


def is_overflow(kind: str, message: str) -> bool:
    """Returns whether the prompt is too long for the model's context."""
    text = f"{kind} {message}"[:4000]
    return _OVERFLOW.search(text) is not None and not _NOT_OVERFLOW.search(text)


def overflow_tokens(message: str) -> tuple[int | None, int | None]:
    """Returns the limit and the length of the prompt, as far as the text tells them."""
    return _first(_LIMITS, message), _first(_PROMPTS, message)


def is_quota(kind: str, message: str) -> bool:
    """Returns whether the account has no credit left. Limits by time ("retry in 20 s") are none."""
    if "insufficient_quota" in kind:
        return True
    return bool(_QUOTA_KIND.search(kind) or _QUOTA.search(message[:4000])) and not _AGAIN_SOON.search(message[:4000])


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Returns how long the service asks to wait; None if it does not, or not in a valid form."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            wait_s = float(milliseconds) / 1000
        elif not (value := headers.get("retry-after", "").strip()):
            return None
        elif re.fullmatch(r"\d+(?:\.\d+)?", value):
            wait_s = float(value)
        else:
            retry_time = parsedate_to_datetime(value)
            wait_s = ((retry_time if retry_time.tzinfo else retry_time.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, wait_s), MAX_RETRY_AFTER_S) if wait_s == wait_s else None  # noqa: PLR0124 - not a number


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    for pattern in patterns:
        if match := re.search(pattern, text[:4000], re.IGNORECASE):
            return int(match[1][:9])
    return None
