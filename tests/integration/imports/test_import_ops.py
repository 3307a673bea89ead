"""Importing a list of functions with the command, and reading the imported ops through the API."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from core.background import poller
from core.text import token_budget
from gateway.credentials import connection_secrets
from gateway.management.commands.import_ops import EXIT_INCOMPLETE, EXIT_NOT_PUBLISHED
from registry.catalog import cache
from registry.models import Connection, Group, Op
from registry.releases import stored_releases
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.upstreams import any_upstream
from tests.support.upstreams.openapi_documents import build_document

CITY = {"type": "string", "description": "Name of the city, such as Paris."}


def build_tool(name: str, description: str = "", /, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object"} | parameters}


TOOLS = [
    build_tool("get_forecast", "Get the forecast of a city.", properties={"city": CITY}, required=["city"]),
    build_tool("list_forecasts", "List all forecasts that were made. Newest first."),
    build_tool("send_alert", "Use this tool to send an alert to everyone in a city.", properties={"city": CITY}),
]


@pytest.fixture
def import_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that imports tools with the command and returns its output.

    An import has no connection. To publish it, an admin chooses one, and the list is imported again.
    """

    def run(tools: Any, group: str = "weather", format: str = "anthropic", **options: Any) -> str:
        file = tmp_path / f"{group}.json"
        file.write_text(tools if isinstance(tools, str) else json.dumps(tools), encoding="utf-8")
        command = ["import_ops", str(file), "--format", format, "--group", group]
        try:
            if options.get("publish"):
                with suppress(CommandError):
                    call_command(*command)
                any_upstream.connect_ops()
            call_command(*command, **options)
        finally:
            poller.refresh()
            output = capsys.readouterr().out
        return output

    return run


def test_imported_op_is_reachable_from_the_root_of_help(api: Api, import_tools: Callable[..., str]) -> None:
    output = import_tools(TOOLS, publish=True)

    assert "3 functions: 3 ops added" in output
    assert "ops is live." in output
    assert {"path": "weather", "summary": "alert, forecast"} in api.help()["items"]
    assert [item["path"] for item in api.help("weather")["items"]] == ["weather.alert", "weather.forecast"]
    assert api.help("weather.forecast")["items"] == [
        {"path": "weather.forecast.get", "summary": "Get the forecast of a city", "kind": "read"},
        {"path": "weather.forecast.list", "summary": "List all forecasts that were made", "kind": "read"},
    ]
    assert api.help("weather.forecast.get") == {
        "path": "weather.forecast.get",
        "type": "op",
        "kind": "read",
        "summary": "Get the forecast of a city",
        "args": {"city": "string, required"},
    }
    assert api.help("weather.forecast.get", arg="city")["arg"]["description"] == CITY["description"]
    assert api.help("weather.alert.send")["summary"] == "Send an alert to everyone in a city"


def test_import_accepts_its_warnings_with_its_note_as_the_reason(db: None, import_tools: Callable[..., str]) -> None:
    import_tools([build_tool("wait", "Wait.", properties={"delay": {"type": "number"}})], publish=True)

    release = stored_releases.get_live_release()
    assert release is not None
    assert release.accepted_because == "Import of weather.json into weather"
    assert [warning["rule"] for warning in release.accepted_warnings] == ["number_without_unit"]


def test_imported_op_is_found_by_its_upstream_name_and_by_words(api: Api, import_tools: Callable[..., str]) -> None:
    import_tools([*TOOLS, build_tool("PDF&URL reader", "Read a page.")], publish=True)

    for query, path in [
        ("get_forecast", "weather.forecast.get"),
        ("PDF&URL reader", "weather.pdf_url_reader.get"),
        ("forecast of a city", "weather.forecast.get"),
    ]:
        assert api.help(query=query)["items"][0]["path"] == path, query
    assert api.help("get_forecast")["path"] == "weather.forecast.get"
    assert api.help("PDF&URL reader")["path"] == "weather.pdf_url_reader.get"


def test_imported_op_that_lost_its_connection_is_not_offered_and_says_why(
    api: Api, import_tools: Callable[..., str]
) -> None:
    import_tools(TOOLS, publish=True)
    Connection.objects.filter(name=any_upstream.CONNECTION).update(name="renamed")
    poller.refresh()

    calls = [("weather.forecast.get", {"city": "Paris"}), ("get_forecast", {}), ("send_alert", {"nothing": 1})]
    for op, args in calls:
        error = assert_refused(api.post("exec", {"op": op, "args": args}), 503, "not_connected")
        assert error["code"] == "INTERNAL"
        assert error["help_path"] == "root"
        assert "cannot run: the connection" in error["message"]
        help_error = assert_refused(api.post("help", {"path": op}), 404, "unknown_path")
        assert "cannot run: the connection" in help_error["message"]
    assert "weather" not in [item["path"] for item in api.help()["items"]]
    assert not [item for item in api.help(query="forecast of a city")["items"] if item["path"].startswith("weather")]


