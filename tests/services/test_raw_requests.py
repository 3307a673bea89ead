"""What no HTTP library would send: refused in order, by us or by the server before us, and forgotten at once."""

import json
import socket
import time
from contextlib import closing
from http.client import HTTPResponse

import pytest
from django.utils import timezone

from analytics.events.models import OperationEvent
from tests.support.servers.processes import Server, eventually

pytestmark = pytest.mark.server

PATIENCE = 20.0  # seconds to an answer
BODY = b'{"path": "onto"}'
EXEC = b'{"op":"probe.process"}'
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
    responses, before = {}, len(server.process.lines)
    for name, raw in requests.items():
        with send_raw(server, raw) as connection:
            responses[name] = read_response(connection)
        with send_raw(server, build_request()) as connection:
            assert read_response(connection) == (200, OURS, ""), f"the request after {name}"
    check_nothing_failed(server, before)
    return responses


def check_nothing_failed(server: Server, before: int) -> None:
    """Check the log since this number of lines. The lines before are of other tests."""
    assert [line for line in server.process.lines[before:] if "Traceback" in line] == []


LENGTH_REQUIRED, INVALID_JSON = (400, OURS, "length_required"), (400, OURS, "invalid_json")
REFUSED_BEFORE_US, ACCEPTED = (400, GRANIAN, ""), (200, OURS, "")
HTTP_1_0 = "POST /api/v1/help HTTP/1.0"
BODIES = {
    "as it should be": (build_post(f"Content-Length: {len(BODY)}"), ACCEPTED),
    "HTTP/1.0": (build_post(f"Content-Length: {len(BODY)}", target=HTTP_1_0), ACCEPTED),
    "no body": (build_post(body=b""), INVALID_JSON),
    "no length": (build_post(), INVALID_JSON),
    # Granian reads them; WSGI has no length for them, so that Django sees no body.
    "chunked": (build_chunked_post(BODY), LENGTH_REQUIRED),
    "chunked, over the limit": (build_chunked_post(b" " * 1_100_000), LENGTH_REQUIRED),
    "chunked beside a length": (build_chunked_post(BODY, "Content-Length: 3"), LENGTH_REQUIRED),
    "a chunk without a size": (build_post("Transfer-Encoding: chunked", body=b"zz\r\n" + BODY), LENGTH_REQUIRED),
    "another coding": (build_post("Transfer-Encoding: gzip"), REFUSED_BEFORE_US),
    "a length too short": (build_post("Content-Length: 5"), INVALID_JSON),
    "two lengths": (build_post("Content-Length: 16", "Content-Length: 5"), REFUSED_BEFORE_US),
    "the same length twice": (build_post("Content-Length: 16", "Content-Length: 16"), ACCEPTED),
    "a length twice in one": (build_post("Content-Length: 16, 16"), REFUSED_BEFORE_US),
    "a length below nothing": (build_post("Content-Length: -1"), REFUSED_BEFORE_US),
    "a length with a sign": (build_post("Content-Length: +16"), REFUSED_BEFORE_US),
    "a length beyond counting": (build_post("Content-Length: 99999999999999999999999"), REFUSED_BEFORE_US),
    "over the limit, not sent": (build_post("Content-Length: 2000000", body=b""), (413, OURS, "too_large")),
}


def build_get(*headers: str) -> bytes:
    return build_request("GET /api/v1/help HTTP/1.1", *headers)


