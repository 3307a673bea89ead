import inspect
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from django.utils.module_loading import import_string

from core.deadlines import Deadline
from gateway.contracts.errors import ErrorCode, GatewayError, InternalError
from gateway.executors import EXECUTORS, executor_for
from gateway.executors.base import UpstreamCall
from gateway.executors.embedded import ERROR_CLASSES, EmbeddedExecutor
from registry.catalog import connections, model
from registry.files import loader
from registry.models import Connection
from tests.support.sample_ops import op
from workspace import errors
from workspace.contract import OpHandler, OpOutcome, OpRequest
from workspace.handlers import HANDLERS

AT = datetime(2030, 1, 1, tzinfo=UTC)


def work(**fields: Any) -> UpstreamCall:
    found = op(**({"connection": "workspace"} | fields))
    return UpstreamCall(
        op=found,
        catalog=model.build_catalog("v" * 64, {"groups": [], "ops": []}),
        args={"a": 1},
        subject="me",
        at=AT,
        deadline=Deadline.after(milliseconds=1000),
    )


def test_every_refusal_of_the_workspace_has_its_error() -> None:
    kinds = {each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.WorkspaceError)}

    assert set(ERROR_CLASSES) == kinds - {errors.WorkspaceError}
    assert {error.code for error in ERROR_CLASSES.values()} == set(ErrorCode) - {ErrorCode.INTERNAL}


@pytest.mark.parametrize("refusal", sorted(ERROR_CLASSES, key=lambda each: each.__name__))
@pytest.mark.parametrize("step", ["prepare", "apply"])
def test_refusal_is_passed_on_whole(
    monkeypatch: pytest.MonkeyPatch, refusal: type[errors.WorkspaceError], step: str
) -> None:
    def refuses(request: OpRequest) -> OpOutcome:
        wrong = [errors.ArgumentError("/a", "bad", "Send b.", ["b"], None)]
        raise refusal("No.", reason="because", field_errors=wrong, details={"requires_user_action": True})

    monkeypatch.setitem(HANDLERS, "update_onto_task", OpHandler(apply=refuses, prepare=refuses))

    with pytest.raises(GatewayError) as error:
        EmbeddedExecutor().prepare(work()) if step == "prepare" else EmbeddedExecutor().apply(work(), None)

    assert type(error.value) is ERROR_CLASSES[refusal]
    assert (str(error.value), error.value.reason, error.value.help_path) == ("No.", "because", "onto.task.update")
    assert [(each.path, each.code, each.message) for each in error.value.field_errors] == [("/a", "bad", "Send b.")]
    assert error.value.as_dict()["details"]["requires_user_action"] is True


def test_handler_is_given_the_call_and_what_it_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[OpRequest] = []

    def apply(request: OpRequest) -> OpOutcome:
        given.append(request)
        return OpOutcome({"x": 1}, ("careful",), "id", "name")

    monkeypatch.setitem(HANDLERS, "update_onto_task", OpHandler(apply=apply, prepare=lambda _: "prepared"))
    todo = work()

    outcome = EmbeddedExecutor().apply(todo, EmbeddedExecutor().prepare(todo))

    assert given == [OpRequest("me", {"a": 1}, AT, "prepared")]
    assert (outcome.result, outcome.warnings, outcome.entity_id, outcome.entity_name) == (
        {"x": 1},
        ("careful",),
        "id",
        "name",
    )


def test_handler_without_prepare_prepares_nothing() -> None:
    assert EmbeddedExecutor().prepare(work()) is None


@pytest.mark.parametrize("fields", [{"tool_name": "nothing"}, {"connection": "nothing"}])
def test_op_without_a_handler_is_not_connected(fields: dict[str, str]) -> None:
    with pytest.raises(InternalError) as error:
        EmbeddedExecutor().prepare(work(**fields))

    assert (error.value.status, error.value.reason) == (503, "not_connected")


def test_executors_know_every_kind_of_connection() -> None:
    assert set(EXECUTORS) == set(Connection.Kind)


@pytest.mark.parametrize("connection", ["", "nothing"])
def test_op_without_a_connection_is_not_connected(connection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_kinds", {"workspace": "embedded"})

    with pytest.raises(InternalError) as error:
        executor_for(op(connection=connection))

    assert (error.value.status, error.value.reason) == (503, "not_connected")
    assert isinstance(executor_for(op(connection="workspace")), EmbeddedExecutor)


def test_every_shipped_op_has_its_handler_and_every_handler_its_op(live_catalog: Any) -> None:
    assert loader.read_shipped_catalog()
    for connection, path in settings.GATEWAY_EMBEDDED.items():
        ops = [each for each in live_catalog.ops.values() if each.connection == connection]
        assert {each.tool_name for each in ops} == set(import_string(path))
