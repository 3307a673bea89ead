"""A list of functions goes in by the command, and a model finds its way through it by the API."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core import poller, tokens
from registry.catalog import model
from registry.help import token_budget
from registry.management.commands.import_ops import EXIT_INCOMPLETE
from registry.models import Group, Op
from registry.releases import publishing
from tests.support.api import Api, refused

CITY = {"type": "string", "description": "Name of the city, such as Paris."}


def tool(name: str, description: str = "", /, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object"} | parameters}


TOOLS = [
    tool("get_forecast", "Get the forecast of a city.", properties={"city": CITY}, required=["city"]),
    tool("list_forecasts", "List all forecasts that were made. Newest first."),
    tool("send_alert", "Use this tool to send an alert to everyone in a city.", properties={"city": CITY}),
]


@pytest.fixture
def importing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that imports tools by the command and returns what it said."""

    def run(listed: Any, group: str = "weather", form: str = "anthropic", **options: Any) -> str:
        file = tmp_path / f"{group}.json"
        file.write_text(listed if isinstance(listed, str) else json.dumps(listed), encoding="utf-8")
        try:
            call_command("import_ops", str(file), "--format", form, "--group", group, **options)
        finally:
            poller.refresh()
            output = capsys.readouterr().out
        return output

    return run


def test_a_model_walks_from_the_root_to_an_imported_op(api: Api, importing: Callable[..., str]) -> None:
    output = importing(TOOLS, publish=True)

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


def test_an_import_is_published_with_its_warnings_and_its_note_is_the_reason(
    db: None, importing: Callable[..., str]
) -> None:
    importing([tool("wait", "Wait.", properties={"delay": {"type": "number"}})], publish=True)

    release = publishing.get_live_release()
    assert release is not None
    assert release.accepted_because == "Import of weather.json into weather"
    assert [warning["rule"] for warning in release.accepted_warnings] == ["number_without_unit"]


def test_an_imported_op_is_found_by_its_upstreams_name_and_by_words(api: Api, importing: Callable[..., str]) -> None:
    importing([*TOOLS, tool("PDF&URL reader", "Read a page.")], publish=True)

    for query, path in [
        ("get_forecast", "weather.forecast.get"),
        ("PDF&URL reader", "weather.pdf_url_reader.get"),
        ("forecast of a city", "weather.forecast.get"),
    ]:
        assert api.help(query=query)["items"][0]["path"] == path, query
    assert api.help("get_forecast")["path"] == "weather.forecast.get"
    assert api.help("PDF&URL reader")["path"] == "weather.pdf_url_reader.get"


@pytest.mark.parametrize("args", [{"city": "Paris"}, {}, {"nothing": 1}])
def test_an_op_that_nothing_runs_says_so_whatever_its_args(
    api: Api, importing: Callable[..., str], args: dict[str, Any]
) -> None:
    importing(TOOLS, publish=True)

    for op in ("weather.forecast.get", "get_forecast", "send_alert"):
        error = refused(api.post("exec", {"op": op, "args": args}), 503, "not_connected")
        assert error["code"] == "INTERNAL"
        assert error["help_path"].startswith("weather.")


def test_the_map_leads_from_paths_to_upstreams_names(importing: Callable[..., str], tmp_path: Path, db: None) -> None:
    importing(TOOLS, map=tmp_path / "map.json")

    assert json.loads((tmp_path / "map.json").read_text()) == {
        "weather.alert.send": "send_alert",
        "weather.forecast.get": "get_forecast",
        "weather.forecast.list": "list_forecasts",
    }


def test_nothing_is_served_before_it_is_published(api: Api, importing: Callable[..., str]) -> None:
    version = model.get_live_catalog().version

    importing(TOOLS)

    assert model.get_live_catalog().version == version
    refused(api.post("help", {"path": "weather"}), 404, "unknown_path")
    importing(TOOLS, publish=True)
    assert api.help("weather")["type"] == "group"
    assert "up to date" in importing(TOOLS, publish=True)


def test_an_edit_stays_and_what_vanished_is_retired_through_a_newer_list(
    api: Api, importing: Callable[..., str]
) -> None:
    importing(TOOLS, publish=True)
    Op.objects.filter(op="weather.forecast.get").update(summary="Tell how the weather will be")
    newer = [tool("get_forecast", "Fetch a prediction.", properties={"city": CITY, "days": {"type": "integer"}})]

    output = importing([*newer, TOOLS[2]], publish=True)

    assert "Kept your edit: weather.forecast.get summary." in output
    assert "Retired, no longer in the list: weather.forecast.list." in output
    told = api.help("weather.forecast.get")
    assert told["summary"] == "Tell how the weather will be"
    assert told["args"] == {"city": "string", "days": "integer"}
    assert [item["path"] for item in api.help("weather.forecast")["items"]] == ["weather.forecast.get"]
    assert "retired" in refused(api.post("exec", {"op": "list_forecasts"}), 404, "unknown_op")["message"]