UNKNOWN_ADDRESS, UNKNOWN_PATH = (404, OURS, "unknown_address"), (404, OURS, "unknown_path")
INVALID_HOST, REPEATED_HEADER = (400, OURS, "invalid"), (400, OURS, "repeated_header")
TARGETS_AND_HEADERS = {
    "garbage": (b"\x00\xff\x16\x03\x01 nonsense\r\n\r\n", REFUSED_BEFORE_US),
    "a word": (b"HELLO\r\n\r\n", REFUSED_BEFORE_US),
    "an absolute target": (build_request("GET http://127.0.0.1/api/v1/help HTTP/1.1"), ACCEPTED),
    "a method nobody knows": (build_request("FOO /api/v1/help HTTP/1.1"), (405, OURS, "method_not_allowed")),
    "a tunnel": (build_request("CONNECT example.com:443 HTTP/1.1"), UNKNOWN_ADDRESS),
    "an asterisk": (build_request("OPTIONS * HTTP/1.1"), UNKNOWN_ADDRESS),
    "NUL in the path": (build_request("GET /api/v1/help%00 HTTP/1.1"), UNKNOWN_ADDRESS),
    "NUL in a parameter": (build_request("GET /api/v1/help?path=%00 HTTP/1.1"), (400, OURS, "nul_character")),
    "no UTF-8 in the path": (build_request("GET /%ff%fe HTTP/1.1"), UNKNOWN_ADDRESS),
    "no UTF-8 in a parameter": (build_request("GET /api/v1/help?path=%ff HTTP/1.1"), UNKNOWN_PATH),
    "dots": (build_request("GET /static/../../manage.py HTTP/1.1"), UNKNOWN_ADDRESS),
    "hidden dots": (build_request("GET /static/%2e%2e/%2e%2e/manage.py HTTP/1.1"), UNKNOWN_ADDRESS),
    "10 kB in a parameter": (build_request(f"GET /api/v1/help?path={'a' * 10_000} HTTP/1.1"), UNKNOWN_PATH),
    "100 kB of path": (build_request(f"GET /{'a' * 100_000} HTTP/1.1"), (414, GRANIAN, "")),
    "90 headers": (build_get(*(f"X-{n}: y" for n in range(90))), ACCEPTED),
    "5,000 headers": (build_get(*(f"X-{n}: y" for n in range(5_000))), (431, GRANIAN, "")),
    "a header of 1 MB": (build_get(f"X: {'y' * 1_000_000}"), (431, GRANIAN, "")),
    "NUL in a header": (build_get("X: a\x00b"), REFUSED_BEFORE_US),
    "a folded header": (build_get("X: a\r\n b"), REFUSED_BEFORE_US),
    "no host": (b"GET /api/v1/help HTTP/1.1\r\n\r\n", INVALID_HOST),
    "a host that is not ours": (b"GET /api/v1/help HTTP/1.1\r\nHost: example.com\r\n\r\n", INVALID_HOST),
    "two hosts": (build_get("Host: example.com"), INVALID_HOST),
    "two keys": (build_get("Authorization: Bearer other"), REPEATED_HEADER),
    "two subjects": (build_get("Gateway-Subject: a", "gateway-subject: b"), REPEATED_HEADER),
    "the same subject twice": (build_get(*["Gateway-Subject: demo"] * 2), REPEATED_HEADER),
    "a header of others twice": (build_get("X: 1", "X: 2"), ACCEPTED),
    "a subject with an underscore": (build_get("Gateway_Subject: a b"), ACCEPTED),
    # Granian hands values that are not ASCII on as empty ones. They are refused if they affect the call.
    "a subject that is not ASCII": (build_get("Gateway-Subject: caf\xe9"), (400, OURS, "bad_header")),
    "an agent that is not ASCII": (build_get("Gateway-Agent: caf\xe9"), (400, OURS, "bad_header")),
    "an idempotency key that is not ASCII": (
        build_post("Idempotency-Key: caf\xe9", "Content-Length: 22", body=EXEC, target="POST /api/v1/exec HTTP/1.1"),
        (400, OURS, "bad_header"),
    ),
}


def assert_answers(server: Server, cases: dict[str, tuple[bytes, tuple[int, str, str]]]) -> None:
    responses = send_each(server, {name: raw for name, (raw, _) in cases.items()})

    assert responses == {name: expected for name, (_, expected) in cases.items()}


def test_raw_body_is_read_by_its_content_length_or_refused(shared_server: Server) -> None:
    assert_answers(shared_server, BODIES)


def test_raw_target_and_headers_never_cause_a_server_error(shared_server: Server) -> None:
    assert_answers(shared_server, TARGETS_AND_HEADERS)


def test_raw_incomplete_body_is_refused(shared_server: Server) -> None:
    with send_raw(shared_server, build_post("Content-Length: 100")) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert read_response(connection)[::2] in {(400, "body_cut_off"), (400, "")}

    assert shared_server.help().status_code == 200


def test_raw_slow_body_does_not_block_other_requests(shared_server: Server) -> None:
    before = len(shared_server.process.lines)
    slow = [send_raw(shared_server, build_post(f"Content-Length: {len(BODY)}", body=BODY[:5])) for _ in range(3)]
    assert [shared_server.help().status_code for _ in range(10)] == [200] * 10

    with slow[0] as connection:
        connection.sendall(BODY[5:])
        assert read_response(connection) == (200, OURS, "")
    for connection in slow[1:]:
        connection.close()  # gone without a word

    assert [shared_server.help().status_code for _ in range(10)] == [200] * 10
    check_nothing_failed(shared_server, before)


def test_client_without_a_key_goes_on_over_the_same_connection(shared_server: Server) -> None:
    head, length = "POST /api/v1/help HTTP/1.1\r\nHost: 127.0.0.1", f"Content-Length: {len(BODY)}"
    with send_raw(shared_server, f"{head}\r\n{length}\r\n\r\n".encode()) as connection:
        time.sleep(0.2)  # clients send the body apart from the headers, and it may come later than any answer
        connection.sendall(BODY)
        assert read_response(connection) == (401, OURS, "unauthenticated")
        connection.sendall(build_post(length).replace(b"{key}", shared_server.key.encode()))
        assert read_response(connection) == (200, OURS, "")


def test_raw_body_that_is_not_read_ends_the_connection(shared_server: Server) -> None:
    not_read = [build_post("Content-Length: 2000000", body=b""), build_chunked_post(BODY)]
    for raw in not_read:
        with send_raw(shared_server, raw) as connection, closing(HTTPResponse(connection)) as response:
            response.begin()
            assert response.headers["Connection"] == "close"


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
    eventually(lambda: OperationEvent.objects.filter(op__in=paths, time__gte=began).count() == 3)
