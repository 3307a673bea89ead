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
from gateway.credentials import connection_secrets
from gateway.management.commands.import_ops import EXIT_NOT_PUBLISHED
from registry.catalog import cache
from registry.models import Activation, Connection, Group, Op
from registry.releases import stored_releases
from tests.support.clients.api import Api, assert_refused
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
    assert api.help("weather.forecast.get")["args"] == {"city": "string, required"}
    assert api.help("weather.forecast.get", arg="city")["arg"]["description"] == CITY["description"]
    assert api.help("weather.alert.send")["summary"] == "Send an alert to everyone in a city"


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


def test_import_is_not_served_before_it_is_published(api: Api, import_tools: Callable[..., str]) -> None:
    version = cache.get_live_catalog().version

    import_tools(TOOLS)

    assert cache.get_live_catalog().version == version
    assert_refused(api.post("help", {"path": "weather"}), 404, "unknown_path")
    import_tools(TOOLS, publish=True)
    assert api.help("weather")["type"] == "group"
    assert "up to date" in import_tools(TOOLS, publish=True)


def test_import_of_an_invalid_file_changes_nothing(import_tools: Callable[..., str], live_catalog: Any) -> None:
    before = Op.objects.count(), Group.objects.count()

    with pytest.raises(CommandError, match="not JSON") as caught:
        import_tools("{")

    assert caught.value.returncode == 1
    assert "Nothing was imported." in str(caught.value)
    assert (Op.objects.count(), Group.objects.count()) == before
    assert cache.get_live_catalog() is live_catalog
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
        priority = {"name": "priority", "in": "query", "schema": {"type": "integer"}}
        document = build_document(
            {"/pets": {"get": {"summary": "List pets", "parameters": [priority]}}},
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

    assert "Calls are refused until" not in import_pets(scheme=API_KEY, publish=True)


def test_published_import_names_the_warnings_that_it_accepted(import_pets: Callable[..., str]) -> None:
    assert "warning" not in import_pets()

    output = import_pets(publish=True)

    release = Activation.objects.get(is_live=True).release
    page = reverse("admin:registry_release_change", args=[release.version])
    warning = "The checks have 1 warning, accepted with the note of the import: 1 × priority_without_direction."
    assert f"{warning} Read them on {page}." in output.splitlines()
