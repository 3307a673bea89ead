import inspect
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest

from core import handler_contract
from core.handler_contract import (
    UNCHANGED,
    ArgumentError,
    EmbeddedUpstream,
    Forbidden,
    InvalidArgs,
    NotFound,
    NotSetUp,
    OpHandler,
    OpOutcome,
    OpRefusal,
    OpRequest,
    StateConflict,
    TookTooLong,
    Unavailable,
)
from gateway.contracts.errors import ErrorCode, GatewayError, InternalError
from gateway.executors import EXECUTORS, executor_for, in_process
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.in_process import ERROR_CLASSES, GatewayOpRequest, InProcessExecutor
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig, Connections
from registry.catalog.model import FULL_VISIBILITY
from registry.models import Connection
from tests.support.rows.sample_ops import build_op, build_upstream_call

AT = datetime(2030, 1, 1, tzinfo=UTC)


def build_call(**fields: Any) -> UpstreamCall:
    op_with_connection = build_op(**({"connection": "workspace"} | fields))
    return build_upstream_call(op_with_connection, args={"a": 1}, subject="me", at=AT)


def build_executor(handler: OpHandler[Any], **fields: Any) -> InProcessExecutor:
    return InProcessExecutor(EmbeddedUpstream("workspace", {"update_onto_task": handler}, **fields))


def test_every_refusal_has_an_api_error() -> None:
    classes = {each for _, each in inspect.getmembers(handler_contract, inspect.isclass)}

    assert set(ERROR_CLASSES) == {each for each in classes if issubclass(each, OpRefusal)} - {OpRefusal}
    assert {error.code for error in ERROR_CLASSES.values()} == set(ErrorCode)


@pytest.mark.parametrize("refusal", sorted(ERROR_CLASSES, key=lambda each: each.__name__))
@pytest.mark.parametrize("step", ["prepare", "apply"])
def test_refusal_is_passed_on_completely(refusal: type[OpRefusal], step: str) -> None:
    def refuse(request: OpRequest) -> OpOutcome:
        field_errors = [ArgumentError("/a", "bad", "Send b.", ["b"], None)]
        raise refusal("No.", reason="because", field_errors=field_errors, details={"requires_user_action": True})

    executor = build_executor(OpHandler(apply=refuse, prepare=refuse))

    with pytest.raises(GatewayError) as error:
        executor.prepare(build_call()) if step == "prepare" else executor.apply(build_call(), None)

    assert type(error.value) is ERROR_CLASSES[refusal]
    # The field errors of invalid args say all that the message says.
    message = "The args are invalid. Correct what field_errors lists." if refusal is InvalidArgs else "No."
    assert (str(error.value), error.value.reason, error.value.help_path) == (message, "because", "onto.task.update")
    assert [(each.path, each.code, each.message) for each in error.value.field_errors] == [("/a", "bad", "Send b.")]
    assert error.value.as_dict()["details"]["requires_user_action"] is True


@pytest.mark.parametrize(
    ("refusal", "status", "reason", "retryable", "is_final"),
    [
        (InvalidArgs, 400, "invalid_args", False, True),
        (Forbidden, 403, "forbidden", False, True),
        (NotFound, 404, "not_found", False, True),
        (StateConflict, 409, "conflict", False, True),
        (NotSetUp, 503, "not_configured", False, True),
        (Unavailable, 503, "upstream_unreachable", True, False),  # nothing was applied
        (TookTooLong, 504, "upstream_timeout", False, True),
    ],
)
def test_refusal_has_its_status(
    refusal: type[OpRefusal], status: int, reason: str, retryable: bool, is_final: bool
) -> None:
    with pytest.raises(GatewayError, match=r"No\.") as caught:
        build_executor(OpHandler(apply=Mock(side_effect=refusal("No.")))).apply(build_call(), None)

    error = caught.value
    assert (error.status, error.reason, error.retryable, error.is_final) == (status, reason, retryable, is_final)


