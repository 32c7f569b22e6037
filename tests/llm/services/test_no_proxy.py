"""NO_PROXY in every form that programs accept."""

from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from llm.no_proxy import is_covered, read_no_proxy

COVERED = [
    ("llm.example", "llm.example"),
    ("example", "llm.example"),
    (".example", "llm.example"),
    (".example", "example"),
    ("*.example", "llm.example"),
    ("*example", "llm.example"),
    ("example.", "llm.example"),
    ("LLM.Example", "llm.example"),
    ("bücher.example", "bücher.example"),
    ("xn--bcher-kva.example", "bücher.example"),
    ("gpu_box", "gpu_box"),
    ("*", "anything.example"),
    ("near.example, *", "anything.example"),
    ("llm.example:443", "llm.example"),
    ("https://llm.example", "llm.example"),
    ("https://llm.example/", "llm.example"),
    ("all://llm.example", "llm.example"),
    ("10.1.2.3", "10.1.2.3"),
    ("10.1.2.3:443", "10.1.2.3"),
    ("10.0.0.0/8", "10.1.2.3"),
    ("10.1.2.3/8", "10.9.9.9"),
    ("10.0.0.0/255.0.0.0", "10.1.2.3"),
    ("10.*", "10.1.2.3"),
    ("192.168.7.*", "192.168.7.9"),
    ("fd00::1", "fd00::1"),
    ("[fd00::1]", "fd00::1"),
    ("[fd00::1]:443", "fd00::1"),
    ("fd00:0:0::0001", "fd00::1"),
    ("fd00::/8", "fd12::1"),
    ("[fd00::/8]", "fd12::1"),
    ("[fd00::]/8", "fd12::1"),
    ("10.0.0.0/8", "::ffff:10.1.2.3"),
    ("a.example,b.example", "b.example"),
    (" a.example , b.example ", "b.example"),
    ("a.example b.example", "b.example"),
    ("a.example,,b.example,", "b.example"),
]
NOT_COVERED = [
    ("", "llm.example"),
    ("example", "badexample"),
    ("llm.example", "example"),
    ("llm.example:80", "llm.example"),
    ("http://llm.example", "llm.example"),
    ("10.1.2.3", "10.1.2.30"),
    ("10.1.2.3:80", "10.1.2.3"),
    ("10.0.0.0/8", "11.0.0.1"),
    ("10.0.0.0/8", "fd00::1"),
    ("10.0.0.0/8", "10.example"),
    ("fd00::/8", "fe80::1"),
    ("[fd00::1]:80", "fd00::1"),
    ("0.0.0.0/0", "llm.example"),
]


@text_cases(("listed", "host"), COVERED, columns=(0, 1))
def test_host_is_covered(listed: str, host: str) -> None:
    entries, unknown = read_no_proxy(listed)
    assert is_covered(entries, "https", host, None)
    assert unknown == ()


@text_cases(("listed", "host"), NOT_COVERED, columns=(0, 1))
def test_host_is_not_covered(listed: str, host: str) -> None:
    entries, unknown = read_no_proxy(listed)
    assert not is_covered(entries, "https", host, None)
    assert unknown == ()


@text_cases("entry", ["[", "[::1", "::1]", "[host]", "10.0.0.0/99", "host:port", "host:0", "a/b", "%", "a..b"])
def test_invalid_entry_is_reported_and_others_apply(entry: str) -> None:
    entries, unknown = read_no_proxy(f"near.example,{entry},::1")
    assert unknown == (entry,)
    assert is_covered(entries, "http", "near.example", 80)


@given(st.text(alphabet="ab.:/[]*0189,- @%", max_size=20), st.sampled_from(["a.b", "10.0.0.1", "::1"]))
def test_any_text_is_parsed_without_error(listed: str, host: str) -> None:
    entries, _ = read_no_proxy(listed)
    is_covered(entries, "http", host, None)
