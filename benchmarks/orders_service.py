"""The service behind the figures of connections: python -m benchmarks.orders_service --port PORT.

It answers every GET with the same order at once, from one event loop, so that what a gateway adds is most of the time.
"""

import asyncio
import json
import sys

from benchmarks.orders_document import build_document

ARGUMENTS = ("-m", "benchmarks.orders_service")
DOCUMENT_PATH = "/openapi.json"
OPERATIONS = 10  # in its document

CUSTOMER = "Ana Ruiz"
ORDER = {
    "customer": CUSTOMER,
    "status": "open",
    "lines": [{"sku": f"pen-{n}", "quantity": n} for n in range(1, 4)],
    "address": {"street": "12 Long Lane", "city": "Leeds", "country": "GB"},
    "note": None,
}


async def serve(port: int) -> None:
    """Serve on a loopback port until the process ends."""
    order = _build_response(ORDER)
    document = _build_response(build_document(OPERATIONS, f"http://127.0.0.1:{port}"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")  # requests have no body
                writer.write(document if head.split(b" ", 2)[1] == DOCUMENT_PATH.encode() else order)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=128)
    async with server:
        await server.serve_forever()


def _build_response(value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[sys.argv.index("--port") + 1])))
