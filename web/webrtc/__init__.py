"""WebRTC calls: audio as media tracks and events on a data channel, at /v1/realtime/calls (docs/webrtc.md).

May import `access`, `http_api`, `limits`, `sockets` and `wire`.
"""
