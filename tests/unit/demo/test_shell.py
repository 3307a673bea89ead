"""Shell: commands of a fixed list run as processes, and nothing of a call reaches their command line."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.handler_contract import InvalidArgs, NotFound, NotSetUp, TookTooLong
from demo import sandbox, shell
from tests.support.loops import for_each
from tests.support.rows.example_domains import COPY, create_data, find_field_error, run
from tests.support.values.handler_calls import list_field_errors


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    return create_data(settings, tmp_path)


def test_copy_names_exactly_the_commands() -> None:
    listed = [command["command"] for command in run("list_commands")["commands"]]
    ops = {op["op"]: op["parameters_schema"]["properties"] for op in COPY["ops"]}

    assert listed == list(shell.COMMANDS)
    assert ops["shell.command.run"]["command"]["enum"] == listed
    assert ops["shell.batch.run"]["commands"]["items"]["properties"]["command"]["enum"] == listed


def test_commands_run_as_processes(folder: Path) -> None:
    (folder / "words.txt").write_text("b c\na\n")

    assert run("run_command", command="list")["output"].split()[:2] == ["README.md", "config/"]
    assert run("run_command", command="list", path="config")["output"] == "app.yaml\ndatabase.yaml\n"
    assert run("run_command", command="count", path="words.txt")["output"].split() == ["2", "3", "6"]
    assert run("run_command", command="sort", path="words.txt")["output"] == "a\nb c\n"
    checksum = run("run_command", command="checksum", path="words.txt")
    assert (checksum["output"].split()[1], checksum["exit_code"]) == ("6", 0)


@pytest.fixture
def odd_files(folder: Path) -> None:
    (folder / "link").symlink_to("/etc")
    (folder / "binary.bin").write_bytes(b"a\x00")
    (folder / "large.txt").write_bytes(b"x" * (sandbox.MAX_FILE_BYTES + 1))


@for_each(
    "command, path, code",
    [
        ("count", "../examples.sqlite3", "path_leaves_folder"),
        ("count", "/etc/passwd", "absolute_path"),
        ("list", "/", "absolute_path"),
        ("list", "..", "path_leaves_folder"),
        ("list", "README.md", "not_a_folder"),
        ("list", "link", "symbolic_link"),
        ("count", "link/passwd", "symbolic_link"),
        ("count", "config", "is_a_folder"),
        ("sort", "binary.bin", "not_text"),
        ("count", "large.txt", "file_refused"),
        ("sort", None, "required"),
    ],
)
def test_path_is_refused(odd_files: None, command: str, path: str | None, code: str) -> None:
    sent = {"command": command} | ({"path": path} if path else {})

    assert list_field_errors(lambda: run("run_command", **sent)) == [("/path", code)]


@pytest.mark.parametrize("name", ["$(touch hacked)", "; touch hacked", "--help", "-r", "`id`"])
def test_name_of_a_file_never_becomes_an_option_or_a_command(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda argv, **rest: started.append(argv) or real(argv, **rest))
    (folder / name).write_text("b\na\n")

    assert run("run_command", command="sort", path=name)["output"] == "a\nb\n"

    assert [argv[1:] for argv in started] == [[]]
    assert not (folder / "hacked").exists()


def test_child_gets_no_environment_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    environments: list[dict[str, str]] = []
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda argv, **rest: environments.append(rest["env"]) or real(argv, **rest))

    run("run_command", command="list")

    assert [set(each) for each in environments] == [{"PATH", "LC_ALL"}]


def test_long_output_is_cut(folder: Path) -> None:
    (folder / "long.txt").write_text("x" * 10_000)

    result = run("run_command", command="sort", path="long.txt")

    assert len(result["output"]) == shell.MAX_OUTPUT_CHARS
    assert result["message"] == "Only the first 4,000 of 10,001 characters."


def test_slow_or_missing_program_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = shell.ShellCommand(("sleep", "20"), reads_folder=True, summary="")
    monkeypatch.setitem(shell.COMMANDS, "list", slow)
    monkeypatch.setattr(shell, "MAX_SECONDS", 0.05)
    with pytest.raises(TookTooLong):
        run("run_command", command="list")

    monkeypatch.setitem(shell.COMMANDS, "list", shell.ShellCommand(("no-such-program",), True, ""))
    with pytest.raises(NotSetUp):
        run("run_command", command="list")


def test_commands_run_in_order_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [{"command": "list", "path": "config"}, {"command": "count", "path": "README.md"}]
    assert [each["command"] for each in run("run_commands", commands=calls)["results"]] == ["list", "count"]

    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("A command was run."))
    with pytest.raises(InvalidArgs) as error:
        run("run_commands", commands=[*calls, {"command": "count", "path": ".."}])
    assert find_field_error(error.value) == ("/commands/2/path", "path_leaves_folder")
    with pytest.raises(NotFound):
        run("run_commands", commands=[*calls, {"command": "count", "path": "nothing"}])