def test_import_is_not_published_before_its_ops_have_a_connection(
    tmp_path: Path, live_catalog: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "weather.json"
    file.write_text(json.dumps([build_tool(f"get_city{number}", "Get it.") for number in range(15)]), encoding="utf-8")

    with pytest.raises(CommandError) as failed:
        call_command("import_ops", str(file), "--format", "anthropic", "--group", "weather", "--publish")

    first, *lines = str(failed.value).splitlines()
    assert failed.value.returncode == EXIT_NOT_PUBLISHED
    assert first == "Imported, but the draft cannot be published."
    assert "Cannot run: no connection is set." in lines[0]
    assert (len(lines), lines[-1]) == (11, "… 5 more (--verbosity 2 lists all)")
    assert Op.objects.filter(source="weather").count() == 15
    assert stored_releases.get_live_release().version == live_catalog.version


def test_import_writes_a_map_from_paths_to_upstream_names(
    import_tools: Callable[..., str], tmp_path: Path, db: None
) -> None:
    import_tools(TOOLS, map=tmp_path / "map.json")

    assert json.loads((tmp_path / "map.json").read_text()) == {
        "weather.alert.send": "send_alert",
        "weather.forecast.get": "get_forecast",
        "weather.forecast.list": "list_forecasts",
    }


def test_import_is_not_served_before_it_is_published(api: Api, import_tools: Callable[..., str]) -> None:
    version = cache.get_live_catalog().version

    import_tools(TOOLS)

    assert cache.get_live_catalog().version == version
    assert_refused(api.post("help", {"path": "weather"}), 404, "unknown_path")
    import_tools(TOOLS, publish=True)
    assert api.help("weather")["type"] == "group"
    assert "up to date" in import_tools(TOOLS, publish=True)


def test_import_leaves_out_an_invalid_function_and_serves_the_others(
    api: Api, import_tools: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    invalid = build_tool("spy", "Spies.", properties={"a": {"$ref": "https://acme.com/schema"}})

    with pytest.raises(CommandError, match="1 of 4 functions were left out, the rest was imported") as caught:
        import_tools([*TOOLS, invalid], publish=True)

    assert caught.value.returncode == EXIT_INCOMPLETE
    assert api.help("weather.forecast.get")["type"] == "op"
    assert_refused(api.post("help", {"path": "spy"}), 404, "unknown_path")


@for_each(
    "tools, options, problem",
    [
        ("{", {}, "not JSON"),
        (TOOLS, {"format": "openai"}, "--format anthropic"),
        ([], {}, "has no function"),
        (TOOLS, {"group": "Weather!"}, "is not a valid group"),
        (TOOLS, {"group": "onto.task.update"}, "is already the name of an op"),
    ],
)
def test_import_of_an_invalid_file_changes_nothing(
    import_tools: Callable[..., str], live_catalog: Any, tools: Any, options: dict[str, Any], problem: str
) -> None:
    before = Op.objects.count(), Group.objects.count()

    with pytest.raises(CommandError, match=problem) as caught:
        import_tools(tools, publish=True, **options)

    assert caught.value.returncode == 1
    assert "Nothing was imported." in str(caught.value)
    assert (Op.objects.count(), Group.objects.count()) == before
    assert cache.get_live_catalog() is live_catalog


def test_import_reports_a_missing_file(db: None) -> None:
    with pytest.raises(CommandError, match=r"Cannot read nowhere\.json: No such file"):
        call_command("import_ops", "nowhere.json", "--format", "openai", "--group", "crm")


# --- documents --------------------------------------------------------------------------------------------------------

API_KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
BASIC = {"type": "http", "scheme": "basic"}
OAUTH = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://pets.example.com/token", "scopes": {}}}}


@pytest.fixture
def import_pets(tmp_path: Path, capsys: pytest.CaptureFixture[str], live_catalog: Any) -> Callable[..., str]:
    """Return a function that imports a document with this security scheme and returns the output of the command."""

    def run(*, scheme: dict[str, Any] | None = None, **options: Any) -> str:
        components = {"components": {"securitySchemes": {"it": scheme}}, "security": [{"it": []}]} if scheme else {}
        delay = {"name": "delay", "in": "query", "schema": {"type": "number"}}
        document = build_document(
            {"/pets": {"get": {"summary": "List pets", "parameters": [delay]}}},
            servers=[{"url": "https://pets.example.com"}],
            **components,
        )
        file = tmp_path / "pets.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        try:
            call_command("import_ops", str(file), "--format", "openapi", "--group", "pets", **options)
        finally:
            poller.refresh()
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("scheme", "missing"), [(API_KEY, "API key"), (BASIC, "user name, password"), (OAUTH, "client id, client secret")]
)
def test_import_names_the_credentials_that_its_connection_lacks(
    import_pets: Callable[..., str], scheme: dict[str, Any], missing: str
) -> None:
    for publish in (True, False):
        output = import_pets(scheme=scheme, publish=publish)

        page = reverse("admin:registry_connection_change", args=[Connection.objects.get(name="pets").pk])
        line = f"Calls are refused until you complete the connection pets on {page}: {missing}."
        assert line in output.splitlines()


def test_import_says_that_its_connection_sends_no_credentials(import_pets: Callable[..., str]) -> None:
    assert "credentials" not in import_pets()

    output = import_pets(scheme=API_KEY, publish=True)

    page = reverse("admin:registry_connection_change", args=[Connection.objects.get(name="pets").pk])
    assert "The document asks for credentials, and the connection pets sends none." in output
    assert f"Choose its authentication on {page}." in output


def test_import_names_no_credentials_that_are_set(import_pets: Callable[..., str]) -> None:
    import_pets(scheme=API_KEY)
    connection_secrets.set_secret(Connection.objects.get(name="pets"), "key", "env:UPSTREAM_PETS_KEY")

    assert "pets lacks" not in import_pets(scheme=API_KEY, publish=True)


def test_published_import_names_the_warnings_that_it_accepted(import_pets: Callable[..., str]) -> None:
    assert "warning" not in import_pets()

    output = import_pets(publish=True)

    release = stored_releases.get_live_release()
    assert release is not None
    page = reverse("admin:registry_release_change", args=[release.version])
    warning = "The checks have 1 warning, accepted with the note of the import: 1 × number_without_unit."
    assert f"{warning} Read them on {page}." in output.splitlines()


# --- a large group ----------------------------------------------------------------------------------------------------

NOUNS = [
    f"{first}{second}" for first in ("gold", "iron", "salt", "silk", "wool") for second in map(chr, range(97, 123))
]
VERBS = ("get", "list", "search", "create", "update", "delete", "archive", "share")
LARGE_GROUP_TOOLS = [
    build_tool(
        f"{verb}_{noun}_record",
        f"{verb.capitalize()} a record of {noun}, with all that belongs to it and to those that it came from.",
        properties={
            "record_id": {"type": "string", "description": f"The id of the {noun} record."},
            "limit": {"type": "integer", "description": "How many rows to answer at most.", "default": 20},
            "state": {"type": "string", "enum": ["open", "closed"], "description": "Which state it has."},
        },
        required=["record_id"],
    )
    for noun in NOUNS
    for verb in VERBS
]


@pytest.fixture
def large_group(api: Api, import_tools: Callable[..., str]) -> Api:
    assert len(LARGE_GROUP_TOOLS) == 1_040
    import_tools(LARGE_GROUP_TOOLS, group="trade", publish=True)
    return api


def test_large_import_is_split_by_resource_and_stays_within_token_budgets(large_group: Api) -> None:
    check_pages_of_the_group(large_group)
    check_token_budgets_of_help(large_group)
    check_token_budgets_from_the_root_to_a_call(large_group)


def check_pages_of_the_group(large_group: Api) -> None:
    items: list[dict[str, Any]] = []
    page = large_group.help("trade")
    while True:
        assert len(page["items"]) == 50 or "next_cursor" not in page
        items += page["items"]
        if "next_cursor" not in page:
            break
        page = large_group.help("trade", cursor=page["next_cursor"])

    assert [item["path"] for item in items] == sorted(f"trade.{noun}_record" for noun in NOUNS)
    assert items[0]["summary"] == "list, search, get, create, …"
    assert len(large_group.help("trade.golda_record")["items"]) == len(VERBS)


def check_token_budgets_of_help(large_group: Api) -> None:
    items = large_group.help("trade.golda_record")["items"]
    short = large_group.help("trade.golda_record.get")
    full = large_group.help("trade.golda_record.get", format="full")
    sizes = sorted(
        cache.get_live_catalog().tokens[path] for path in cache.get_live_catalog().ops if path.startswith("trade.")
    )

    assert sum(token_budget.count(item["summary"]) for item in items) / len(items) <= 13
    assert (token_budget.count_json(short), token_budget.count_json(full)) == tuple(
        cache.get_live_catalog().tokens["trade.golda_record.get"]
    )
    assert sizes[len(sizes) // 2][0] <= 100
    assert sizes[len(sizes) // 2][1] <= 250
    assert token_budget.count_json(large_group.help("trade.golda_record.get", arg="limit")) <= 50


def check_token_budgets_from_the_root_to_a_call(large_group: Api) -> None:
    call = {"op": "trade.golda_record.get", "args": {"record_id": "1"}}
    response = large_group.post("exec", call).json()
    shared_steps = [large_group.help("trade.golda_record.get"), call, response]
    browse_steps = [
        large_group.help(),
        large_group.help("trade"),
        large_group.help("trade.golda_record"),
        *shared_steps,
    ]
    search_steps = [large_group.help(query="get golda record", limit=5), *shared_steps]

    assert sum(map(token_budget.count_json, [large_group.help(), *shared_steps])) <= 500
    assert sum(map(token_budget.count_json, search_steps)) <= 500
    assert sum(map(token_budget.count_json, browse_steps)) <= 1_500
