"""A slow upstream for benchmarks: a loopback server that waits before it answers, and a handler that calls it."""

import asyncio
import http.client
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from core.handler_contract import OpOutcome, OpRequest

DELAY_SECONDS = 0.1  # delay of each call
PORT_VARIABLE = "BENCHMARKS_UPSTREAM_PORT"  # the environment variable with its port

_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def call_upstream(_request: OpRequest) -> OpOutcome:
    """Call the upstream over a new connection and return a fixed result."""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ[PORT_VARIABLE]), timeout=10)
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.close()
    return OpOutcome({"message": "Done."})


@contextmanager
def run_upstream() -> Iterator[int]:
    """Run the server in a thread and yield its port."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(_serve_request, "127.0.0.1", 0, backlog=128))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


async def _serve_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(DELAY_SECONDS)
    writer.write(_RESPONSE)
    await writer.drain()
    writer.close()
