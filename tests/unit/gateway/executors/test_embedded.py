import inspect
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from config import wiring
from core import handler_contract
from core.database.deadlines import Deadline
from core.handler_contract import OpHandler, OpOutcome, OpRequest
from gateway.contracts.errors import ErrorCode, GatewayError, InternalError
from gateway.executors import EXECUTORS, executor_for
from gateway.executors.base import UpstreamCall
from gateway.executors.embedded import ERROR_CLASSES, EmbeddedExecutor
from registry.catalog import builder, connections
from registry.catalog.connections import ConnectionConfig, Connections
from registry.catalog.model import FULL_VISIBILITY
from registry.files import loader
from registry.models import Connection
from tests.support.sample_ops import build_op
from workspace.handlers import HANDLERS

AT = datetime(2030, 1, 1, tzinfo=UTC)


def build_call(**fields: Any) -> UpstreamCall:
    op_with_connection = build_op(**({"connection": "workspace"} | fields))
    return UpstreamCall(
        op=op_with_connection,
        catalog=builder.build_catalog("v" * 64, {"groups": [], "ops": []}),
        visibility=FULL_VISIBILITY,
        args={"a": 1},
        subject="me",
        at=AT,
        deadline=Deadline.after(milliseconds=1000),
    )


def test_every_workspace_error_has_an_api_error() -> None:
    kinds = {
        each
        for _, each in inspect.getmembers(handler_contract, inspect.isclass)
        if issubclass(each, handler_contract.OpRefusal)
    }

    assert set(ERROR_CLASSES) == kinds - {handler_contract.OpRefusal}
    assert {error.code for error in ERROR_CLASSES.values()} == set(ErrorCode) - {ErrorCode.INTERNAL}


@pytest.mark.parametrize("refusal", sorted(ERROR_CLASSES, key=lambda each: each.__name__))
@pytest.mark.parametrize("step", ["prepare", "apply"])
def test_workspace_error_is_passed_on_completely(
    monkeypatch: pytest.MonkeyPatch, refusal: type[handler_contract.OpRefusal], step: str
) -> None:
    def refuse(request: OpRequest) -> OpOutcome:
        field_errors = [handler_contract.ArgumentError("/a", "bad", "Send b.", ["b"], None)]
        raise refusal("No.", reason="because", field_errors=field_errors, details={"requires_user_action": True})

    monkeypatch.setitem(HANDLERS, "update_onto_task", OpHandler(apply=refuse, prepare=refuse))

    with pytest.raises(GatewayError) as error:
        EmbeddedExecutor().prepare(build_call()) if step == "prepare" else EmbeddedExecutor().apply(build_call(), None)

    assert type(error.value) is ERROR_CLASSES[refusal]
    # The field errors of invalid args say all that the message says.
    message = (
        "The args are invalid. Correct what field_errors lists." if refusal is handler_contract.InvalidArgs else "No."
    )
    assert (str(error.value), error.value.reason, error.value.help_path) == (message, "because", "onto.task.update")
    assert [(each.path, each.code, each.message) for each in error.value.field_errors] == [("/a", "bad", "Send b.")]
    assert error.value.as_dict()["details"]["requires_user_action"] is True


def test_handler_gets_the_call_and_its_prepared_value(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[OpRequest] = []

    def apply(request: OpRequest) -> OpOutcome:
        requests.append(request)
        return OpOutcome({"x": 1}, ("careful",), "id", "name")

    monkeypatch.setitem(HANDLERS, "update_onto_task", OpHandler(apply=apply, prepare=lambda _: "prepared"))
    call = build_call()

    outcome = EmbeddedExecutor().apply(call, EmbeddedExecutor().prepare(call))

    assert requests == [OpRequest("me", {"a": 1}, AT, "prepared", call.deadline)]
    assert (outcome.result, outcome.warnings, outcome.entity_id, outcome.entity_name) == (
        {"x": 1},
        ("careful",),
        "id",
        "name",
    )


def test_handler_without_prepare_prepares_nothing() -> None:
    assert EmbeddedExecutor().prepare(build_call()) is None


def test_executors_cover_every_kind_of_connection() -> None:
    assert set(EXECUTORS) == set(Connection.Kind)


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"connection": ""}, "no connection is set"),
        ({"connection": "nothing"}, 'the connection "nothing" does not exist'),
        ({"connection": "odd"}, 'the connection "odd" is of a kind that nothing runs: fax'),
        ({"connection": "unhandled"}, 'the connection "unhandled" has no handler for the tool "update_onto_task"'),
        ({"tool_name": "x"}, 'the connection "workspace" has no handler for the tool "x"'),
    ],
)
def test_op_that_lacks_something_is_not_connected(
    fields: dict[str, str], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"workspace": "embedded", "unhandled": "embedded", "odd": "fax"}
    by_name = {name: ConnectionConfig(name, kind) for name, kind in kinds.items()}
    monkeypatch.setattr(connections, "_current", Connections(by_name))

    with pytest.raises(InternalError, match=re.escape(f"onto.task.update cannot run: {missing}. Nothing")) as error:
        executor_for(build_op(**({"connection": "workspace"} | fields)))

    assert (error.value.status, error.value.reason) == (503, "not_connected")
    assert isinstance(executor_for(build_op(connection="workspace")), EmbeddedExecutor)


def test_shipped_ops_and_handlers_match(live_catalog: Any) -> None:
    assert loader.read_shipped_catalog()
    for connection, handlers in wiring.EMBEDDED_UPSTREAMS.items():
        ops = [each for each in live_catalog.ops.values() if each.connection == connection]
        assert {each.tool_name for each in ops} == set(handlers)
