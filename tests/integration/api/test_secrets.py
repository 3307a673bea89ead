"""Secrets in every part of a call never leak into logs, events or errors.

Values that a caller sends never appear in a log line, an event or an error. The one exception is `retry_with` of an
error, which returns the caller's own call. Names are not secret: ops, paths and argument names appear truncated, so
that people can correct a misspelt one. Events record session, turn and subject.
"""

import json
import logging
import re
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import wraps
from itertools import count
from typing import Any

import pytest
from django.db import DatabaseError, DataError, OperationalError, connection, transaction
from django.http import HttpResponse
from django.middleware.common import CommonMiddleware
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.events import event_log
from core import logs, manifest
from core.background import poller
from core.handler_contract import OpHandler, OpOutcome, OpRequest
from core.manifest import Job, Manifest
from gateway.access import key_verification
from gateway.api.authentication import KeyAuthentication
from gateway.executors.base import UpstreamCall
from gateway.executors.in_process import InProcessExecutor
from gateway.jobs import retention, runner
from gateway.models import Client
from registry.catalog.model import Catalog
from registry.jsonschema import dialect
from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace import handlers
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

MIN_SECRETS_IN_ARGS = 200
CANARY = re.compile(r"canary\d{4,}x9f3ac71e5d")


class Canaries:
    """Creates unique secrets and finds them in text."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.planted: list[str] = []

    def create(self) -> str:
        self.planted.append(f"canary{next(self._numbers):04}x9f3ac71e5d")
        return self.planted[-1]

    def find_in(self, text: str) -> list[str]:
        found = set(CANARY.findall(text))  # once through the text, which has megabytes, and not once for each secret
        return [canary for canary in self.planted if canary in found]


@pytest.fixture
def canaries() -> Canaries:
    return Canaries()


class LogCapture(logging.Handler):
    """Collects every log line at every level, formatted and with its arguments."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        self.lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [self.format(record), repr(record.args)]


