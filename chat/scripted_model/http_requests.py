"""HTTP/1.1 requests on a stream: just what clients of a model send over loopback."""

import asyncio
from dataclasses import dataclass

from chat.scripted_model.protocol import InvalidRequest

MAX_HEAD_BYTES = 32_768
MAX_BODY_BYTES = 8_000_000
READ_SECONDS = 30.0  # for a body
IDLE_SECONDS = 75.0  # between two requests on a connection


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request with its body. `keep_alive` is False if the client closes the connection after it."""

    method: str
    path: str
    body: bytes
    keep_alive: bool


class ConnectionEnded(Exception):
    """The client closed the connection, or sent nothing for too long."""


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpRequest:
    """Read the next request. Raises ConnectionEnded, or InvalidRequest, after which nothing more can be read."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise InvalidRequest("The head of the request is too large.", status=431) from error
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError) as error:
        raise ConnectionEnded from error
    request_line, *lines = head.decode("latin-1").split("\r\n")
    parts = request_line.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise InvalidRequest("This is not an HTTP/1.1 request.")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    keep_alive = parts[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    body = await _read_body(reader, writer, headers)
    return HttpRequest(parts[0], parts[1].partition("?")[0], body, keep_alive)


async def _read_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        raise InvalidRequest("Send a Content-Length.", status=411)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise InvalidRequest("Content-Length is not a number.")
    if len(length) > 9 or int(length) > MAX_BODY_BYTES:
        raise InvalidRequest(f"The body is larger than {MAX_BODY_BYTES} bytes.", status=413)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await reader.readexactly(int(length))
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError) as error:
        raise ConnectionEnded from error