def test_a_bad_function_is_left_out_by_name_and_the_rest_is_served(
    api: Api, importing: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    evil = tool("spy", "Spies.", properties={"a": {"$ref": "https://acme.com/schema"}})

    with pytest.raises(CommandError, match="1 of 4 functions were left out, the rest imported") as caught:
        importing([*TOOLS, evil], publish=True)

    assert caught.value.returncode == EXIT_INCOMPLETE
    assert api.help("weather.forecast.get")["type"] == "op"
    refused(api.post("help", {"path": "spy"}), 404, "unknown_path")


@pytest.mark.parametrize(
    ("listed", "options", "problem"),
    [
        ("{", {}, "not JSON"),
        (TOOLS, {"form": "openai"}, "--format anthropic"),
        ([], {}, "has no function"),
        (TOOLS, {"group": "Weather!"}, "is no valid group"),
        (TOOLS, {"group": "onto.task.update"}, "is already the name of an op"),
    ],
)
def test_a_bad_file_changes_nothing(
    importing: Callable[..., str], live_catalog: Any, listed: Any, options: dict[str, Any], problem: str
) -> None:
    before = Op.objects.count(), Group.objects.count()

    with pytest.raises(CommandError, match=problem) as caught:
        importing(listed, publish=True, **options)

    assert caught.value.returncode == 1
    assert "Nothing was imported." in str(caught.value)
    assert (Op.objects.count(), Group.objects.count()) == before
    assert model.get_live_catalog() is live_catalog


def test_a_missing_file_is_told(db: None) -> None:
    with pytest.raises(CommandError, match=r"Cannot read nowhere\.json: No such file"):
        call_command("import_ops", "nowhere.json", "--format", "openai", "--group", "crm")


# --- a large group ----------------------------------------------------------------------------------------------------

NOUNS = [
    f"{first}{second}" for first in ("gold", "iron", "salt", "silk", "wool") for second in map(chr, range(97, 123))
]
VERBS = ("get", "list", "search", "create", "update", "delete", "archive", "share")
MANY = [
    tool(
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
def large(api: Api, importing: Callable[..., str]) -> Api:
    assert len(MANY) == 1_040
    importing(MANY, group="trade", publish=True)
    return api


def test_a_group_of_a_thousand_is_split_by_resource_and_read_by_pages(large: Api) -> None:
    found: list[dict[str, Any]] = []
    page = large.help("trade")
    while True:
        assert len(page["items"]) == 50 or "next_cursor" not in page
        found += page["items"]
        if "next_cursor" not in page:
            break
        page = large.help("trade", cursor=page["next_cursor"])

    assert [item["path"] for item in found] == sorted(f"trade.{noun}_record" for noun in NOUNS)
    assert found[0]["summary"] == "list, search, get, create, …"
    assert len(large.help("trade.golda_record")["items"]) == len(VERBS)


def test_help_on_a_large_import_keeps_its_budgets(large: Api) -> None:
    listed = large.help("trade.golda_record")["items"]
    short = large.help("trade.golda_record.get")
    full = large.help("trade.golda_record.get", format="full")
    sizes = sorted(
        model.get_live_catalog().tokens[path] for path in model.get_live_catalog().ops if path.startswith("trade.")
    )

    assert sum(tokens.count(item["summary"]) for item in listed) / len(listed) <= 13
    assert (token_budget.count_tokens(short), token_budget.count_tokens(full)) == tuple(
        model.get_live_catalog().tokens["trade.golda_record.get"]
    )
    assert sizes[len(sizes) // 2][0] <= 100
    assert sizes[len(sizes) // 2][1] <= 250
    assert token_budget.count_tokens(large.help("trade.golda_record.get", arg="limit")) <= 50


def test_the_way_from_the_root_to_a_call_stays_short(large: Api) -> None:
    call = {"op": "trade.golda_record.get", "args": {"record_id": "1"}}
    answer = large.post("exec", call).json()
    last = [large.help("trade.golda_record.get"), call, answer]
    browsed = [large.help(), large.help("trade"), large.help("trade.golda_record"), *last]
    searched = [large.help(query="get golda record", limit=5), *last]

    assert sum(map(token_budget.count_tokens, [large.help(), *last])) <= 500
    assert sum(map(token_budget.count_tokens, searched)) <= 500
    assert sum(map(token_budget.count_tokens, browsed)) <= 1_500
