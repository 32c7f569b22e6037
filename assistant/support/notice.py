"""Sentences of the program for the user, with codes by which the page shows them in its own language."""

from collections.abc import Mapping
from types import MappingProxyType

TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "machine_busy": "this machine is busy: other programs use {share} % of its processors; replies come late",
        "simple_voice": "the simple voice speaks: {reason}",
        "unspoken_letters": "{reason}",
        "not_spoken": "not spoken: {text}",
        "reply_failed": "{reason}",
        "partly_heard": "{seconds} s of the reply were not played, because there was no loudspeaker",
        "task_stuck": "a background task ({name}) did not stop",
        "last_reply_cut": "the last reply did not end in time and was cut off",
        "fallback_answers": (
            "no other llm endpoint can answer, so {name} on this machine does: "
            "check the network, and `repartee endpoints`"
        ),
        "call_unread": (
            "llm endpoint '{name}' wrote a function call that could not be read; nothing was done: "
            "check its server's tool-call parser and chat template"
        ),
        "answer_repeats": (
            "llm endpoint '{name}' repeated itself, so its answer was stopped: "
            "another model may answer better (`repartee endpoints`)"
        ),
        "cache_failed": "{reason}",
        "words_lost_late": ("the beginning of your words was lost, because {name} took too long; please repeat it"),
        "recognizer_busy": "not answered, because {count} other conversations come first: ask again in a moment",
        "words_lost": "your last words were lost: {reason}",
        "words_lost_restart": "your last words were lost while {name} restarted; please repeat them",
        "recognizer_failed": "speech recognition failed: {reason}; {name} is being restarted",
        "typed_text_only": "only typed text is answered, because {reason}",
        "restart_failed": "{name} could not be restarted: {reason}",
        "side_task_failed": "internal error beside the conversation: {reason}",
        "smart_turn_failed": ("Smart Turn failed ({reason}); from now on the end of turn is estimated without it"),
        "wake_word_reloads": "the wake word's detector failed ({reason}); it is loaded again",
        "wake_word_failed": (
            "the wake word cannot be listened for: {reason} Until it is chosen again or turned off, only typed text is "
            "answered."
        ),
        "voices_not_judged": "who speaks is not always known, because {reason}; meanwhile every voice counts",
        "voice_ignored": "another voice spoke and is ignored (voice.focus)",
        "voice_let_go": "the same other voice spoke several times, so every voice counts until the next answer",
        "vad_failed": "speech detection failed ({reason}); {name} is used instead",
        "other_language": (
            'this sounded like {name}, but assistant.language is "{configured}": '
            "to speak {name}, start with --set assistant.language={language}"
        ),
        "no_voice_of_language": "no voice speaks {name}, so {voice} speaks it: {reason}",
        "improbable_words": "these words are improbable; if this was not {name}, start with {command}{fetch}",
        "entries_damaged": (
            'damaged entries of {file}: {count}, moved into its table "damaged". Set these timers or alarms again; '
            "the others work."
        ),
        "timers_in_memory": (
            "{reason}: timers and alarms are kept in memory until the program ends. Move the file away or make it "
            "writable, or set skills.store_timers = false."
        ),
        "timers_wait": "{reason}: timers and alarms wait in memory and are written later.",
        "timers_unsaved": "{file}: the last changes of timers and alarms are not stored.",
        "timers_without_folder": "{reason} Timers and alarms are kept in memory.",
        "lists_in_memory": (
            "{reason}: lists and notes are kept in memory until the program ends. Move the file away or make it "
            "writable, or set skills.store_timers = false."
        ),
        "lists_wait": "{reason}: lists and notes wait in memory and are written later.",
        "lists_unsaved": "{file}: the last changes of lists and notes are not stored.",
        "lists_without_folder": "{reason} Lists and notes are kept in memory.",
        "memory_unused": "{reason}: nothing is remembered. Move the file away, or set memory.enabled = false.",
        "memory_waits": "{reason}: what is to be remembered waits and is written later.",
        "memory_without_folder": "{reason} Nothing is remembered.",
        "conversation_unwritten": "{reason}",
        "conversation_unkept": "{reason}: the conversation is not kept.",
        "conversations_not_offered": (
            "This server keeps no conversations (server.keep_conversations). Nothing was stored."
        ),
        "pauses_damaged": "What was kept of your pauses is damaged and ignored. The next turn replaces it.",
        "conversation_gone": "The conversation is no longer kept. This is a new one, without the text above.",
        "handover_failed": "{reason}",
        "trace_unwritten": "{reason}",
        "tool_server_gone": "the tool server {name} is not available ({reason}): its tools cannot be called",
        "tool_server_lost": (
            "the tool server {name} is not available ({reason}): its tools cannot be called; "
            "trying again in {seconds} s, then less often"
        ),
        "tools_lacking": "the tool server {name} has no tool {tools}: check its key `only`",
        "tools_left_out": (
            "the tool server {name} has tools beyond the limits on number or length of descriptions "
            "({count} left out): name the needed ones in its key `only`"
        ),
        "from_another_machine": "the request comes from another machine",
        "through_a_proxy": "the request comes through a proxy",
        "by_a_network_name": "the page was opened under a name of the network: open it as http://localhost",
        "from_another_page": "the request comes from a page of another server",
        "without_a_json_body": "the request has no JSON body",
        "without_a_home": "there is no home folder for the configuration",
        "one_language_offered": "this server has one language: server.client_choices does not name language",
        "one_voice_on_cluster": (
            'this server has one voice and one language: tts.engine = "ray", and replicas have one voice'
        ),
        "one_language_on_cluster": (
            "the recognizer on the cluster knows one language; to get others: stt.model = base, "
            "then repartee cluster deploy"
        ),
        "one_language_known": "the recognizer knows one language; to get others: repartee models pull base",
        "service_unreachable": "nothing answers at this address: start the server, or check the address",
        "download_failed": "{reason}",
        "model_use": "{reason}",
    }
)
"""The sentences in English by code. The page has the same codes in each of its languages, as `notice.CODE`.

A template that is only `{reason}` is a sentence of another part. The page puts the subject before it.
"""


class Notice(str):
    """A sentence in English that knows its code.

    Attributes:
        code: Its key in `TEMPLATES`.
        values: What stands in place of the braces.
    """

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, str]


def notice(code: str, **values: object) -> Notice:
    """Returns the sentence of this code with these values. Raises KeyError for another code or a missing value."""
    shown = {name: str(value) for name, value in values.items()}
    made = Notice(TEMPLATES[code].format(**shown))
    made.code, made.values = code, MappingProxyType(shown)
    return made


def code_of(text: object) -> str:
    """Returns the code of a text that may be a notice; "" if it is none."""
    return text.code if isinstance(text, Notice) else ""
