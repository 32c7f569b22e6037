"""Small image files for tests: valid headers, no pixels."""

import base64


def png(width: int = 640, height: int = 480, more: int = 64) -> bytes:
    """Returns a PNG file of this size, as far as its header tells."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4) + bytes(more)


def jpeg(width: int = 640, height: int = 480) -> bytes:
    """Returns a JPEG file of this size, with a segment before the one that has it."""
    app0 = b"\xff\xe0" + (16).to_bytes(2) + bytes(14)
    frame = b"\xff\xc0" + (17).to_bytes(2) + b"\x08" + height.to_bytes(2) + width.to_bytes(2) + bytes(10)
    return b"\xff\xd8" + app0 + b"\xff" + frame


def data_url(file: bytes, kind: str = "png") -> str:
    """Returns the data URL of a file."""
    return f"data:image/{kind};base64,{base64.b64encode(file).decode()}"
