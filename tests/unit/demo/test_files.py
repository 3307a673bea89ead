"""Files: what is read, found and written, and every path and file that is refused."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.handler_contract import InvalidArgs, NotFound, NotSetUp, StateConflict, Unavailable
from demo import files, sandbox
from demo.rows import FILES
from tests.support.loops import for_each
from tests.support.rows.example_domains import build_example_request, check, create_data, find_field_error, respond, run
from tests.support.values.handler_calls import get_field_error, list_field_errors

CONFIG = "config/database.yaml"


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    return create_data(settings, tmp_path)


def test_read_returns_the_whole_file_and_goes_on_with_next_offset() -> None:
    whole = run("read_file", file_path=CONFIG)
    first = run("read_file", file_path="./config//database.yaml", limit=3)
    rest = run("read_file", file_path=CONFIG, offset=first["next_offset"])

    assert (whole["content"], whole["has_more"], whole["file_path"]) == (FILES[CONFIG], False, CONFIG)
    assert whole["total_lines"] == len(FILES[CONFIG].splitlines())
    assert (first["next_offset"], first["has_more"]) == (4, True)
    assert first["content"] + rest["content"] == FILES[CONFIG]


def test_read_returns_no_more_than_fits(folder: Path) -> None:
    (folder / "long.txt").write_text("x" * 9_000 + "\n" + "y" * 9_000 + "\n" + "z" * 20_000)
    parts = [run("read_file", file_path="long.txt", offset=line) for line in (1, 2)]
    cut = respond("read_file", {"file_path": "long.txt", "offset": 3})

    assert [(len(part["content"]), part["next_offset"]) for part in parts] == [(9_001, 2), (9_001, 3)]
    assert len(cut.result["content"]) == files.MAX_READ_CHARS
    assert cut.warnings


def test_read_beyond_the_end_names_the_last_line(folder: Path) -> None:
    (folder / "empty.txt").touch()
    assert run("read_file", file_path="empty.txt")["message"] == "The file is empty."

    with pytest.raises(InvalidArgs, match="at most 1") as error:
        run("read_file", file_path="empty.txt", offset=2)
    assert find_field_error(error.value) == ("/offset", "beyond_the_end")


@pytest.fixture
def odd_files(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("/etc/passwd")
    (folder / "link_to_folder").symlink_to("/etc")
    (folder / "binary.bin").write_bytes(b"\x7fELF\x00\x01")
    (folder / "latin1.txt").write_bytes("é".encode("latin-1"))
    (folder / "large.txt").write_bytes(b"x" * (sandbox.MAX_FILE_BYTES + 1))
    os.mkfifo(folder / "pipe")


@for_each(
    "path, code",
    [
        ("/etc/passwd", "absolute_path"),
        ("//etc/passwd", "absolute_path"),
        ("C:/Windows/win.ini", "absolute_path"),
        ("../examples.sqlite3", "path_leaves_folder"),
        ("config/../../examples.sqlite3", "path_leaves_folder"),
        ("config/..", "path_leaves_folder"),
        ("..\\x", "invalid_path"),
        ("a\nb", "invalid_path"),
        ("x" * 201, "invalid_path"),
        ("/".join("abcdefghi"), "too_deep"),
        ("link.yaml", "symbolic_link"),
        ("link_to_folder/passwd", "symbolic_link"),
        ("config", "is_a_folder"),
        (".", "is_a_folder"),
        ("binary.bin", "not_text"),
        ("latin1.txt", "not_text"),
        ("large.txt", "file_refused"),
        ("pipe", "file_refused"),
    ],
)
def test_path_or_file_is_refused(odd_files: None, path: str, code: str) -> None:
    append, edit = {"content": "x", "mode": "append"}, {"old_text": "a", "new_text": "b"}
    for tool_name, args in (("read_file", {}), ("write_file", append), ("edit_file", edit)):
        with pytest.raises(InvalidArgs) as error:
            run(tool_name, file_path=path, **args)

        assert find_field_error(error.value) == ("/file_path", code), tool_name
        assert len(path) < 7 or path not in str(error.value)  # it never repeats what was sent
        assert "root:" not in str(error.value)


@for_each(
    "path, hint",
    [
        ("config/databse.yaml", "Did you mean config/database.yaml"),
        ("README.md/x", "Did you mean README.md"),
        ("zzz", "files.search lists the files."),
    ],
)
def test_missing_file_gets_the_nearest(path: str, hint: str) -> None:
    with pytest.raises(NotFound, match=hint):
        run("read_file", file_path=path)
    assert get_field_error(lambda: run("read_file", file_path=f"/{CONFIG}")).send == {"file_path": CONFIG}


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        ({}, sorted(FILES)),
        ({"pattern": "*.yaml"}, ["config/app.yaml", CONFIG]),
        ({"pattern": "**/*.md"}, ["README.md", "notes/kickoff.md"]),
        ({"pattern": "./reports/*"}, ["reports/sales-2026-09.csv", "reports/sales-2026-10.csv"]),
        ({"text": "BUDGET"}, ["notes/kickoff.md"]),
        ({"pattern": "*.yaml", "text": "nowhere"}, []),
    ],
)
def test_search_by_pattern_and_text(args: dict[str, str], paths: list[str]) -> None:
    result = run("search_files", **args)

    assert sorted(file["file_path"] for file in result["files"]) == sorted(paths)
    assert result["has_more"] is False


def test_search_shows_lines_and_sizes_and_skips_what_it_cannot_read(folder: Path) -> None:
    (folder / "binary.bin").write_bytes(b"maintainer\x00")
    (folder / "link").symlink_to(folder / CONFIG)

    result = run("search_files", text="maintainer")

    assert result["files"] == [
        {"file_path": CONFIG, "bytes": len(FILES[CONFIG].encode()), "lines": [{"line": 7, "text": "maintainer:"}]}
    ]
    assert run("search_files", limit=2)["has_more"] is True


@pytest.mark.parametrize(
    ("path", "mode", "after"),
    [
        ("new/folder/a.md", "overwrite", "text\n"),
        ("new.md", "create", "text\n"),
        ("README.md", "overwrite", "text\n"),
        ("README.md", "append", FILES["README.md"] + "text\n"),
    ],
)
def test_write_creates_replaces_and_appends(folder: Path, path: str, mode: str, after: str) -> None:
    before = {name: (folder / name).read_text() for name in FILES}
    check("write_file", file_path=path, content="text\n", mode=mode)
    assert {name: (folder / name).read_text() for name in FILES} == before  # a dry run writes nothing
    assert not (folder / "new").exists()

    result = run("write_file", file_path=path, content="text\n", mode=mode)

    assert result["file_path"] == path
    assert (folder / path).read_text() == after
    assert sorted(each.name for each in folder.parent.iterdir()) == ["examples.sqlite3", "files", "write.lock"]


def test_write_is_refused_below_a_file_and_beyond_the_limits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = respond("write_file", {"file_path": "README.md", "content": FILES["README.md"]})
    assert (same.warnings, same.changed_ids) == (("unchanged",), ())
    with pytest.raises(StateConflict) as conflict:
        check("write_file", file_path="README.md", content="x", mode="create")
    assert conflict.value.reason == "file_exists"
    with pytest.raises(InvalidArgs, match="is a folder or a file already"):
        check("write_file", file_path="README.md/x", content="x")
    with pytest.raises(InvalidArgs, match="without NUL"):
        check("write_file", file_path="a", content="\x00")
    (folder / "large.txt").write_bytes(b"x" * sandbox.MAX_FILE_BYTES)
    with pytest.raises(InvalidArgs, match="larger than") as error:
        check("write_file", file_path="large.txt", content="x", mode="append")
    assert find_field_error(error.value) == ("/content", "file_too_large")
    monkeypatch.setattr(sandbox, "MAX_FILES", len(FILES) + 1)
    with pytest.raises(InvalidArgs, match="which is the limit"):
        check("write_file", file_path="another", content="x")
    check("write_file", file_path="README.md", content="x")


def test_failed_write_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)

    with pytest.raises(Unavailable):
        run("write_file", file_path="README.md", content="x")
    assert (folder / "README.md").read_text() == FILES["README.md"]
    assert sorted(each.name for each in folder.parent.iterdir()) == ["examples.sqlite3", "files", "write.lock"]


def test_edit_replaces_one_place_or_all(folder: Path) -> None:
    for old_text, code in (("nowhere", "text_not_found"), ("name", "text_not_unique")):
        edit = {"file_path": CONFIG, "old_text": old_text, "new_text": "x"}
        assert list_field_errors(lambda edit=edit: check("edit_file", **edit)) == [("/old_text", code)]
    check("edit_file", file_path=CONFIG, old_text="5432", new_text="5433")
    assert (folder / CONFIG).read_text() == FILES[CONFIG]
    assert run("edit_file", file_path=CONFIG, old_text="5432", new_text="5433")["message"] == "Replaced 1 place."
    assert (folder / CONFIG).read_text() == FILES[CONFIG].replace("5432", "5433")

    everywhere = {"file_path": "logs/import.log", "old_text": "INFO", "new_text": "NOTE", "replace_all": True}
    assert run("edit_file", **everywhere)["message"] == "Replaced 3 places."


def test_edit_plans_again_if_the_file_changed_since(folder: Path) -> None:
    handler = files.build_write_handler(files.plan_edit)
    request = build_example_request("edit_file", {"file_path": CONFIG, "old_text": "5432", "new_text": "5433"})
    assert handler.prepare
    prepared = handler.prepare(request)
    (folder / CONFIG).write_text("port: 5432\nnew: line\n")
    handler.apply(replace(request, prepared=prepared))

    assert (folder / CONFIG).read_text() == "port: 5433\nnew: line\n"


def test_without_data_every_op_says_what_to_do(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path / "nothing"
    for tool_name, args in {
        "read_file": {"file_path": "a"},
        "search_files": {},
        "run_command": {"command": "list"},
        "list_contacts": {},
        "list_tables": {},
    }.items():
        with pytest.raises(NotSetUp, match="load_demo --domains"):
            run(tool_name, **args)