@pytest.fixture
def captured_logs() -> Iterator[LogCapture]:
    """Capture the lines of all loggers, whatever level they are set to."""
    capture = LogCapture()
    loggers = [each for each in logging.Logger.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    before = {each: (each.level, each.disabled, each.propagate) for each in [*loggers, logging.root]}
    for each in before:
        each.setLevel(logging.DEBUG)
        each.disabled, each.propagate = False, True
    logging.root.addHandler(capture)
    yield capture
    logging.root.removeHandler(capture)
    for each, (level, disabled, propagate) in before.items():
        each.setLevel(level)
        each.disabled, each.propagate = disabled, propagate


@pytest.fixture
def production_logs(captured_logs: LogCapture) -> LogCapture:
    """Capture the lines of all loggers in the JSON format of production."""
    captured_logs.setFormatter(logs.build_formatter(as_json=True))

    def emit(record: logging.LogRecord) -> None:
        captured_logs.lines.append(captured_logs.format(record))

    captured_logs.emit = emit  # type: ignore
    return captured_logs


def dump_tables(*tables: str) -> str:
    """Return every column of every row of some tables, or of all tables, as text."""
    text = ""
    with connection.cursor() as cursor:
        for table in tables or connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a table's own name
            text += f"{table}: {cursor.fetchall()!r}\n"
    return text


def dump_error(response: HttpResponse) -> str:
    """Return an error's body and headers without `retry_with` and the name of the row, which an earlier call has set.

    Empty for a success, which is the caller's own data.
    """
    body = json.loads(response.content)
    if response.status_code < 400:
        return ""
    body["error"]["details"].pop("retry_with", None)
    body["meta"].get("operation", {}).pop("entity_name", None)  # test_exec.py: never a value of invalid args
    return json.dumps(body, ensure_ascii=False) + str(response.headers)


def assert_no_leak(canaries: Canaries, captured_logs: LogCapture, responses: list[HttpResponse]) -> None:
    event_log.flush()
    recorded = dump_tables("analytics_operationevent")
    assert recorded.count("datetime") > len(responses) / 2  # the events were recorded
    assert canaries.find_in("".join(map(dump_error, responses))) == []
    assert canaries.find_in(recorded) == []
    assert canaries.find_in(captured_logs.text) == []


Slot = tuple[str | int, ...]


def iterate_slots(schema: dict[str, Any], root: dict[str, Any], at: Slot = ()) -> Iterator[Slot]:
    """Yield the path of every argument of an op, also inside objects and lists."""
    if isinstance(ref := schema.get("$ref"), str):
        schema = dialect.resolve_ref(root, ref)  # type: ignore[assignment]
    if at:
        yield at
    for name, argument in schema.get("properties", {}).items():
        yield from iterate_slots(argument, root, (*at, name))
    if isinstance(items := schema.get("items"), dict):
        yield from iterate_slots(items, root, (*at, 0))


def set_slot(args: Any, slot: Slot, value: Any) -> Any:
    """Return args with a value at a slot. Creates missing lists and objects around it."""
    if not slot:
        return value
    first, *rest = slot
    if isinstance(first, int):
        return [set_slot(args[0] if isinstance(args, list) and args else None, tuple(rest), value)]
    fields = dict(args) if isinstance(args, dict) else {}
    return {**fields, first: set_slot(fields.get(first), tuple(rest), value)}


def build_args(op: Any, slot: Slot, value: Any) -> dict[str, Any]:
    """Return the args of an example of the op with a value at one slot."""
    return set_slot(op.examples[0]["args"] if op.examples else {}, slot, value)


@pytest.mark.usefixtures("internet_for_examples")
def test_secrets_in_args_of_every_op_do_not_leak(
    live_catalog: Catalog, api: Api, canaries: Canaries, captured_logs: LogCapture
) -> None:
    responses = []
    for op in live_catalog.ops.values():
        for slot in iterate_slots(op.schema, op.schema):
            for value in (canaries.create(), [canaries.create()], {"token": canaries.create()}, canaries.create() * 80):
                body = {"op": op.op, "args": build_args(op, slot, value), "idempotency_key": f"k{len(responses)}"}
                responses.append(api.post("exec", body))
                assert responses[-1].status_code < 500, (op.op, slot)

    assert len(canaries.planted) >= MIN_SECRETS_IN_ARGS
    assert {response.status_code for response in responses} >= {200, 400}
    assert_no_leak(canaries, captured_logs, responses)


def test_secrets_in_unknown_arguments_and_malformed_bodies_do_not_leak(
    api: Api, canaries: Canaries, captured_logs: LogCapture
) -> None:
    create = canaries.create
    exec_bodies: list[Any] = [
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID, "password": create()}},
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID, "titel": {"deep": [create()]}}},
        {"op": "onto.task.get", "args": create()},
        {"op": "onto.task.get", "args": json.dumps({"task_id": create()})},
        {"op": "onto.task.get", "args": [create()]},
        {"op": "onto.task.get", "task_id": create()},
        {"op": "onto.task.get", "args": {}, "api_key": create()},
        {"op": [create()], "args": {"x": create()}},
        {"op": {"x": create()}},
        {"op": "onto.task.list", "idempotency_key": "two words " + create()},
        {"op": "onto.task.list", "dry_run": create()},
        {"op": "onto.nothing", "args": {"x": create()}},
        {"args": {"x": create()}},
        [create()],
        create(),
    ]
    help_bodies: list[Any] = [
        {"path": [create()]},
        {"path": "root", "limit": create()},
        {"path": "root", "cursor": create()},
        {"path": "root", "format": create()},
        {"path": "root", "secret": create()},
        {"query": create()},
        {"query": [create()]},
        {"query": create() * 60},
        {"query": "x", "path": "onto.task", "cursor": create()},
    ]
    raw_bodies = [
        f'{{"op": "{create()}',
        f'{{"op": "x", "args": {{"a": "{create()}\\u0000"}}}}',
        f'{{"a": NaN, "b": "{create()}"}}',
    ]
    responses = [api.post("exec", raw=json.dumps(body).encode()) for body in exec_bodies]
    responses += [api.post("help", raw=json.dumps(body).encode()) for body in help_bodies]
    responses += [api.post(endpoint, raw=raw.encode()) for raw in raw_bodies for endpoint in ("help", "exec")]

    assert_no_leak(canaries, captured_logs, [response for response in responses if "query" not in response.json()])


