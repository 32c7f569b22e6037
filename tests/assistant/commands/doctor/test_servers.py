"""Results for language models: the outcome of each step, and which model answers."""

from collections.abc import Mapping
from dataclasses import asdict

from support.texts.text_cases import named_cases

from assistant.commands.doctor.endpoints import EndpointProbe
from assistant.commands.doctor.process import ProbeResult
from assistant.commands.doctor.report import ReportSection
from assistant.commands.doctor.servers import endpoint_findings, endpoints_section, servers_of, servers_section
from assistant.config.endpoint_settings import EndpointSection
from llm.discovery import FoundServer

NEAR = EndpointSection(name="near", url="http://127.0.0.1:1/v1", model="m")
FINE = EndpointProbe(0.1, 0.2, None, False, 1.5, ("a", "m"), "", 90.0)


def answer(**changed: object) -> ProbeResult:
    return ProbeResult(asdict(FINE) | changed)


def levels(found: ProbeResult) -> list[str]:
    return [finding.level for finding in endpoint_findings(NEAR, found)]


def test_working_endpoint_has_ok_results() -> None:
    connection, models, token = endpoint_findings(NEAR, answer())
    assert "no key; name 0.1 ms, TCP 0.2 ms" in connection.text
    assert models.facts["listed"] is True
    assert (token.level, token.ms) == ("ok", 90.0)


@named_cases(
    ("changed", "found"),
    {
        "model not listed": ({"models": ("a", "b")}, ["ok", "warn", "ok"]),
        "no models": ({"models": ()}, ["ok", "warn", "ok"]),
        "no model list": ({"models": None}, ["ok", "info", "ok"]),
        "model list failed": ({"models": None, "list_ms": None, "list_failure": "x: y"}, ["ok", "warn", "ok"]),
        "slow first token": ({"token_ms": 501.0}, ["ok", "ok", "warn"]),
        "immediate first token": ({"token_ms": 0.0}, ["ok", "ok", "warn"]),
        "request failed": ({"token_ms": None, "failure": "x: y"}, ["ok", "ok", "fail"]),
        "unreachable": ({"list_ms": None, "failure": "x: y"}, ["fail"]),
    },
)
def test_endpoint_problems_have_their_levels(changed: Mapping[str, object], found: list[str]) -> None:
    assert levels(answer(**changed)) == found


def test_unknown_model_is_reported_with_the_available_ones() -> None:
    models = endpoint_findings(NEAR, answer(models=("a", "b")))[1]
    assert models.remedy == "set its model to one of: a, b"


def test_failure_is_split_into_problem_and_remedy() -> None:
    text = "llm endpoint 'near' at http://127.0.0.1:1/v1 refuses connections: start the server"
    (finding,) = endpoint_findings(NEAR, ProbeResult(asdict(EndpointProbe(failure=text))))
    assert finding.text == "m at http://127.0.0.1:1/v1 refuses connections"
    assert finding.remedy == "start the server"
    (finding,) = endpoint_findings(NEAR, ProbeResult({}, "not checked: no time was left"))
    assert finding.level == "fail"


def who(section: ReportSection) -> tuple[str, bool]:
    last = section.findings[-1]
    return last.level, last.essential and last.level == "fail"


def test_answering_model_is_reported() -> None:
    far = EndpointSection(name="far", url="http://127.0.0.1:2/v1", model="m", api_key_env="K")
    dead = ProbeResult(asdict(EndpointProbe(failure="x: y")))
    assert who(endpoints_section((), (), (), skills=True)) == ("warn", False)
    assert who(endpoints_section((NEAR, far), (dead, answer()), (), skills=True)) == ("ok", False)
    assert who(endpoints_section((NEAR, far), (dead, dead), (), skills=True)) == ("fail", True)
    both = endpoints_section((far,), (answer(),), (), skills=False)
    assert both.findings[-1].text == "far"
    assert "key in K" in both.findings[0].text


def test_found_server_is_suggested() -> None:
    ollama = FoundServer("Ollama", "http://127.0.0.1:11434/v1", ("llama3.2",), 1.0)
    last = endpoints_section((), (), (ollama,), skills=True).findings[-1]
    assert last.remedy.startswith("repartee endpoints add ollama")
    last = endpoints_section((), (), (), skills=True).findings[-1]
    assert "repartee endpoints add" in last.remedy


def test_servers_survive_json() -> None:
    server = FoundServer("vLLM", "http://127.0.0.1:8000/v1", ("m",), 1.5, others=("e",))
    found = ProbeResult({"servers": [asdict(server)]})
    assert servers_of(found) == (server,)
    assert "m" in servers_section(found).findings[0].text
    assert "11434" in servers_section(ProbeResult({"servers": []})).findings[0].text
    assert "no time" in servers_section(ProbeResult({}, "no time")).findings[0].text


def test_kind_without_model_list_is_reported() -> None:
    tgi = EndpointSection(name="near", kind="tgi", url="http://127.0.0.1:1", model="m", template="llama3")
    connection, models, token = endpoint_findings(tgi, answer(list_ms=None, models=None))
    assert (models.level, models.text) == ("info", "a service of kind tgi lists no models")
    assert (connection.level, token.level) == ("ok", "ok")
    assert connection.facts["kind"] == "tgi"


def test_aws_endpoint_is_named_by_its_region() -> None:
    cloud = EndpointSection(name="cloud", kind="bedrock", model="m", region="eu-central-1")
    connection = endpoint_findings(cloud, answer(list_ms=None, models=None))[0]
    assert connection.text.startswith("m at bedrock eu-central-1, AWS credentials; name 0.1 ms")
