"""Calls a gateway with the Python client made from its OpenAPI document: python calls.py URL KEY.

test_clients.py makes the client, checks the types here with mypy, and runs this.
"""

import sys

from tool_gateway_client import AuthenticatedClient
from tool_gateway_client.api.gateway import list_events, request_help, run_op
from tool_gateway_client.models import (
    Error,
    ErrorCode,
    EventPage,
    ExecRequest,
    ExecRequestArgs,
    HelpGroup,
    HelpOp,
    HelpOpFull,
    HelpRequest,
    HelpRequestFormat,
    ListEventsCode,
    OpKind,
    Success,
)
from tool_gateway_client.types import Unset


def build_exec(op: str, args: dict[str, object]) -> ExecRequest:
    return ExecRequest(op=op, args=ExecRequestArgs.from_dict(args))


def call_help(client: AuthenticatedClient) -> None:
    group = request_help.sync(client=client, body=HelpRequest(path="onto.task"))
    assert isinstance(group, HelpGroup), group
    kinds = {item.path: item.kind for item in group.items}
    assert kinds["onto.task.list"] is OpKind.READ, kinds
    assert isinstance(kinds["onto.task.docs"], Unset), kinds

    op = request_help.sync(client=client, body=HelpRequest(path="onto.task.update"))
    assert isinstance(op, HelpOp), op
    assert op.args["task_id"] == "uuid, required", op

    for path in ("onto.task.update", "probe.process"):  # the second one has no args
        full = request_help.sync(client=client, body=HelpRequest(path=path, format_=HelpRequestFormat.FULL))
        assert isinstance(full, HelpOpFull), full
        assert not isinstance(full.usage, Unset), full
        assert full.usage.op == path, full

    unknown = request_help.sync_detailed(client=client, body=HelpRequest(path="onto.task.lst"))
    assert unknown.status_code == 404, unknown
    assert isinstance(unknown.parsed, Error), unknown
    assert unknown.parsed.error.code is ErrorCode.NOT_FOUND, unknown
    suggestions = unknown.parsed.error.details.did_you_mean
    assert not isinstance(suggestions, Unset), unknown
    assert suggestions[0] == "onto.task.list", unknown


def call_exec(client: AuthenticatedClient) -> None:
    success = run_op.sync(client=client, body=build_exec("onto.task.list", {"limit": 2}))
    assert isinstance(success, Success), success
    assert len(success.result["tasks"]) == 2, success
    assert not isinstance(success.meta.operation, Unset), success
    assert success.meta.operation.action == "list", success

    refused = run_op.sync_detailed(client=client, body=build_exec("onto.task.list", {"limit": "3"}))
    assert refused.status_code == 400, refused
    assert isinstance(refused.parsed, Error), refused
    error = refused.parsed.error
    assert error.code is ErrorCode.VALIDATION_ERROR, refused
    assert [(each.path, each.code) for each in error.details.field_errors] == [("/limit", "type")], refused
    assert not isinstance(error.details.retry_with, Unset), refused
    assert error.details.retry_with["args"] == {"limit": 3}, refused


def call_with_a_wrong_key(client: AuthenticatedClient) -> None:
    response = run_op.sync_detailed(client=client, body=build_exec("onto.task.list", {}))
    assert response.status_code == 401, response
    assert isinstance(response.parsed, Error), response
    assert response.parsed.op is None, response
    assert response.parsed.error.code is ErrorCode.PERMISSION_DENIED, response


def call_events(client: AuthenticatedClient) -> None:
    page = list_events.sync(client=client, limit=1, code=ListEventsCode.VALIDATION_ERROR)
    assert isinstance(page, EventPage), page
    assert page.results[0].field_errors == [["/limit", "type"]], page


def main(url: str, key: str) -> None:
    """Make all calls. Raises AssertionError if a response is not as expected."""
    with AuthenticatedClient(base_url=url, token=key) as client:
        call_help(client)
        call_exec(client)
        call_events(client)
    with AuthenticatedClient(base_url=url, token="wrong") as client:
        call_with_a_wrong_key(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
