"""Checks this machine: packages, cores and threads, sound cards, disk."""

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from types import MappingProxyType

from assistant.checks.result import CheckResult, Fact
from assistant.checks.serving import certificate_finding, trace_finding
from assistant.commands.doctor.process import ProbeResult, ProbeRunner
from assistant.commands.doctor.report import ReportSection
from assistant.config.loading import Loaded
from assistant.config.settings import DEFAULTS, KEYS
from assistant.registry.entry_points import PROGRAM, BrokenEngine
from assistant.registry.installed import broken_engines, installed_engines
from assistant.registry.listening import RECOGNIZERS
from assistant.registry.voices import VOICES
from assistant.support.cpu import Cores, engine_threads
from declarations.extra import installing
from llm.protocols.protocol import LlmProtocol

IMPORTS: Mapping[str, str] = MappingProxyType(
    {
        "numpy": "numpy",
        "hassil": "hassil",
        "soxr": "soxr",
        "soundfile": "soundfile",
        "websockets": "websockets",
        "httpx": "httpx",
    }
)
"""Module of each distribution. Engines declare further ones. sounddevice has its own section."""

IMPORT_LIMIT_S = 8.0
DEVICES_LIMIT_S = 4.0

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Read by the libraries below numpy, onnxruntime and ctranslate2."""

_THREADS = re.compile(r"0*[1-9][0-9]{0,8}")

WITHOUT = "the demo needs none, and a browser uses its own"
SHOWN_KEYS = 6
REINSTALL = "run `make setup` again, or `pip install {}`"


def python_finding() -> CheckResult:
    """Returns the result for the Python interpreter."""
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return CheckResult("ok", "python", text, facts={"version": platform.python_version()})


async def versions(runner: ProbeRunner) -> ReportSection:
    """Checks that the packages are installed and can be imported. Never raises."""
    engines = installed_engines()
    protocols = [engine for engine in engines if isinstance(engine, LlmProtocol)]
    imports = {**IMPORTS, **{name: module for engine in engines for name, module in engine.packages.items()}}
    imported = await runner.examine(f"imports {' '.join(imports.values())}", IMPORT_LIMIT_S)
    findings = [python_finding(), CheckResult("ok", "repartee", program_version())]
    required = {re.split(r"[^\w.-]", line)[0] for line in requires(PROGRAM) or () if ";" not in line}
    findings += [
        package_finding(
            package,
            module,
            version_of(package),
            imported,
            required=package in required,
            protocols=[protocol for protocol in protocols if package in protocol.packages],
        )
        for package, module in imports.items()
    ]
    findings += [broken_finding(broken) for broken in broken_engines()]
    return ReportSection(
        "versions", "Versions, and the time to import each", (*findings, cuda_finding(imported)), brief=True
    )


def program_version() -> str:
    """Returns the version of this program; "unknown" if it is not installed."""
    return version_of("repartee") or "unknown"


def version_of(package: str) -> str:
    """Returns the installed version; "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def package_finding(
    package: str,
    module: str,
    installed: str,
    imported: ProbeResult,
    *,
    required: bool = True,
    protocols: Sequence[LlmProtocol] = (),
) -> CheckResult:
    """Returns the result for one package.

    Args:
        package: The distribution.
        module: Its module.
        installed: Its version; "" if it is not installed.
        imported: Times of the imports.
        required: The program does not work without it, on any system.
        protocols: The protocols of LLM endpoints that need it.
    """
    facts: dict[str, Fact] = {"version": installed or None}
    if not installed and not required and protocols:
        kinds, extra = " and ".join(protocol.name for protocol in protocols), protocols[0].extra
        text = f"not installed; LLM endpoints of kind {kinds} need it"
        remedy = installing(extra) if extra else f"run `pip install {package}`"
        return CheckResult("info", package, text, remedy=remedy, facts=facts)
    if not installed and not required:
        return CheckResult("info", package, "not installed; its engine is not used", facts=facts)
    if not installed:
        return CheckResult("fail", package, "not installed", remedy=REINSTALL.format(package), facts=facts)
    installed_version = imported.facts.get(module)
    if isinstance(installed_version, int | float):
        return CheckResult("ok", package, installed, float(installed_version), facts=facts)
    if installed_version is None:
        return CheckResult("warn", package, f"{installed}; its import was not checked: {imported.error}", facts=facts)
    text = f"{installed}, but it cannot be imported: {installed_version}"
    return CheckResult("fail", package, text, remedy=REINSTALL.format(package), facts=facts)


def broken_finding(broken: BrokenEngine) -> CheckResult:
    """Returns the result for an installed engine that cannot be used."""
    text = f"its engine {broken.name} ({broken.group}) cannot be used: {broken.error}"
    facts: dict[str, Fact] = {"group": broken.group, "engine": broken.name, "error": broken.error}
    return CheckResult("warn", broken.distribution, text, remedy="update or uninstall this package", facts=facts)


def cuda_finding(imported: ProbeResult) -> CheckResult:
    """Returns whether a graphics card can be used."""
    devices = imported.facts.get("cuda_devices")
    providers = imported.facts.get("providers")
    names = [str(name).removesuffix("ExecutionProvider") for name in providers] if isinstance(providers, list) else []
    count = devices if isinstance(devices, int) else 0
    where = f"{count} CUDA device{'s' if count != 1 else ''}" if count else "none usable: engines compute on the CPU"
    text = f"{where}; onnxruntime offers {', '.join(names) or 'no list of providers'}"
    return CheckResult(
        "ok" if count else "info", "graphics card", text, facts={"cuda_devices": count, "providers": names}
    )