def test_secrets_in_headers_and_query_parameters_do_not_leak(
    api: Api, canaries: Canaries, captured_logs: LogCapture
) -> None:
    create = canaries.create
    header_sets = [
        {"Authorization": f"Bearer {create()}"},
        {"Authorization": f"Bearer gw_{create()}"},
        {"Authorization": f"Basic {create()}"},
        {"Authorization": create()},
        {"Idempotency-Key": create()},
        {"Idempotency-Key": f"two words {create()}"},
        {"Gateway-Subject": f"two words {create()}"},
        {"Gateway-Session": f"two words {create()}"},
        {"Gateway-Turn": f"two words {create()}"},
        {"Gateway-Context": create()},
        {"Gateway-Context": f'type="{create()}", project_id="{create()}"'},
        {"Gateway-Context": f'project_id="{DEMO_PROJECT_ID}", secret="{create()}"'},
        {"Gateway-Agent": create()},
        {"Gateway-Toolset": create()},
        {"Gateway-Confirm": create()},
        {"Gateway-Traits": f'plan="{create()}"'},
        {"Gateway-Model": create()},
        {"Gateway-Environment": create()},
        {"traceparent": f"00-{create()}-01"},
        {"Cookie": f"sessionid={create()}; csrftoken={create()}"},
        {"User-Agent": create()},
        {"Referer": f"https://example.com/?token={create()}"},
        {"X-API-Key": create()},
        {"X-Forwarded-For": create()},
        {"Accept": create()},
        {"If-None-Match": create()},
        {"Content-Type": f"application/{create()}"},
        {"Content-Type": f"application/json; charset={create()}"},
        {"Content-Encoding": create()},
    ]
    write = b'{"op": "onto.task.update", "args": {"task_id": "%s", "title": "Renamed"}}' % DEMO_TASK_ID.encode()
    responses = []
    for headers in header_sets:
        responses += [api.post("help", raw=b"{}", **headers), api.post("exec", raw=write, **headers)]
        responses.append(api.get(f"help?path=onto&token={create()}", **headers))
    responses += [api.get(f"help?limit={create()}"), api.get(f"help?cursor={create()}&cursor={create()}")]

    assert {response.status_code for response in responses} >= {200, 400, 401, 415}
    assert_no_leak(canaries, captured_logs, responses)


def test_secrets_in_results_appear_in_results_only(api: Api, canaries: Canaries, captured_logs: LogCapture) -> None:
    create = canaries.create
    task_ids = []
    for _ in range(20):
        args = {"project_id": DEMO_PROJECT_ID, "title": create(), "description": create(), "props": {"token": create()}}
        task_ids.append(api.exec("onto.task.create", args, idempotency_key=create())["result"]["task"]["id"])
    responses = [api.post("exec", {"op": "onto.task.get", "args": {"task_id": task_id}}) for task_id in task_ids]
    responses.append(api.post("exec", {"op": "onto.task.list", "args": {"limit": 50}}))
    responses.append(api.post("exec", {"op": "onto.task.search", "args": {"query": "canary"}}))
    responses.append(api.post("exec", {"op": "onto.task.delete", "args": {"task_id": task_ids[0]}, "dry_run": True}))

    assert canaries.find_in(responses[0].content.decode()) == canaries.planted[:3]
    assert_no_leak(canaries, captured_logs, responses)


def _raise(canary: str) -> None:
    raise RuntimeError(canary)


def _raise_chained(canary: str) -> None:
    try:
        {}[canary]
    except KeyError as error:
        raise ValueError(f"no {canary}") from error


def _raise_in_handler(canary: str) -> None:
    try:
        int(canary)
    except ValueError:
        raise TypeError(canary)  # noqa: B904 - handlers may do this


def _violate_constraint(canary: str) -> None:
    for _ in range(2):
        Client.objects.create(name=canary)  # PostgreSQL's message quotes the row


def _run_invalid_sql(canary: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CAST(%s AS integer), nothing FROM nowhere_at_all", [canary])


def _lose_database(canary: str) -> None:
    raise OperationalError(f"connection to server failed: password={canary}")


def _return_unrenderable(canary: str) -> OpOutcome:
    return OpOutcome(result={"task": {canary: object()}})


FAULTS: list[Callable[[str], Any]] = [
    _raise,
    _raise_chained,
    _raise_in_handler,
    _violate_constraint,
    _run_invalid_sql,
    _lose_database,
    _return_unrenderable,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_secrets_in_exceptions_of_handlers_do_not_leak(
    api: Api,
    canaries: Canaries,
    captured_logs: LogCapture,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[str], Any],
) -> None:
    def fail(request: OpRequest) -> Any:
        with transaction.atomic():  # keeps the test's transaction usable after invalid SQL
            return fault(canaries.create())

    for tool_name in ("get_onto_task_details", "update_onto_task"):
        monkeypatch.setitem(handlers.HANDLERS, tool_name, OpHandler(apply=fail))
    for body in (
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}},
        {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "Renamed"}},
        {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "Renamed"}, "dry_run": True},
    ):
        response = api.post("exec", body)

        assert response.status_code in (500, 503), response.content
        assert response.json()["error"]["code"] == "INTERNAL"
        assert canaries.find_in(dump_error(response)) == []

    event_log.flush()
    assert len(canaries.planted) == 3
    assert "exec.crashed" in captured_logs.text or response.status_code == 503  # bugs are logged
    assert canaries.find_in(captured_logs.text) == []
    assert canaries.find_in(dump_tables("analytics_operationevent")) == []


