"""The example domains: load_demo --domains, a journey over two of them on the discovery surface, and their writes."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from analytics.events import event_log
from analytics.events.models import OperationEvent
from audit.models import AuditEntry
from demo.rows import MARA_ID
from registry.catalog import cache, connections
from registry.models import Connection, Group, Op, Release
from tests.support.clients.api import Api, assert_refused

pytestmark = pytest.mark.django_db(transaction=True)  # a write claims its key in a transaction of its own

DOMAINS = ["files.*", "shell.*", "crm.*", "database.*"]


def load_domains() -> str:
    out = StringIO()
    call_command("load_demo", "--domains", stdout=out)
    cache.refresh_live()
    connections.refresh_connections()
    return out.getvalue()


@pytest.fixture
def folder(settings: Any, tmp_path: Path, live_catalog: Any) -> Path:
    """Load the domains and return the folder of their files."""
    settings.VAR_DIR = tmp_path
    load_domains()
    return tmp_path / "examples" / "files"


@pytest.fixture
def domain_api(folder: Path, make_api: Callable[..., Api]) -> Api:
    """Return a client whose key sees the example domains only, and acts for nobody."""
    return make_api(op_patterns=DOMAINS, acts_for="")


def discover(api: Api, name: str, **body: str) -> dict[str, Any]:
    response = api.post(f"discover/{name}", body)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_load_adds_data_and_copy_once_and_says_what_to_try(settings: Any, tmp_path: Path, live_catalog: Any) -> None:
    settings.VAR_DIR = tmp_path / "var"
    first, second = load_domains(), load_domains()

    assert "Added 7 example files and 10 CRM rows" in first
    assert "27 added, 0 updated, 0 unchanged." in first
    assert "ops is live." in first
    assert "discover_file_tools" in first
    assert "The example files and rows exist; nothing was changed." in second
    assert "0 added, 0 updated, 27 unchanged." in second
    assert "The live release is up to date." in second
    assert Release.objects.count() == 2
    assert Connection.objects.get(name="examples").kind == "example"
    assert AuditEntry.objects.filter(by="load_demo", kind="op").exists()


def test_load_keeps_data_and_edits_and_does_not_publish_other_edits(folder: Path) -> None:
    (folder / "README.md").unlink()
    Op.objects.filter(op="files.read").update(summary="Read one of our files")
    Group.objects.filter(path="onto").update(summary="Edited, not reviewed")

    message = load_domains()

    assert "Not published: the draft has unpublished edits" in message
    assert not (folder / "README.md").exists()
    assert Op.objects.get(op="files.read").summary == "Read one of our files"
    assert Release.objects.count() == 2


def test_shipped_catalog_leaves_the_domains_alone(folder: Path) -> None:
    out = StringIO()
    call_command("load_catalog", "--publish", stdout=out)

    assert "No longer shipped" not in out.getvalue()
    assert "The live release is up to date." in out.getvalue()


def test_load_needs_a_release(settings: Any, tmp_path: Path, db: None) -> None:
    settings.VAR_DIR = tmp_path
    with pytest.raises(CommandError, match="load_catalog --publish"):
        load_domains()


def test_load_reports_a_folder_that_cannot_be_made(settings: Any, tmp_path: Path, live_catalog: Any) -> None:
    (tmp_path / "examples").write_text("a file")
    settings.VAR_DIR = tmp_path

    with pytest.raises(CommandError, match="Cannot create"):
        load_domains()


def test_journey_reads_a_config_file_and_updates_the_crm(domain_api: Api) -> None:
    """Read the database config and update the CRM."""
    api = domain_api
    tools = discover(api, "discover_file_tools")["tools"]
    assert [tool["name"] for tool in tools] == ["edit_file", "read_file", "search_files", "write_file"]
    read = api.exec("read_file", {"file_path": "config/database.yaml"})
    maintainer = yaml.safe_load(read["result"]["content"])["maintainer"]

    tools = discover(api, "discover_crm_tools")["tools"]
    assert {"list_contacts", "update_contact"} <= {tool["name"] for tool in tools}
    usage = discover(api, "discover_crm_tools", tool="update_contact")["usage"]
    assert usage["op"] == "update_contact"
    assert discover(api, "discover_crm_tools", tool="update_contact", parameter="phone")["type"].startswith("string")
    [contact] = api.exec("list_contacts", {"query": maintainer["email"]})["result"]["contacts"]
    args = {"contact_id": contact["id"], "phone": maintainer["phone"]}
    updated = api.exec("update_contact", args, idempotency_key="journey")
    assert updated["ok"], updated
    assert updated["meta"]["operation"] == {
        "entity": "contact",
        "action": "update",
        "entity_id": MARA_ID,
        "entity_name": "Mara Lindqvist",
    }

    query = "SELECT phone FROM contacts WHERE email = 'mara@nordlicht.example'"
    assert api.exec("run_query", {"query": query})["result"]["rows"] == [[maintainer["phone"]]]
    counted = api.exec("run_command", {"command": "count", "path": "config/database.yaml"})
    assert int(counted["result"]["output"].split()[0]) == read["result"]["total_lines"]


def test_domains_are_in_no_context_of_the_legacy_surface(folder: Path, api: Api) -> None:
    for context in ("global", "project_create", "project"):
        body = {"format": "openai", "surface": "legacy"}
        toolset = api.post("toolset", body, Gateway_Context=f"type={context}").json()
        names = {tool["function"]["name"] for tool in toolset["tools"]}
        assert "web_search" in names
        assert not {"read_file", "update_contact", "run_query", "run_command"} & names


def test_dry_run_writes_nothing_and_a_repeated_keyed_write_writes_once(domain_api: Api, folder: Path) -> None:
    op, file = "files.write", folder / "notes/kickoff.md"
    args = {"file_path": "notes/kickoff.md", "content": "More\n", "mode": "append"}
    before = file.read_text()
    dry_run = domain_api.exec(op, args, dry_run=True)
    assert dry_run["result"]["message"] == f"{op} would be sent with these args; its answer is not known."
    assert dry_run["meta"]["warnings"] == ["Dry run: nothing was sent."]
    assert file.read_text() == before

    first, second = (domain_api.exec(op, args, idempotency_key="once") for _ in range(2))

    assert file.read_text() == before + "More\n"
    assert second["meta"]["replayed"] is True
    assert first["result"] == second["result"]
    event_log.flush()
    assert OperationEvent.objects.filter(op=op, ok=True, dry_run=False, replayed=False).count() == 1


def test_dry_run_tells_the_refusal_of_the_write(domain_api: Api) -> None:
    args = {"file_path": "../x", "content": "x"}
    dry_run, write = (
        domain_api.post("exec", {"op": "write_file", "args": args, "dry_run": dry}) for dry in (True, False)
    )

    for response in (dry_run, write):
        error = assert_refused(response, 400, "invalid_args")
        assert error["details"]["field_errors"][0]["path"] == "/file_path"


def test_writes_in_a_batch_run_and_stay(domain_api: Api, folder: Path) -> None:
    ops = [
        {"type": "exec", "op": "write_file", "args": {"file_path": "a.txt", "content": "a"}},
        {"type": "exec", "op": "read_file", "args": {"file_path": "nothing.txt"}},
    ]
    response = domain_api.post("batch", {"ops": ops}).json()

    assert [result["ok"] for result in response["results"]] == [True, False]
    assert (folder / "a.txt").read_text() == "a"
