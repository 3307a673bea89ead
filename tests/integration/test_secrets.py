"""Secrets planted wherever a call can carry one, and looked for wherever they must not come out.

A secret that a caller sends as a value is told to nobody: no log line, no event, no error but its `retry_with`, which
is the caller's own call sent back. Names are no secrets: an op, a path and an argument are told as they were sent, cut,
or nobody could mend a misspelt one; and a session, a turn and a subject are what an event is about.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from django.middleware.common import CommonMiddleware
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.events import event_log
from core import logs, poller, safe_traceback
from gateway.api.authentication import KeyAuthentication
from gateway.executors.base import UpstreamCall
from gateway.executors.embedded import EmbeddedExecutor
from gateway.jobs import runner
from gateway.models import Client
from registry.catalog.model import Catalog
from registry.jsonschema import schemas
from tests.support.api import Api
from workspace import handlers
from workspace.contract import OpHandler, OpOutcome, OpRequest
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

AT_LEAST = 200  # secrets planted in args alone


class Canaries:
    """Makes secrets, and finds those of them that came out."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.planted: list[str] = []

    def plant(self) -> str:
        self.planted.append(f"canary{next(self._numbers):04}x9f3ac71e5d")
        return self.planted[-1]

    def in_(self, text: str) -> list[str]:
        return [canary for canary in self.planted if canary in text]


@pytest.fixture
def canaries() -> Canaries:
    return Canaries()


class Lines(logging.Handler):
    """Every line that any logger writes at any level, as a formatter shows it, with the values it was made of."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += f"{self.format(record)}\n{record.args!r}\n"


@pytest.fixture
def logged() -> Iterator[Lines]:
    """Listen to every logger there is, whatever level it was set to."""
    lines = Lines()
    loggers = [each for each in logging.Logger.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    before = {each: (each.level, each.disabled, each.propagate) for each in [*loggers, logging.root]}
    for each in before:
        each.setLevel(logging.DEBUG)
        each.disabled, each.propagate = False, True
    logging.root.addHandler(lines)
    yield lines
    logging.root.removeHandler(lines)
    for each, (level, disabled, propagate) in before.items():
        each.setLevel(level)
        each.disabled, each.propagate = disabled, propagate


@pytest.fixture
def written(logged: Lines) -> Lines:
    """Listen to every logger, and to threads that end in an exception, as production writes their lines."""
    logged.setFormatter(logs.formatter(as_json=True))
    logged.emit = lambda record: setattr(logged, "text", f"{logged.text}{logged.format(record)}\n")  # type: ignore
    return logged


def dump(*tables: str) -> str:
    """Every column of every row of some tables, or of all."""
    text = ""
    with connection.cursor() as cursor:
        for table in tables or connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a table's own name
            text += f"{table}: {cursor.fetchall()!r}\n"
    return text


def said(response: HttpResponse) -> str:
    """An error's body and headers without its `retry_with`; of a success nothing: a result is the caller's own."""
    answered = json.loads(response.content)
    if response.status_code < 400:
        return ""
    answered["error"]["details"].pop("retry_with", None)
    return json.dumps(answered, ensure_ascii=False) + str(response.headers)


def nothing_came_out(canaries: Canaries, logged: Lines, responses: list[HttpResponse]) -> None:
    event_log.flush()
    recorded = dump("analytics_operationevent")
    assert recorded.count("datetime") > len(responses) / 2  # the events were really there
    assert canaries.in_("".join(map(said, responses))) == []
    assert canaries.in_(recorded) == []
    assert canaries.in_(logged.text) == []


Slot = tuple[str | int, ...]


def slots(schema: dict[str, Any], root: dict[str, Any], at: Slot = ()) -> Iterator[Slot]:
    """Every place in an op's args that can be sent a text, also inside objects and lists: where a value may stand."""
    if isinstance(ref := schema.get("$ref"), str):
        schema = schemas.resolve(root, ref)  # type: ignore[assignment]
    if at:
        yield at
    for name, argument in schema.get("properties", {}).items():
        yield from slots(argument, root, (*at, name))
    if isinstance(items := schema.get("items"), dict):
        yield from slots(items, root, (*at, 0))


