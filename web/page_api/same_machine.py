"""Decides whether a request comes from a browser or program on this machine, and from no page of another origin. Pure.

Only such a request may change the configuration. The token does not allow it: it is for people who may talk.
`AccessControl` has checked Host, Origin, address and token of every request already; these rules are narrower.
"""

from collections.abc import Mapping, Sequence

from assistant.support.notice import notice
from web.access.access_control import is_loopback

FORWARDING = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"}
)
"""Headers of proxies; all that begin with X-Forwarded count, too: behind a proxy, every client has its address."""

_FORWARDED = "x-forwarded"


def why_not_same_machine(
    peer: str | None, scheme: str, headers: Sequence[tuple[str, str]], *, changes: bool = False
) -> str:
    """Returns why a request is not one of this machine; "" if it is.

    Args:
        peer: The client's IP address.
        scheme: "http" or "https".
        headers: All headers, with names in lower case.
        changes: Whether the request changes something. A browser then sends the origin of its page, and that must be
            this server's; without a JSON body, a form of another page could send it.
    """
    header_values: dict[str, list[str]] = {}
    for name, value in headers:
        header_values.setdefault(name, []).append(value)
    if peer is None or not is_loopback(peer):
        return notice("from_another_machine")
    if any(name in FORWARDING or name.startswith(_FORWARDED) for name in header_values):
        return notice("through_a_proxy")
    hosts = header_values.get("host", [])
    if len(hosts) != 1 or not is_loopback(_name_of(hosts[0])):
        return notice("by_a_network_name")
    if problem := _foreign(header_values, f"{scheme}://{hosts[0]}"):
        return problem
    if changes and not _is_json(header_values):
        return notice("without_a_json_body")
    return ""


def _foreign(header_values: Mapping[str, Sequence[str]], own: str) -> str:
    """Returns a problem if a browser says that another page sent the request."""
    if any(origin.lower() != own.lower() for origin in header_values.get("origin", ())):
        return notice("from_another_page")
    if any(site not in {"same-origin", "none"} for site in header_values.get("sec-fetch-site", ())):
        return notice("from_another_page")
    return ""


def _is_json(header_values: Mapping[str, Sequence[str]]) -> bool:
    types = header_values.get("content-type", ())
    return len(types) == 1 and types[0].partition(";")[0].strip().lower() == "application/json"


def _name_of(host: str) -> str:
    """Returns a Host header without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