def test_secrets_in_exceptions_outside_handlers_do_not_leak(
    api: Api, canaries: Canaries, captured_logs: LogCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, work: UpstreamCall) -> Any:
        raise RuntimeError(canaries.create())

    monkeypatch.setattr(InProcessExecutor, "prepare", fail)
    monkeypatch.setattr("gateway.help.service.answer_help", lambda **_: _raise_chained(canaries.create()))

    responses = [api.post("help", {}), api.post("exec", {"op": "onto.task.list"})]

    assert [response.status_code for response in responses] == [500, 500]
    assert "request.crashed" in captured_logs.text
    assert canaries.find_in("".join(map(dump_error, responses)) + captured_logs.text) == []


def _fail_in_middleware(fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr("config.middleware._resolve_cached", fail)
    HttpClient(raise_request_exception=False).post("/api/v1/help", {}, content_type="application/json")


def _fail_in_page_middleware(fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(CommonMiddleware, "process_request", fail)
    HttpClient(raise_request_exception=False).get("/admin/login/")


def _fail_in_authentication(fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(KeyAuthentication, "authenticate", fail)
    HttpClient(raise_request_exception=False).post("/api/v1/help", {}, content_type="application/json")


def _fail_in_job(fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    job = Job("delete_sessions", wraps(retention.delete_sessions)(fail), timedelta(hours=1))
    monkeypatch.setattr(manifest, "_collected", Manifest(jobs=[job]))
    runner.run_due_jobs(at=timezone.now())


def _fail_in_poller(fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    refreshed = [wraps(key_verification.refresh_verified_keys)(fail)]
    monkeypatch.setattr(manifest, "_collected", Manifest(refreshed=refreshed))
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    monkeypatch.setattr(poller, "_failing", set())
    poller.refresh()


def _fail_in_thread(fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(threading, "excepthook", logs.log_thread_failure)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()


FAILING_PLACES = [
    _fail_in_middleware,
    _fail_in_page_middleware,
    _fail_in_authentication,
    _fail_in_job,
    _fail_in_poller,
    _fail_in_thread,
]


@pytest.mark.parametrize("fail_in_place", FAILING_PLACES)
def test_production_log_names_the_place_of_an_exception_without_its_message(
    db: None,
    canaries: Canaries,
    production_logs: LogCapture,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    fail_in_place: Callable[..., None],
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        _raise_chained(canaries.create())

    fail_in_place(fail, monkeypatch, settings)

    assert canaries.planted
    assert "ValueError" in production_logs.text
    assert "KeyError" in production_logs.text
    assert "in _raise_chained" in production_logs.text
    assert canaries.find_in(production_logs.text) == []


@for_each("error, message", [(DataError, "events.lost count=1"), (OperationalError, "events.write_failed queued=0")])
def test_log_of_events_that_are_not_written_omits_their_content(
    api: Api,
    canaries: Canaries,
    captured_logs: LogCapture,
    monkeypatch: pytest.MonkeyPatch,
    error: type[DatabaseError],
    message: str,
) -> None:
    def fail(cursor: Any, batch: Any) -> None:
        raise error(f"COPY analytics_operationevent, line 1, column subject: {canaries.create()}")

    monkeypatch.setattr(event_log, "_bulk_insert", fail)
    api.help("root")
    event_log.flush()

    assert message in captured_logs.text
    assert canaries.find_in(captured_logs.text) == []


def test_api_key_appears_in_no_table_and_no_log_line(api: Api, captured_logs: LogCapture) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    prefix, secret = key[:11], key[12:]
    api.help("onto.task")
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "title": "Renamed"}, idempotency_key="once")
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID})
    event_log.flush()

    database = dump_tables()
    assert database.count(prefix) >= 2  # the key's own row and the events of its calls
    assert "Renamed" in database
    assert secret not in database
    assert secret not in captured_logs.text
    assert len(secret) >= 40


def test_error_truncates_unknown_names_and_omits_their_values(
    api: Api, canaries: Canaries, captured_logs: LogCapture
) -> None:
    name = "x" * 500
    response = api.post("exec", {"op": "onto.task.list", "args": {name: canaries.create()}})
    error = response.json()["error"]

    message = error["details"]["field_errors"][0]["message"]
    assert name[:60] + "…" in message
    assert name[:61] not in message
    assert len(error["details"]["field_errors"][0]["path"]) == 200
    assert_no_leak(canaries, captured_logs, [response])
