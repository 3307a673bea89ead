"""What no HTTP library would send: refused in order, by us or by the server before us, and forgotten at once."""

import json
import socket
from contextlib import closing
from http.client import HTTPResponse

import pytest
from django.utils import timezone

from analytics.events.models import OperationEvent
from tests.support.servers.processes import Server, eventually

pytestmark = pytest.mark.server

PATIENCE = 2.0  # seconds to an answer
BODY = b'{"path": "onto"}'
OURS, GRANIAN = "ours", "granian"  # who answered: an envelope with a trace, or an empty page


def build_request(target: str = "GET /api/v1/help HTTP/1.1", *headers: str, body: bytes = b"") -> bytes:
    """Return a raw request. `{key}` stands for the API key."""
    lines = ("Host: 127.0.0.1", "Authorization: Bearer {key}", *headers)
    return "\r\n".join((target, *lines, "", "")).encode("latin-1") + body


def build_post(*headers: str, body: bytes = BODY, target: str = "POST /api/v1/help HTTP/1.1") -> bytes:
    return build_request(target, "Content-Type: application/json", *headers, body=body)


def build_chunked_post(body: bytes, *headers: str) -> bytes:
    return build_post("Transfer-Encoding: chunked", *headers, body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))


def send_raw(server: Server, raw: bytes) -> socket.socket:
    """Send a raw request over a new connection."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    connection.sendall(raw.replace(b"{key}", server.key.encode()))
    return connection


def read_response(connection: socket.socket) -> tuple[int, str, str]:
    """Return the status, the Server header, and the error's reason or ""."""
    with closing(HTTPResponse(connection)) as response:
        response.begin()
        body = response.read()
        if "Gateway-Trace" not in response.headers:
            return response.status, GRANIAN, body.decode()
        envelope = json.loads(body)
        if response.status == 200:
            return response.status, OURS, ""
        assert envelope["ok"] is False
        return response.status, OURS, envelope["error"]["details"]["reason"]


def send_each(server: Server, requests: dict[str, bytes]) -> dict[str, tuple[int, str, str]]:
    """Send each request on its own connection, and check after each that a plain request works."""
    responses = {}
    for name, raw in requests.items():
        with send_raw(server, raw) as connection:
            responses[name] = read_response(connection)
        with send_raw(server, build_request()) as connection:
            assert read_response(connection) == (200, OURS, ""), f"the request after {name}"
    assert "Traceback" not in server.process.output
    return responses


def test_raw_body_is_read_by_its_content_length_or_refused(shared_server: Server) -> None:
    responses = send_each(
        shared_server,
        {
            "as it should be": build_post(f"Content-Length: {len(BODY)}"),
            "HTTP/1.0": build_post(f"Content-Length: {len(BODY)}", target="POST /api/v1/help HTTP/1.0"),
            "no body": build_post(body=b""),
            "no length": build_post(),
            "chunked": build_chunked_post(BODY),
            "chunked, over the limit": build_chunked_post(b" " * 1_100_000),
            "chunked beside a length": build_chunked_post(BODY, "Content-Length: 3"),
            "a chunk without a size": build_post("Transfer-Encoding: chunked", body=b"zz\r\n" + BODY),
            "another coding": build_post("Transfer-Encoding: gzip"),
            "a length too short": build_post("Content-Length: 5"),
            "two lengths": build_post("Content-Length: 16", "Content-Length: 5"),
            "the same length twice": build_post("Content-Length: 16", "Content-Length: 16"),
            "a length twice in one": build_post("Content-Length: 16, 16"),
            "a length below nothing": build_post("Content-Length: -1"),
            "a length with a sign": build_post("Content-Length: +16"),
            "a length beyond counting": build_post("Content-Length: 99999999999999999999999"),
            "over the limit, not sent": build_post("Content-Length: 2000000", body=b""),
        },
    )

    assert responses == {
        "as it should be": (200, OURS, ""),
        "HTTP/1.0": (200, OURS, ""),
        "no body": (400, OURS, "invalid_json"),
        "no length": (400, OURS, "invalid_json"),
        # Granian reads them; WSGI has no length for them, so that Django sees no body.
        "chunked": (400, OURS, "length_required"),
        "chunked, over the limit": (400, OURS, "length_required"),
        "chunked beside a length": (400, OURS, "length_required"),
        "a chunk without a size": (400, OURS, "length_required"),
        "another coding": (400, GRANIAN, ""),
        "a length too short": (400, OURS, "invalid_json"),
        "two lengths": (400, GRANIAN, ""),
        "the same length twice": (200, OURS, ""),
        "a length twice in one": (400, GRANIAN, ""),
        "a length below nothing": (400, GRANIAN, ""),
        "a length with a sign": (400, GRANIAN, ""),
        "a length beyond counting": (400, GRANIAN, ""),
        "over the limit, not sent": (413, OURS, "too_large"),
    }