def threads(cores: Cores, switch_interval_ms: float, stt_threads: int, environ: Mapping[str, str]) -> ReportSection:
    """Returns the cores, and the number of threads that each engine uses. Pure."""
    max_cores = cores.whole
    quota = "" if cores.quota is None else f", limited to {cores.quota:.1f} by the container"
    few = max_cores < 2
    findings = [
        CheckResult(
            "warn" if few else "ok",
            "cores",
            f"{cores.usable} usable{quota}",
            remedy="use two cores or more: speech is recognized while the user still speaks" if few else "",
            facts={"usable": cores.usable, "quota": cores.quota},
        ),
        CheckResult(
            "ok" if switch_interval_ms <= 1 else "warn",
            "switch interval",
            f"{switch_interval_ms:g} ms between Python's threads",
            remedy="" if switch_interval_ms <= 1 else "call sys.setswitchinterval(0.0005) when the program starts",
            facts={"ms": switch_interval_ms},
        ),
    ]
    most = {engine.name: engine.most_threads for engine in RECOGNIZERS.all()}
    most |= {engine.name: engine.most_threads for engine in VOICES.all()}
    used = {name: engine_threads(stt_threads, cores, threads) for name, threads in most.items() if threads > 1}
    users = f"{', '.join(f'{threads} for {name}' for name, threads in used.items())}; other engines have 1"
    text = f"{stt_threads}: {users}" if stt_threads else f"0, chosen by the number of cores: {users}"
    findings.append(_check_threads("stt.threads", max(used.values()), max_cores, text, "set stt.threads = 0"))
    findings += [_variable(name, environ[name], max_cores) for name in THREAD_VARIABLES if name in environ]
    return ReportSection("threads", "Cores and threads", tuple(findings))


def _variable(name: str, value: str, max_cores: int) -> CheckResult:
    remedy = f"unset {name}, or set it to {max_cores} or less"
    if not _THREADS.fullmatch(value):
        return CheckResult("warn", name, f'is "{value[:20]}", which is not a number of threads', remedy=remedy)
    return _check_threads(name, int(value), max_cores, value, remedy)


def _check_threads(name: str, thread_count: int, max_cores: int, text: str, remedy: str) -> CheckResult:
    facts: dict[str, Fact] = {"threads": thread_count}
    if thread_count > max_cores:
        text = f"{text}: more threads than cores ({max_cores}), so they wait for each other"
        return CheckResult("warn", name, text, remedy=remedy, facts=facts)
    return CheckResult("ok", name, text, facts=facts)


async def devices(runner: ProbeRunner) -> ReportSection:
    """Checks the sound cards. Never raises."""
    return devices_section(await runner.examine("devices", DEVICES_LIMIT_S), version_of("sounddevice"))


def devices_section(answer: ProbeResult, installed: str) -> ReportSection:
    """Returns the results for the sound cards that sounddevice reports. Pure."""
    if answer.error:
        missing = "PortAudio library not found" in answer.error
        remedy = "apt-get install libportaudio2" if missing else REINSTALL.format("sounddevice")
        text = f"{answer.error} ({WITHOUT})"
        findings = [CheckResult("warn", "sounddevice", text, remedy=remedy)]
    else:
        sound = answer.facts
        portaudio = str(sound.get("portaudio", "")).partition(",")[0].removeprefix("PortAudio ")
        findings = [
            CheckResult("ok", "sounddevice", f"{installed}, PortAudio {portaudio}", facts={"portaudio": portaudio})
        ]
        if not sound.get("inputs") and not sound.get("outputs"):
            facts: dict[str, Fact] = {"inputs": 0, "outputs": 0}
            findings.append(CheckResult("warn", "devices", f"no microphone and no loudspeaker: {WITHOUT}", facts=facts))
        else:
            findings.append(_device("microphone", sound.get("inputs"), sound.get("input")))
            findings.append(_device("loudspeaker", sound.get("outputs"), sound.get("output")))
    return ReportSection("devices", "Sound cards", tuple(findings))


def _device(name: str, count: object, default: object) -> CheckResult:
    facts: dict[str, Fact] = {"count": count if isinstance(count, int) else 0, "default": str(default or "") or None}
    if not count:
        return CheckResult("warn", name, f"none: {WITHOUT}", facts=facts)
    if not default:
        remedy = "choose a default in the sound settings of this machine"
        return CheckResult("warn", name, f"{count} found, but none is the default", remedy=remedy, facts=facts)
    return CheckResult("ok", name, f"{default}" + (f" (one of {count})" if count != 1 else ""), facts=facts)


def configuration(loaded: Loaded, environ: Mapping[str, str]) -> ReportSection:
    """Returns the changed settings, whether traces can be written, and the certificate.

    Creates a temporary file in the trace folder.
    """
    changed = [key for key in KEYS if loaded.settings.value(key) != DEFAULTS.value(key)]
    differing = ", ".join(changed[:SHOWN_KEYS]) + (" ..." if len(changed) > SHOWN_KEYS else "")
    text = f"{loaded.file or 'no file'}; {f'changed: {differing}' if changed else 'all settings have their defaults'}"
    facts: dict[str, Fact] = {"file": str(loaded.file) if loaded.file else None, "changed": changed}
    findings = (
        CheckResult("ok", "settings", text, facts=facts),
        trace_finding(loaded.settings.trace.dir),
        certificate_finding(loaded.settings.server, environ),
    )
    return ReportSection("configuration", "Configuration and disk", findings)