def put(args: Any, slot: Slot, value: Any) -> Any:
    """Return args with a value at a slot, and lists and objects around it where there are none."""
    if not slot:
        return value
    first, *rest = slot
    if isinstance(first, int):
        return [put(args[0] if isinstance(args, list) and args else None, tuple(rest), value)]
    held = dict(args) if isinstance(args, dict) else {}
    return {**held, first: put(held.get(first), tuple(rest), value)}


def call_with(op: Any, slot: Slot, value: Any) -> dict[str, Any]:
    """Return the args of an example of the op with a value at one slot."""
    return put(op.examples[0]["args"] if op.examples else {}, slot, value)


@pytest.mark.usefixtures("whole_world")
def test_secrets_in_args_of_every_op_come_out_nowhere(
    live_catalog: Catalog, api: Api, canaries: Canaries, logged: Lines
) -> None:
    responses = []
    for op in live_catalog.ops.values():
        for slot in slots(op.schema, op.schema):
            for value in (canaries.plant(), [canaries.plant()], {"token": canaries.plant()}, canaries.plant() * 80):
                body = {"op": op.op, "args": call_with(op, slot, value), "idempotency_key": f"k{len(responses)}"}
                responses.append(api.post("exec", body))
                assert responses[-1].status_code < 500, (op.op, slot)

    assert len(canaries.planted) >= AT_LEAST
    assert {response.status_code for response in responses} >= {200, 400}
    nothing_came_out(canaries, logged, responses)


def test_secrets_in_values_of_unknown_arguments_and_malformed_bodies_come_out_nowhere(
    api: Api, canaries: Canaries, logged: Lines
) -> None:
    plant = canaries.plant
    bodies: list[Any] = [
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID, "password": plant()}},
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID, "titel": {"deep": [plant()]}}},
        {"op": "onto.task.get", "args": plant()},
        {"op": "onto.task.get", "args": json.dumps({"task_id": plant()})},
        {"op": "onto.task.get", "args": [plant()]},
        {"op": "onto.task.get", "task_id": plant()},
        {"op": "onto.task.get", "args": {}, "api_key": plant()},
        {"op": [plant()], "args": {"x": plant()}},
        {"op": {"x": plant()}},
        {"op": "onto.task.list", "idempotency_key": "two words " + plant()},
        {"op": "onto.task.list", "dry_run": plant()},
        {"op": "onto.nothing", "args": {"x": plant()}},
        {"args": {"x": plant()}},
        [plant()],
        plant(),
    ]
    helps: list[Any] = [
        {"path": [plant()]},
        {"path": "root", "limit": plant()},
        {"path": "root", "cursor": plant()},
        {"path": "root", "format": plant()},
        {"path": "root", "secret": plant()},
        {"query": plant()},
        {"query": [plant()]},
        {"query": plant() * 60},
        {"query": "x", "path": "onto.task", "cursor": plant()},
    ]
    raws = [
        f'{{"op": "{plant()}',
        f'{{"op": "x", "args": {{"a": "{plant()}\\u0000"}}}}',
        f'{{"a": NaN, "b": "{plant()}"}}',
    ]
    responses = [api.post("exec", raw=json.dumps(body).encode()) for body in bodies]
    responses += [api.post("help", raw=json.dumps(body).encode()) for body in helps]
    responses += [api.post(door, raw=raw.encode()) for raw in raws for door in ("help", "exec")]

    nothing_came_out(canaries, logged, [response for response in responses if "query" not in response.json()])


