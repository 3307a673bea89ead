"""Copy as files: what is refused before any row changes, and with which message."""

from pathlib import Path

import pytest

from registry.files import yaml_format

GROUPS = "groups:\n  - {path: onto, summary: Things}\n"
OP = "ops:\n  - {op: onto.get, tool_name: get_thing, kind: read, summary: Get, parameters_schema: {type: object}}\n"


def read(folder: Path, text: str) -> dict[str, object]:
    (folder / "copy.yaml").write_text(text)
    return yaml_format.read_folder(folder)


def test_read_returns_groups_and_ops_of_all_files_with_dates_as_text(tmp_path: Path) -> None:
    (tmp_path / "groups.yaml").write_text(GROUPS)
    dated = OP.replace("summary: Get", "summary: Get, examples: [{args: {day: 2026-03-01}}]")
    content = read(tmp_path, dated.replace("{type: object}", "{type: object, properties: {day: {type: string}}}"))
    assert [op["op"] for op in content["ops"]] == ["onto.get"]
    assert content["ops"][0]["examples"] == [{"args": {"day": "2026-03-01"}}]
    assert content["groups"] == [{"path": "onto", "summary": "Things"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ops: [", "copy.yaml, YAML"),  # not YAML
        ("opps: []", "A file may only contain lists named groups"),  # a misspelt key at the top
        (GROUPS + OP.replace("op: onto.get, ", ""), '"op" is missing'),
        (GROUPS + OP.replace("kind: read", "kind: reed"), "reed"),  # not a kind
        (GROUPS + OP.replace("summary: Get", "sumary: Get"), "sumary"),  # a misspelt key of an op
        (GROUPS + OP.replace("summary: Get", "summary: ''"), "shorter than 1"),
        (GROUPS + OP.replace("summary: Get", "summary: Get, policy: {always: [x]}"), "always"),
        (GROUPS + "ops: [just text]\n", "is not of type"),
        (OP, "The group onto is missing"),  # errors that the snapshot's checks find
        ("groups: &all [{path: onto, summary: Things}]\nops: *all", "The alias *all is not allowed."),
        ("ops: [!!python/name:os.system x]", "is not a JSON type."),
        ("ops: " + "[" * 200_000, "Nested more than 64 levels deep."),  # parsing it would crash the process
        ("ops: [.nan]", "not JSON compliant"),
        ('"a\\0b": 1', "copy.yaml, YAML"),
        ('ops: ["\\ud800"]', "copy.yaml, YAML"),
    ],
)
def test_read_refuses_invalid_files_and_says_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(yaml_format.InvalidCatalogFiles) as refused:
        read(tmp_path, text)
    assert message in str(refused.value)
