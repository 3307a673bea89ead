"""The danger of imported ops: which ask the end user first, and which events say delete."""

from registry.imports import danger, document_source, mcp_import, openai
from registry.imports.danger import Danger, judge_operation
from registry.imports.functions import read_functions
from registry.imports.import_source import ImportSource
from registry.imports.openai import ProviderFormat
from tests.support.loops import for_each
from tests.support.upstreams.mcp_listing import build_tool
from tests.support.upstreams.openapi_documents import build_document, parse

READ, WRITE = False, True
NONE, UNKNOWN, HARMFUL = Danger.NONE, Danger.UNKNOWN, Danger.HARMFUL


@for_each(
    "request, operation_id, text, expected",
    [
        ("GET /pets", "", "", (READ, NONE)),
        ("POST /pets", "", "", (WRITE, NONE)),  # HTTP says that it creates
        ("PUT /pets/{id}/owner", "petOwner", "An owner", (WRITE, NONE)),
        ("DELETE /pets/{id}", "", "", (WRITE, HARMFUL)),
        ("POST /projects_delete", "projects_delete", "A project", (WRITE, HARMFUL)),
        ("POST /users", "DeleteUser", "A user", (WRITE, HARMFUL)),
        ("POST /users:purge", "", "", (WRITE, HARMFUL)),
        ("POST /users/{id}/run", "", "Deletes a user.", (WRITE, HARMFUL)),
        ("POST /users/{id}/zap", "", "", (WRITE, UNKNOWN)),
        ("POST /users/{id}/zap", "", "Send a greeting.", (WRITE, NONE)),
        ("POST /sql", "executeSql", "", (WRITE, UNKNOWN)),
        ("POST /pets/search", "", "Finds pets.", (READ, NONE)),
        ("POST /pets/search", "searchTrash", "Finds pets.", (READ, NONE)),
        ("POST /pets/search", "", "Saves a search.", (WRITE, NONE)),
        ("POST /list_items", "", "Creates an item.", (WRITE, NONE)),
        ("POST /query_templates", "", "", (WRITE, NONE)),
        ("POST /graphql", "", "", (WRITE, UNKNOWN)),
        ("GET /session/logout", "", "", (WRITE, NONE)),
        ("GET /deletions", "", "Lists deletions.", (READ, NONE)),
        ("GET /users/{id}/deleted", "getDeleted", "", (READ, NONE)),
        ("GET /cache/purge", "purgeCache", "Purges the cache", (WRITE, HARMFUL)),
        ("GET /items/{id}/delete", "getItem", "Returns an item", (WRITE, HARMFUL)),
        ("GET /deleteItem", "deleteItem", "Returns whether it worked", (WRITE, HARMFUL)),
        ("GET /orders/{id}/cancel", "getOrderCancel", "", (WRITE, HARMFUL)),
        ("GET /cache/flush", "getCacheFlush", "Flush the cache", (WRITE, HARMFUL)),
        ("GET /items/deleteAll", "getItemsDeleteAll", "", (WRITE, HARMFUL)),
        ("GET /cache/{id}", "getCacheFlush", "Flush the cache", (WRITE, HARMFUL)),
        ("GET /tokens/rotate", "rotateToken", "Rotates a token", (WRITE, NONE)),
        ("GET /users/{id}/deactivate", "deactivateUser", "A user", (WRITE, NONE)),
        ("GET /tokens/rotate", "rotateToken", "Gets the last rotation", (READ, NONE)),
        ("GET /reports/export", "exportReport", "The report", (READ, NONE)),
        ("GET /orderHistory", "orderHistory", "Past orders", (READ, NONE)),
        ("GET /report", "report", "The sales", (READ, NONE)),
        ("GET /images/{id}/render", "renderImage", "An image", (READ, NONE)),
        ("GET /drop-zone", "getDropZone", "The drop zone", (READ, NONE)),
        ("GET /cancel-order", "getCancelOrder", "Get the form that cancels", (READ, NONE)),
        ("PATCH /orders/{id}", "", "Cancel an order.", (WRITE, HARMFUL)),
        ("POST /items", "", "Empty the cart", (WRITE, HARMFUL)),
        ("PATCH /orders/{id}", "updateOrder", "Cancel or change an order.", (WRITE, NONE)),
    ],
)
def test_danger_of_operations(request: str, operation_id: str, text: str, expected: tuple[bool, Danger]) -> None:
    method, path = request.split(" ")

    assert judge_operation(method, path, operation_id, text) == expected


@for_each(
    "name, description, asks, action",
    [
        ("create_task", "Create a task.", False, "create"),
        ("crear_cliente", "", False, "run"),
        ("get_and_delete", "", True, "delete"),
        ("cancel_subscription", "Cancel it.", True, "delete"),
        ("zap_notes", "Zap notes.", True, "run"),
        ("zap_notes", "Clears notes.", True, "delete"),
        ("run_command", "Execute a command.", True, "run"),
        ("weather", "Get the weather.", False, "get"),
    ],
)
def test_functions_and_tools_of_servers_are_judged_alike(name: str, description: str, asks: bool, action: str) -> None:
    parsed = openai.collect_functions([{"name": name, "description": description}], ProviderFormat.OPENAI)
    tool = build_tool(name, description)
    sources = [read_functions(parsed, "x"), mcp_import.build_source([tool], group="x", needs_subject=False)]

    for source in sources:
        assert _read_judgement(source) == (asks, action)
        says_why = danger.UNKNOWN_VERB in source.ops[0].remarks
        assert says_why is (asks and action == "run")


def test_an_operation_that_deletes_by_its_name_asks_and_its_events_say_so() -> None:
    document = parse(build_document({"/users": {"post": {"operationId": "DeleteUser", "summary": "A user"}}}))

    assert _read_judgement(document_source.build_source(document, whole=document)) == (True, "delete")


def _read_judgement(source: ImportSource) -> tuple[bool, str]:
    (op,) = source.ops
    return op.confirm, op.fields["action"]