def test_secrets_in_headers_and_parameters_come_out_nowhere(api: Api, canaries: Canaries, logged: Lines) -> None:
    plant = canaries.plant
    sent = [
        {"Authorization": f"Bearer {plant()}"},
        {"Authorization": f"Bearer gw_{plant()}"},
        {"Authorization": f"Basic {plant()}"},
        {"Authorization": plant()},
        {"Idempotency-Key": plant()},
        {"Idempotency-Key": f"two words {plant()}"},
        {"Gateway-Subject": f"two words {plant()}"},
        {"Gateway-Session": f"two words {plant()}"},
        {"Gateway-Turn": f"two words {plant()}"},
        {"Gateway-Context": plant()},
        {"Gateway-Context": f'type="{plant()}", project_id="{plant()}"'},
        {"Gateway-Context": f'project_id="{DEMO_PROJECT_ID}", secret="{plant()}"'},
        {"Gateway-Agent": plant()},
        {"Gateway-Toolset": plant()},
        {"Gateway-Confirm": plant()},
        {"Gateway-Traits": f'plan="{plant()}"'},
        {"Gateway-Model": plant()},
        {"Gateway-Environment": plant()},
        {"traceparent": f"00-{plant()}-01"},
        {"Cookie": f"sessionid={plant()}; csrftoken={plant()}"},
        {"User-Agent": plant()},
        {"Referer": f"https://example.com/?token={plant()}"},
        {"X-API-Key": plant()},
        {"X-Forwarded-For": plant()},
        {"Accept": plant()},
        {"If-None-Match": plant()},
        {"Content-Type": f"application/{plant()}"},
        {"Content-Type": f"application/json; charset={plant()}"},
        {"Content-Encoding": plant()},
    ]
    write = b'{"op": "onto.task.update", "args": {"task_id": "%s", "title": "Renamed"}}' % DEMO_TASK_ID.encode()
    responses = []
    for headers in sent:
        responses += [api.post("help", raw=b"{}", **headers), api.post("exec", raw=write, **headers)]
        responses.append(api.get(f"help?path=onto&token={plant()}", **headers))
    responses += [api.get(f"help?limit={plant()}"), api.get(f"help?cursor={plant()}&cursor={plant()}")]

    assert {response.status_code for response in responses} >= {200, 400, 401, 415}
    nothing_came_out(canaries, logged, responses)


def test_secrets_in_results_come_out_in_results_alone(api: Api, canaries: Canaries, logged: Lines) -> None:
    plant = canaries.plant
    rows = []
    for _ in range(20):
        args = {"project_id": DEMO_PROJECT_ID, "title": plant(), "description": plant(), "props": {"token": plant()}}
        rows.append(api.exec("onto.task.create", args, idempotency_key=plant())["result"]["task"]["id"])
    responses = [api.post("exec", {"op": "onto.task.get", "args": {"task_id": row}}) for row in rows]
    responses.append(api.post("exec", {"op": "onto.task.list", "args": {"limit": 50}}))
    responses.append(api.post("exec", {"op": "onto.task.search", "args": {"query": "canary"}}))
    responses.append(api.post("exec", {"op": "onto.task.delete", "args": {"task_id": rows[0]}, "dry_run": True}))

    assert canaries.in_(responses[0].content.decode()) == canaries.planted[:3]
    nothing_came_out(canaries, logged, responses)


def _raised(canary: str) -> None:
    raise RuntimeError(canary)


def _raised_from(canary: str) -> None:
    try:
        {}[canary]
    except KeyError as error:
        raise ValueError(f"no {canary}") from error


def _raised_beside(canary: str) -> None:
    try:
        int(canary)
    except ValueError:
        raise TypeError(canary)  # noqa: B904 - as a handler may do


def _broken_constraint(canary: str) -> None:
    for _ in range(2):
        Client.objects.create(name=canary)  # PostgreSQL's message quotes the row


def _broken_statement(canary: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CAST(%s AS integer), nothing FROM nowhere_at_all", [canary])


def _unavailable(canary: str) -> None:
    raise OperationalError(f"connection to server failed: password={canary}")


def _unrenderable(canary: str) -> OpOutcome:
    return OpOutcome(result={"task": {canary: object()}})


FAULTS: list[Callable[[str], Any]] = [
    *(_raised, _raised_from, _raised_beside, _broken_constraint, _broken_statement, _unavailable, _unrenderable)
]


@pytest.mark.parametrize("fault", FAULTS)
def test_secrets_in_exceptions_come_out_nowhere(
    api: Api, canaries: Canaries, logged: Lines, monkeypatch: pytest.MonkeyPatch, fault: Callable[[str], Any]
) -> None:
    def fails(request: OpRequest) -> Any:
        with transaction.atomic():  # the test's own transaction outlives a read's broken statement
            return fault(canaries.plant())

    for tool_name in ("get_onto_task_details", "update_onto_task"):
        monkeypatch.setitem(handlers.HANDLERS, tool_name, OpHandler(apply=fails))
    for step in (
        {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}},
        {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "Renamed"}},
        {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "Renamed"}, "dry_run": True},
    ):
        response = api.post("exec", step)

        assert response.status_code in (500, 503), response.content
        assert response.json()["error"]["code"] == "INTERNAL"
        assert canaries.in_(said(response)) == []

    event_log.flush()
    assert len(canaries.planted) == 3
    assert "exec.crashed" in logged.text or response.status_code == 503  # a bug is logged
    assert canaries.in_(logged.text) == []
    assert canaries.in_(dump("analytics_operationevent")) == []


