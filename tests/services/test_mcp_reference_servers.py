"""The reference servers of MCP, as programs behind connections: each of their tools is imported and called."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from registry.catalog import cache
from registry.models import Op, UpstreamDefinition
from tests.support.clients.api import Api
from tests.support.upstreams.mcp_programs import run
from tests.support.upstreams.mcp_upstream import close_sessions

pytestmark = [
    pytest.mark.server,
    pytest.mark.thorough,
]

SERVERS = Path(__file__).parent / "mcp_servers"
PYTHON_SERVERS = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")

# Arguments by tool, where a tool has required ones. {folder} and {repository} are folders of the test.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_current_time": {"timezone": "Europe/Berlin"},
    "convert_time": {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"},
    "git_diff": {"repo_path": "{repository}", "target": "HEAD"},
    "git_add": {"repo_path": "{repository}", "files": ["b.txt"]},
    "git_commit": {"repo_path": "{repository}", "message": "Two"},
    "git_create_branch": {"repo_path": "{repository}", "branch_name": "next"},
    "git_checkout": {"repo_path": "{repository}", "branch_name": "next"},
    "git_show": {"repo_path": "{repository}", "revision": "HEAD"},
    "git_branch": {"repo_path": "{repository}", "branch_type": "local"},
    "read_multiple_files": {"paths": ["{folder}/a.txt"]},
    "write_file": {"path": "{folder}/new.txt", "content": "New"},
    "edit_file": {"path": "{folder}/a.txt", "edits": [{"oldText": "One", "newText": "Two"}]},
    "create_directory": {"path": "{folder}/sub"},
    "list_directory": {"path": "{folder}"},
    "list_directory_with_sizes": {"path": "{folder}"},
    "directory_tree": {"path": "{folder}"},
    "move_file": {"source": "{folder}/new.txt", "destination": "{folder}/moved.txt"},
    "search_files": {"path": "{folder}", "pattern": "*"},
    "create_entities": {"entities": [{"name": "Ana", "entityType": "person", "observations": ["reads"]}]},
    "create_relations": {"relations": [{"from": "Ana", "to": "Ana", "relationType": "knows"}]},
    "add_observations": {"observations": [{"entityName": "Ana", "contents": ["writes"]}]},
    "search_nodes": {"query": "Ana"},
    "open_nodes": {"names": ["Ana"]},
    "delete_observations": {"deletions": [{"entityName": "Ana", "observations": ["writes"]}]},
    "delete_relations": {"relations": [{"from": "Ana", "to": "Ana", "relationType": "knows"}]},
    "delete_entities": {"entityNames": ["Ana"]},
    "echo": {"message": "hello"},
    "get-sum": {"a": 1, "b": 2},
    "get-structured-content": {"location": "New York"},
    "get-annotated-message": {"messageType": "success"},
    "trigger-long-running-operation": {"duration": 1, "steps": 2},
    "simulate-research-query": {"topic": "pens"},
}
PATH_ARGUMENTS = {"path": "{folder}/a.txt", "repo_path": "{repository}"}  # of all other tools
ORDER = list(ARGUMENTS)  # a note is made before it is read
# Tools that refuse: one needs a feature of the protocol that clients may not have, one fetches a page of the Internet.
REFUSING = frozenset({"simulate-research-query", "gzip-file-as-resource"})


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Install the servers, and return the command line of each."""
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the servers")
    folder = shutil.copytree(SERVERS, tmp_path_factory.mktemp("servers") / "mcp")
    run("npm", "ci", "--silent", folder=folder)
    run(sys.executable, "-m", "venv", "python", folder=folder)
    pip = [str(folder / "python" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, *PYTHON_SERVERS, folder=folder)
    files, repository = _make_folders(folder)
    node, python = folder / "node_modules" / ".bin", folder / "python" / "bin"
    return {
        "time": [str(python / "mcp-server-time")],
        "git": [str(python / "mcp-server-git"), "--repository", str(repository)],
        "files": ["node", str(node / "mcp-server-filesystem"), str(files)],
        "memory": ["node", str(node / "mcp-server-memory")],
        "everything": ["node", str(node / "mcp-server-everything")],
    }


def _make_folders(folder: Path) -> tuple[Path, Path]:
    files, repository = folder / "files", folder / "repository"
    for each in (files, repository):
        each.mkdir()
    (files / "a.txt").write_text("One")
    run("git", "init", "--quiet", folder=repository)
    for name, value in (("user.name", "Ana"), ("user.email", "ana@example.com")):
        run("git", "config", name, value, folder=repository)
    (repository / "a.txt").write_text("One")
    run("git", "add", "a.txt", folder=repository)
    run("git", "commit", "--quiet", "--message", "One", folder=repository)
    (repository / "b.txt").write_text("Two")
    return files, repository


@pytest.fixture
def _no_programs_left() -> Iterator[None]:
    yield
    close_sessions()


def fill(value: Any, folders: dict[str, str]) -> Any:
    """Return arguments with the folders of the test."""
    if isinstance(value, str):
        return value.format(**folders) if value.startswith("{") else value
    if isinstance(value, list):
        return [fill(each, folders) for each in value]
    return {name: fill(each, folders) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.usefixtures("_no_programs_left")
@pytest.mark.parametrize("name", ["time", "git", "files", "memory", "everything"])
def test_each_tool_of_a_reference_server_runs(
    api: Api, programs: dict[str, list[str]], name: str, settings: Any
) -> None:
    settings.GATEWAY_MCP_COMMANDS = programs
    folder = Path(programs["git"][-1]).parent
    folders = {"folder": str(folder / "files"), "repository": str(folder / "repository")}
    call_command("import_ops", f"program:{name}", format="mcp", group=name, publish=True)
    cache.refresh_live()
    ops = list(Op.objects.filter(op__startswith=f"{name}.", status=Op.Status.ACTIVE))
    assert len(ops) == UpstreamDefinition.objects.count() > 2

    uri = "none://"
    for op in sorted(ops, key=lambda op: _get_position(op.upstream_name or op.tool_name)):
        tool = op.upstream_name or op.tool_name
        required = op.parameters_schema.get("required", [])
        known = ARGUMENTS.get(tool) or {key: value for key, value in PATH_ARGUMENTS.items() if key in required}
        envelope = api.exec(op.op, {"uri": uri} if tool == "read_resource" else fill(known, folders))

        if tool == "list_resources":
            resources = envelope["result"]["resources"]
            uri = resources[0]["uri"] if resources else uri
        is_refused = tool in REFUSING or (tool == "read_resource" and uri == "none://")
        reason = envelope["error"]["details"]["reason"] if not envelope["ok"] else ""
        assert reason in (("upstream_refused", "upstream_invalid") if is_refused else ("",)), (tool, envelope)


def _get_position(tool: str) -> tuple[int, str]:
    return (ORDER.index(tool) if tool in ORDER else len(ORDER) if tool != "list_resources" else -1, tool)
