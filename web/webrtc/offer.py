"""Checks an SDP offer before anything is set up for it. Pure."""

from web.http_api.errors import ApiError

MAX_OFFER_CHARS = 64 << 10
MAX_CANDIDATES = 64
"""Addresses in an offer. Only some of them are tried (`web/webrtc/candidates.py`)."""


def check_offer(sdp: str) -> None:
    """Raises ApiError if an offer is not one audio track in Opus, and at most one data channel."""
    lines = sdp.splitlines()
    if not sdp.startswith("v=0") or len(sdp) > MAX_OFFER_CHARS:
        raise _invalid("sdp must be an SDP offer of at most 64 KB; it begins with v=0")
    kinds = [line[2:].partition(" ")[0] for line in lines if line.startswith("m=")]
    if kinds.count("audio") != 1:
        raise _invalid("sdp must offer one audio track (m=audio)")
    if set(kinds) - {"audio", "application"} or kinds.count("application") > 1:
        raise ApiError(
            400, "not_supported", "sdp offers more than one audio track and a data channel; there is no video", "sdp"
        )
    if not any(line.startswith("a=rtpmap:") and "opus/48000" in line.lower() for line in lines):
        raise ApiError(400, "not_supported", "sdp does not offer Opus, the only codec of this server", "sdp")
    if not any(line.startswith("a=fingerprint:") for line in lines):
        raise _invalid("sdp has no a=fingerprint: without it nothing is encrypted")
    if not any(line.startswith("a=ice-ufrag:") for line in lines):
        raise _invalid("sdp has no a=ice-ufrag")
    if sum(line.startswith("a=candidate:") for line in lines) > MAX_CANDIDATES:
        raise _invalid(f"sdp has more than {MAX_CANDIDATES} candidates")


def with_redundancy(answer: str) -> tuple[str, int]:
    """Asks the client for redundant copies of its frames. Returns the answer and the payload type of Opus.

    The client sends them (in-band FEC) once it is told that frames are lost.
    """
    lines = answer.splitlines()
    mapped = next(line for line in lines if line.startswith("a=rtpmap:") and "opus/48000" in line.lower())
    payload_type = int(mapped.removeprefix("a=rtpmap:").partition(" ")[0])
    parameters = f"a=fmtp:{payload_type} minptime=10;useinbandfec=1"
    lines = [line for line in lines if not line.startswith(f"a=fmtp:{payload_type} ")]
    lines.insert(lines.index(mapped) + 1, parameters)
    return "\r\n".join(lines) + "\r\n", payload_type


def _invalid(message: str) -> ApiError:
    return ApiError(400, "invalid_offer", message, "sdp")