def test_raw_target_and_headers_never_cause_a_server_error(shared_server: Server) -> None:
    responses = send_each(
        shared_server,
        {
            "garbage": b"\x00\xff\x16\x03\x01 nonsense\r\n\r\n",
            "a word": b"HELLO\r\n\r\n",
            "an absolute target": build_request("GET http://127.0.0.1/api/v1/help HTTP/1.1"),
            "a method nobody knows": build_request("FOO /api/v1/help HTTP/1.1"),
            "a tunnel": build_request("CONNECT example.com:443 HTTP/1.1"),
            "an asterisk": build_request("OPTIONS * HTTP/1.1"),
            "NUL in the path": build_request("GET /api/v1/help%00 HTTP/1.1"),
            "NUL in a parameter": build_request("GET /api/v1/help?path=%00 HTTP/1.1"),
            "no UTF-8 in the path": build_request("GET /%ff%fe HTTP/1.1"),
            "no UTF-8 in a parameter": build_request("GET /api/v1/help?path=%ff HTTP/1.1"),
            "dots": build_request("GET /static/../../manage.py HTTP/1.1"),
            "hidden dots": build_request("GET /static/%2e%2e/%2e%2e/manage.py HTTP/1.1"),
            "10 kB in a parameter": build_request(f"GET /api/v1/help?path={'a' * 10_000} HTTP/1.1"),
            "100 kB of path": build_request(f"GET /{'a' * 100_000} HTTP/1.1"),
            "90 headers": build_request("GET /api/v1/help HTTP/1.1", *(f"X-{n}: y" for n in range(90))),
            "5,000 headers": build_request("GET /api/v1/help HTTP/1.1", *(f"X-{n}: y" for n in range(5_000))),
            "a header of 1 MB": build_request("GET /api/v1/help HTTP/1.1", f"X: {'y' * 1_000_000}"),
            "NUL in a header": build_request("GET /api/v1/help HTTP/1.1", "X: a\x00b"),
            "a folded header": build_request("GET /api/v1/help HTTP/1.1", "X: a\r\n b"),
            "no host": b"GET /api/v1/help HTTP/1.1\r\n\r\n",
            "a host that is not ours": b"GET /api/v1/help HTTP/1.1\r\nHost: example.com\r\n\r\n",
            "two hosts": build_request("GET /api/v1/help HTTP/1.1", "Host: example.com"),
            "two keys": build_request("GET /api/v1/help HTTP/1.1", "Authorization: Bearer other"),
            "two subjects": build_request("GET /api/v1/help HTTP/1.1", "Gateway-Subject: a", "gateway-subject: b"),
            "the same subject twice": build_request("GET /api/v1/help HTTP/1.1", *["Gateway-Subject: demo"] * 2),
            "a header of others twice": build_request("GET /api/v1/help HTTP/1.1", "X: 1", "X: 2"),
            "a subject with an underscore": build_request("GET /api/v1/help HTTP/1.1", "Gateway_Subject: a b"),
        },
    )

    unknown, granian = (404, OURS, "unknown_address"), (400, GRANIAN, "")
    assert responses == {
        **dict.fromkeys(("garbage", "a word", "NUL in a header", "a folded header"), granian),
        **dict.fromkeys(("an absolute target", "90 headers"), (200, OURS, "")),
        **dict.fromkeys(("a tunnel", "an asterisk", "NUL in the path", "no UTF-8 in the path"), unknown),
        **dict.fromkeys(("dots", "hidden dots"), unknown),
        "a method nobody knows": (405, OURS, "method_not_allowed"),
        "NUL in a parameter": (400, OURS, "nul_character"),
        **dict.fromkeys(("no UTF-8 in a parameter", "10 kB in a parameter"), (404, OURS, "unknown_path")),
        "100 kB of path": (414, GRANIAN, ""),
        **dict.fromkeys(("5,000 headers", "a header of 1 MB"), (431, GRANIAN, "")),
        **dict.fromkeys(("no host", "a host that is not ours", "two hosts"), (400, OURS, "invalid")),
        **dict.fromkeys(("two keys", "two subjects", "the same subject twice"), (400, OURS, "repeated_header")),
        **dict.fromkeys(("a header of others twice", "a subject with an underscore"), (200, OURS, "")),
    }


def test_raw_non_ascii_header_is_refused_if_it_affects_the_call(shared_server: Server) -> None:
    # Granian hands such values on as empty ones.
    responses = send_each(
        shared_server,
        {
            "subject": build_request("GET /api/v1/help HTTP/1.1", "Gateway-Subject: caf\xe9"),
            "agent": build_request("GET /api/v1/help HTTP/1.1", "Gateway-Agent: caf\xe9"),
            "key": build_post(
                "Idempotency-Key: caf\xe9",
                "Content-Length: 22",
                body=b'{"op":"probe.process"}',
                target="POST /api/v1/exec HTTP/1.1",
            ),
        },
    )

    assert responses == {
        "subject": (400, OURS, "bad_header"),
        "agent": (400, OURS, "bad_header"),
        "key": (400, OURS, "bad_header"),
    }


def test_raw_incomplete_body_is_refused(shared_server: Server) -> None:
    with send_raw(shared_server, build_post("Content-Length: 100")) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert read_response(connection)[::2] in {(400, "body_cut_off"), (400, "")}

    assert shared_server.help().status_code == 200


def test_raw_slow_body_does_not_block_other_requests(shared_server: Server) -> None:
    slow = [send_raw(shared_server, build_post(f"Content-Length: {len(BODY)}", body=BODY[:5])) for _ in range(3)]
    assert [shared_server.help().status_code for _ in range(10)] == [200] * 10

    with slow[0] as connection:
        connection.sendall(BODY[5:])
        assert read_response(connection) == (200, OURS, "")
    for connection in slow[1:]:
        connection.close()  # gone without a word

    assert [shared_server.help().status_code for _ in range(10)] == [200] * 10
    assert "Traceback" not in shared_server.process.output


def test_raw_requests_on_one_connection_are_answered_in_order(shared_server: Server) -> None:
    paths = ["onto", "util", "onto.task"]
    began = timezone.now()  # events of earlier tests on this server may still be on their way
    raw = b"".join(build_request(f"GET /api/v1/help?path={path} HTTP/1.1") for path in paths)

    with send_raw(shared_server, raw) as connection, connection.makefile("rb") as stream:
        response_paths = []
        for _ in paths:
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            response_paths.append(json.loads(stream.read(length))["path"])

    assert response_paths == paths
    eventually(lambda: OperationEvent.objects.filter(op__in=paths, time__gte=began).count() == 3, within=10)