def test_secrets_in_exceptions_outside_exec_come_out_nowhere(
    api: Api, canaries: Canaries, logged: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Any, work: UpstreamCall) -> Any:
        raise RuntimeError(canaries.plant())

    monkeypatch.setattr(EmbeddedExecutor, "prepare", fails)
    monkeypatch.setattr("gateway.help.service.answer_help", lambda **_: _raised_from(canaries.plant()))

    responses = [api.post("help", {}), api.post("exec", {"op": "onto.task.list"})]

    assert [response.status_code for response in responses] == [500, 500]
    assert "request.crashed" in logged.text
    assert canaries.in_("".join(map(said, responses)) + logged.text) == []


def _in_middleware(fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr("config.middleware._resolve_cached", fails)
    HttpClient(raise_request_exception=False).post("/api/v1/help", {}, content_type="application/json")


def _in_middleware_of_pages(fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(CommonMiddleware, "process_request", fails)
    HttpClient(raise_request_exception=False).get("/admin/login/")


def _in_authentication(fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(KeyAuthentication, "authenticate", fails)
    HttpClient(raise_request_exception=False).post("/api/v1/help", {}, content_type="application/json")


def _in_a_job(fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.GATEWAY_JOBS = {"gateway.jobs.retention.sessions": timedelta(hours=1)}
    monkeypatch.setattr("gateway.jobs.retention.sessions", fails)
    runner.run_due_jobs(at=timezone.now())


def _in_the_follower(fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.GATEWAY_FOLLOWS = ["gateway.clients.api_keys.follow"]
    monkeypatch.setattr("gateway.clients.api_keys.follow", fails)
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    monkeypatch.setattr(poller, "_failing_paths", set())
    poller.refresh()


def _in_a_thread(fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(threading, "excepthook", safe_traceback.log_thread_failure)
    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()


PLACES = [_in_middleware, _in_middleware_of_pages, _in_authentication, _in_a_job, _in_the_follower, _in_a_thread]


@pytest.mark.parametrize("place", PLACES)
def test_a_production_line_tells_where_an_exception_arose_and_not_what_it_said(
    db: None,
    canaries: Canaries,
    written: Lines,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    place: Callable[..., None],
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        _raised_from(canaries.plant())

    place(fails, monkeypatch, settings)

    assert canaries.planted
    assert "ValueError" in written.text
    assert "KeyError" in written.text
    assert "in _raised_from" in written.text
    assert canaries.in_(written.text) == []


def test_events_that_cannot_be_written_are_logged_without_what_they_hold(
    api: Api, canaries: Canaries, logged: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(cursor: Any, batch: Any) -> None:
        raise OperationalError(f"COPY analytics_operationevent, line 1, column subject: {canaries.plant()}")

    monkeypatch.setattr(event_log, "_bulk_insert", fails)
    api.help("root")
    event_log.flush()

    assert "events.lost count=1" in logged.text
    assert canaries.in_(logged.text) == []


def test_key_is_nowhere_in_the_database_and_in_no_line(api: Api, logged: Lines) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    prefix, secret = key[:11], key[12:]
    api.help("onto.task")
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "title": "Renamed"}, idempotency_key="once")
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID})
    event_log.flush()

    everything = dump()
    assert everything.count(prefix) >= 2  # the key's own row and the events of its calls
    assert "Renamed" in everything
    assert secret not in everything
    assert secret not in logged.text
    assert len(secret) >= 40


def test_unknown_names_are_told_cut_and_their_values_never(api: Api, canaries: Canaries, logged: Lines) -> None:
    name = "x" * 500
    response = api.post("exec", {"op": "onto.task.list", "args": {name: canaries.plant()}})
    error = response.json()["error"]

    assert name[:60] + "…" in error["message"]
    assert name[:61] not in error["message"]
    assert len(error["details"]["field_errors"][0]["path"]) == 200
    nothing_came_out(canaries, logged, [response])