def test_refusal_of_an_apps_own_class_is_the_error_of_its_base() -> None:
    class QuotaExceeded(TookTooLong):
        """A class that only the app knows."""

    with pytest.raises(InternalError, match=r"No\.") as caught:
        build_executor(OpHandler(apply=Mock(side_effect=QuotaExceeded("No.")))).apply(build_call(), None)

    assert caught.value.status == 504


def test_handler_gets_the_call_and_its_prepared_value() -> None:
    requests: list[GatewayOpRequest] = []

    def apply(request: GatewayOpRequest) -> OpOutcome:
        requests.append(request)
        return OpOutcome({"x": 1}, ("careful",), "id", "name", ("a", "b"), "task", "update")

    executor, call = build_executor(OpHandler(apply=apply, prepare=lambda _: "prepared")), build_call()

    outcome = executor.apply(call, executor.prepare(call))

    [request] = requests
    assert (request.subject, request.args, request.at, request.deadline) == ("me", {"a": 1}, AT, call.deadline)
    assert (request.prepared, request.catalog, request.visibility) == ("prepared", call.catalog, FULL_VISIBILITY)
    assert outcome == UpstreamResponse({"x": 1}, ("careful",), "id", "name", ("a", "b"), "task", "update")


def test_write_that_changed_nothing_has_changed_no_row() -> None:
    executor = build_executor(OpHandler(apply=lambda _: OpOutcome({}, (UNCHANGED,), "id", changed_ids=("id",))))

    assert executor.apply(build_call(), None).changed_ids == ()


def test_first_upstream_that_knows_answers_a_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    known = SimpleNamespace(
        find_title=lambda _entity, id, _subject: "Title" if id == "1" else None,
        find_kind=lambda id, _subject: "task" if id == "1" else None,
        get_time_zone=lambda _subject: ZoneInfo("Asia/Tokyo"),
    )
    unknowing = SimpleNamespace(find_title=lambda *_: None, find_kind=lambda *_: None)
    monkeypatch.setattr(in_process, "_executors", {})

    assert (in_process.find_time_zone("me"), in_process.find_title("task", "1", "me")) == (UTC, None)

    for name, lookups in {"none": None, "first": unknowing, "second": known}.items():
        in_process.add_upstream(EmbeddedUpstream(name, {}, lookups))
    assert (in_process.find_title("task", "1", "me"), in_process.find_kind("1", "me")) == ("Title", "task")
    assert (in_process.find_title("task", "2", "me"), in_process.find_kind("2", "me")) == (None, None)
    assert in_process.find_lookups("second") is known
    assert in_process.find_lookups("none") is in_process.find_lookups("unknown") is None


def test_executors_cover_every_kind_of_connection() -> None:
    assert set(EXECUTORS) | in_process.KINDS == set(Connection.Kind)


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"connection": ""}, "no connection is set"),
        ({"connection": "nothing"}, 'the connection "nothing" does not exist'),
        ({"connection": "odd"}, 'the connection "odd" is of an unsupported kind: fax'),
        ({"connection": "unhandled"}, 'the connection "unhandled" has no handler for the tool "update_onto_task"'),
        ({"tool_name": "x"}, 'the connection "handled" has no handler for the tool "x"'),
    ],
)
def test_op_that_lacks_something_is_not_connected(
    fields: dict[str, str], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_process, "_executors", {})
    in_process.add_upstream(EmbeddedUpstream("handled", {"update_onto_task": OpHandler(apply=lambda _: OpOutcome({}))}))
    kinds = {"handled": "embedded", "unhandled": "embedded", "odd": "fax"}
    by_name = {name: ConnectionConfig(name, kind) for name, kind in kinds.items()}
    monkeypatch.setattr(connections, "_current", Connections(by_name))

    with pytest.raises(InternalError, match=re.escape(f"onto.task.update cannot run: {missing}. Nothing")) as error:
        executor_for(build_op(**({"connection": "handled"} | fields)))

    assert (error.value.status, error.value.reason) == (503, "not_connected")
    assert isinstance(executor_for(build_op(connection="handled")), InProcessExecutor)
