"""Messages of programs as text that the SDK can parse: its parser refuses a message for one wrong character.

The codec is given to the SDK as the encoding of a program's output, since that is the place where it takes one.
"""

import codecs

import pydantic_core

from core.http.message_repair import repair_message

ENCODING = "utf-8-json-lines"
MAX_LINE_BYTES = 50_000_000  # a longer line is passed on as it comes


class _LineDecoder(codecs.IncrementalDecoder):
    """Decodes whole lines, each of which is one message."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._rest = bytearray()

    def decode(self, input: bytes, final: bool = False) -> str:  # type: ignore[override]
        self._rest += input
        if b"\n" not in input and not final and len(self._rest) <= MAX_LINE_BYTES:
            return ""  # a long line is searched once, not again with each piece
        end = len(self._rest) if final or len(self._rest) > MAX_LINE_BYTES else self._rest.rfind(b"\n") + 1
        whole = bytes(self._rest[:end])
        del self._rest[:end]
        return "\n".join(map(_decode_line, whole.split(b"\n")))

    def reset(self) -> None:
        self._rest.clear()


def _decode_line(line: bytes) -> str:
    # The SDK's own parser says whether it can read the line: it takes NaN, for example, which is remarked on later.
    try:
        pydantic_core.from_json(line)
        return line.decode()
    except ValueError:  # also of bytes that are not UTF-8
        return repair_message(line).content.decode("utf-8", "replace")


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ENCODING:
        return None
    return codecs.CodecInfo(codecs.utf_8_encode, codecs.utf_8_decode, incrementaldecoder=_LineDecoder, name=ENCODING)


codecs.register(_find_codec)
