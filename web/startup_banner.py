"""Prints what `repartee serve` shows on the screen."""

from collections.abc import Sequence
from contextlib import suppress

import segno
from rich.console import Console
from rich.text import Text

from assistant.tls.subjects import lan_addresses
from web.access.access_control import is_loopback, is_unspecified
from web.observation.health import EngineHealth
from web.sockets.tls import ServerTls
from web.wyoming.address import WyomingSockets

QUIET = 2
"""Light modules around the code; readers need some."""

_HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


class StartupBanner:
    """Prints where to connect, which engines run, and when they are ready."""

    def __init__(self, console: Console, engine_pool: EngineHealth) -> None:
        """Prints to this console about these engines."""
        self._console = console
        self._engine_pool = engine_pool

    def listening(
        self,
        host: str,
        port: int,
        *,
        token: bool,
        insecure: bool,
        tls: ServerTls | None = None,
        wyoming: WyomingSockets | None = None,
    ) -> None:
        """Prints the addresses, when the server listens and the engines are still loading."""
        shown = "localhost" if is_unspecified(host) else f"[{host}]" if ":" in host else host
        self._say(Text.assemble(("Repartee", "bold"), "  Ctrl-C stops it\n"))
        secure = "" if tls is None else "s"
        self._row("page", Text(f"http{secure}://{shown}:{port}", style="bold"))
        self._row("clients", Text(f"ws{secure}://{shown}:{port}/v1/realtime  (OpenAI Realtime protocol)"))
        if wyoming is not None:
            self._row("wyoming", Text(f"{wyoming.uri}  {wyoming.who}", "yellow" if wyoming.is_open else ""))
        if token:
            self._row("token", Text("REPARTEE_TOKEN: clients send it as their API key; the page asks for it"))
            if wyoming is not None and wyoming.token_warning:
                self._row("", Text(wyoming.token_warning, "yellow"))
        elif insecure and not is_loopback(host):
            self._row("token", Text("none: everyone who can reach the server may use it", "yellow"))
        else:
            self._row("token", Text("none: this machine only"))
        if tls is not None:
            self._certificate(host, port, tls)
        elif not is_loopback(host):
            hint = "browsers on other machines allow the microphone on https:// pages only: add --tls-self-signed"
            self._row("", Text(hint, style="yellow"))
        self._row("", Text("loading engines …", style="dim"))

    def _certificate(self, host: str, port: int, tls: ServerTls) -> None:
        """Prints how others recognize the certificate, and where they reach the server."""
        certificate = tls.certificate
        whose = (
            "the server's own, made by itself: browsers warn once" if tls.self_signed else str(certificate.cert_file)
        )
        self._row("TLS", Text(f"{whose}; expires {certificate.expires:%Y-%m-%d}"))
        self._row("SHA-256", Text(certificate.fingerprint))
        if is_loopback(host):
            return
        address = next(iter(lan_addresses()), "") if is_unspecified(host) else host
        if not address:
            return
        url = f"https://{f'[{address}]' if ':' in address else address}:{port}"
        self._row("phone", Text(url, style="bold"))
        if self._console.is_terminal:
            for line in qr_lines(url):
                if len(line) < self._console.width:
                    self._say(Text(line, style="black on white"))

    def ready(self) -> None:
        """Prints the engines, when they are loaded and warm."""
        for engine in self._engine_pool.state():
            words = f"{engine.name}, {engine.why}" if engine.fallback else f"{engine.name}  {engine.detail}"
            self._row(engine.stage, Text(words, style="yellow" if engine.fallback else ""))
        self._row("", Text("ready", style="green"))

    def bye(self) -> None:
        """Prints that the server has ended normally."""
        self._say(Text("\nended" if self._console.is_terminal else "ended", style="dim"))  # after the "^C"

    def _row(self, label: str, text: Text) -> None:
        self._say(Text.assemble((f"{label:>9}  ", "dim"), text))

    def _say(self, text: Text) -> None:
        # The output may be closed (rich raises SystemExit for that) or its disk full. The server continues.
        with suppress(OSError, SystemExit):
            self._console.print(text, soft_wrap=True)


def qr_lines(text: str) -> Sequence[str]:
    """Returns the lines of a QR code, two rows of modules each. They must be printed dark on light."""
    rows = [list(row) for row in segno.make_qr(text, error="l").matrix_iter(border=QUIET)]
    rows += [[0] * len(rows[0])] * (len(rows) % 2)
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[above, below] for above, below in zip(*pair, strict=True)) for pair in pairs]
