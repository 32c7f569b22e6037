"""Checks an image in an event: a data URL of a PNG or JPEG file within limits. Only the file's header is read."""

import binascii
import re

from llm.chat import Image, ImageDetail
from web.wire.values.fields import FieldError, not_supported, wrong_type, wrong_value

MAX_IMAGE_BYTES = 3_750_000
"""Size of one image file; the limit of Bedrock."""

MAX_SIDE = 8000
"""Pixels of width and of height; the limit of Bedrock."""

_DATA_URL = re.compile(r"data:image/([a-z0-9.+-]{1,32});base64,", re.IGNORECASE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,32}:", re.IGNORECASE)
_FORMATS = {"png", "jpeg", "jpg"}

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Markers of the JPEG segments that contain width and height."""
_MAX_JPEG_SEGMENTS = 1000


def image_of(value: object, path: str, detail: ImageDetail) -> Image:
    """Returns the image of a field. Raises FieldError. An address is never fetched."""
    if not isinstance(value, str):
        raise wrong_type(path, value, "a string: data:image/png;base64,…")
    head = _DATA_URL.match(value[:64])
    if head is None:
        if _ADDRESS.match(value) and not value[:5].lower() == "data:":
            raise not_supported(path, "this server fetches no addresses; send the image as data:image/png;base64,…")
        raise wrong_value(path, "is no image in base64", "data:image/png;base64,… and data:image/jpeg;base64,…")
    if head[1].lower() not in _FORMATS:
        raise wrong_value(path, f"is an image of type {head[1].lower()!r}", "png and jpeg")
    data = value[head.end() :]
    if len(data) > MAX_IMAGE_BYTES // 3 * 4:
        raise wrong_value(path, f"has more than {MAX_IMAGE_BYTES} bytes", "smaller images; scale it down")
    try:
        file = binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        message = f"{path} is not base64: letters, digits, + and /, padded with ="
        raise FieldError("invalid_base64", message, path) from error
    size = _png_size(file) or _jpeg_size(file)
    if size is None:
        raise wrong_value(path, "is not a complete image", "PNG and JPEG files")
    if not all(1 <= side <= MAX_SIDE for side in size):
        raise wrong_value(path, f"has {size[0]} x {size[1]} pixels", f"1 to {MAX_SIDE} in each direction")
    # The type is that of the file, because services refuse an image whose declared type is another one.
    return Image("image/png" if file.startswith(_PNG) else "image/jpeg", data, *size, detail)


def image_address(image: Image) -> str | None:
    """Returns the data URL of an image; None if it is not kept any more."""
    return f"data:{image.media_type};base64,{image.data}" if image.data else None


def _png_size(file: bytes) -> tuple[int, int] | None:
    if not file.startswith(_PNG) or len(file) < 24 or file[12:16] != b"IHDR":
        return None
    return int.from_bytes(file[16:20]), int.from_bytes(file[20:24])


def _jpeg_size(file: bytes) -> tuple[int, int] | None:
    if not file.startswith(_JPEG):
        return None
    position = 2
    for _ in range(_MAX_JPEG_SEGMENTS):
        while position < len(file) - 1 and file[position] == 0xFF and file[position + 1] == 0xFF:
            position += 1  # padding between segments
        if position + 9 > len(file) or file[position] != 0xFF:
            return None
        if file[position + 1] in _JPEG_SIZES:
            return int.from_bytes(file[position + 7 : position + 9]), int.from_bytes(file[position + 5 : position + 7])
        position += 2 + int.from_bytes(file[position + 2 : position + 4])
    return None
