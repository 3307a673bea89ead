"""Vocabulary is copy: read from files, merged with edits, frozen, and looked up in the release that is served."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.utils import timezone

from audit.models import AuditEntry
from registry import vocabulary
from registry.catalog.builder import build_catalog, build_op
from registry.drafts import draft, edits, history
from registry.files import export, loader, yaml_format
from registry.models import Release, Vocabulary
from registry.releases import publishing, restore, stored_releases
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import Action, CopyChange
from registry.vocabulary import CatalogVocabulary
from tests.support.rows.op_entries import build_content, build_op_entry, build_schema

TASK = {"kind": "entity", "meaning": "task", "words": ["todo", "to_do"]}
STATE = {"kind": "argument", "meaning": "state_key", "words": ["status"]}
BOOK = {"kind": "action", "meaning": "schedule", "words": ["book"]}
URGENT = {"kind": "value", "argument": "priority", "meaning": "1", "ops": "a.*", "words": ["urgent", "asap"]}
DONE = {"kind": "value", "argument": "state_*", "meaning": "done", "words": ["finished"]}
ENTRIES: list[dict[str, Any]] = [BOOK, STATE, TASK, URGENT, DONE]
SCALE = {"type": "integer", "minimum": 1, "maximum": 5}
STATES = {"type": "string", "enum": ["todo", "done"]}
SCHEMA = build_schema(priority=SCALE, state_key=STATES)
OP = build_op_entry("a.b", entity="task", action="schedule", parameters_schema=SCHEMA)
OP |= {"tool_name": "web_search", "connection": "utilities"}  # which can run
CONTENT: dict[str, Any] = build_content(OP) | {"vocabulary": ENTRIES}


def list_aliases(schema: dict[str, Any], *entries: dict[str, Any], op: str = "a.b") -> dict[str, dict[str, Any]]:
    """Return the words for the values of each argument, as the gateway reads them."""
    woven = CatalogVocabulary.build(entries or ENTRIES).add_value_aliases(op, schema)
    return {
        name: argument["x-aliases"] for name, argument in vocabulary.iterate_arguments(woven) if "x-aliases" in argument
    }


@pytest.fixture
def shipped(tmp_path: Path) -> Iterator[None]:
    """A folder of an app that ships the entries."""
    (tmp_path / vocabulary.FILE_NAME).write_text(export.to_files(CONTENT)["vocabulary.yaml"])
    before = vocabulary._shipped_folders
    vocabulary.set_shipped_folders([tmp_path, tmp_path / "other"])
    yield
    vocabulary.set_shipped_folders(before)


def test_words_for_a_value_are_those_of_each_argument_that_takes_it() -> None:
    before = deepcopy(SCHEMA)

    assert list_aliases(SCHEMA) == {"priority": {"urgent": 1, "asap": 1}, "state_key": {"finished": "done"}}
    assert before == SCHEMA


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (build_schema(priority={"type": "array", "items": {"enum": [1, 2]}}), {"priority": {"urgent": 1, "asap": 1}}),
        (
            build_schema(row={"type": "object", "properties": {"priority": SCALE}}),
            {"priority": {"urgent": 1, "asap": 1}},
        ),
        (build_schema(rows={"items": {"properties": {"state_key": STATES}}}), {"state_key": {"finished": "done"}}),
        (build_schema(priority={"type": "integer", "minimum": 2, "maximum": 5}), {}),  # takes no 1
        (build_schema(priority={"type": "integer"}), {}),  # no scale
        (build_schema(state_key={"enum": ["open", None]}), {}),
        # What the argument itself says of a word comes first.
        (build_schema(priority=SCALE | {"x-aliases": {"asap": 2}}), {"priority": {"urgent": 1, "asap": 2}}),
        (build_schema(priority=SCALE | {"x-refused": {"asap": "When?"}}), {"priority": {"urgent": 1}}),
        (build_schema(state_key={"enum": ["done", "finished"]}), {}),  # a value is no word for another one
        (build_schema(state_key={"enum": ["done", "Finished"]}), {}),  # in no spelling
    ],
)
def test_words_for_a_value_depend_on_the_argument(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list_aliases(schema) == expected


@pytest.mark.parametrize(
    ("schema", "meaning", "expected"),
    [
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean", "enum": [True]}, "false", None),
        ({"enum": [True, "True"]}, "true", True),
        ({"type": "integer", "minimum": -2, "maximum": 2}, "-1", -1),
        ({"type": "integer", "minimum": -2, "maximum": 2}, "-3", None),
        ({"enum": [-1, 1]}, "-1", -1),
        ({"anyOf": [{"enum": ["done"]}, {"type": "null"}]}, "done", "done"),
        ({"oneOf": [{"const": "done"}, {"anyOf": [{"minimum": 1, "maximum": 2}]}]}, "2", 2),
        ({"anyOf": [True, {"enum": None}]}, "done", None),
    ],
)
def test_value_can_be_of_any_kind(schema: dict[str, Any], meaning: str, expected: Any) -> None:
    found = vocabulary.find_option(schema, meaning)

    assert (found, type(found)) == (expected, type(expected))


def test_value_of_an_alternative_has_words() -> None:
    schema = build_schema(state_key={"anyOf": [STATES, {"type": "null"}]}, is_done={"type": "boolean"})
    over = {"kind": "value", "argument": "is_done", "meaning": "true", "words": ["over", "false"]}

    assert list_aliases(schema, DONE, over) == {"state_key": {"finished": "done"}, "is_done": {"over": True}}


def test_words_for_a_value_are_only_for_its_ops() -> None:
    assert list_aliases(SCHEMA, URGENT, op="shop.order.list") == {}
    assert CatalogVocabulary.build([URGENT]).add_value_aliases("shop.order.list", SCHEMA) is SCHEMA


def test_catalog_has_the_vocabulary_of_its_release() -> None:
    catalog = build_catalog("v" * 64, CONTENT)
    op = catalog.ops["a.b"]

    assert op.vocabulary is catalog.vocabulary
    assert op.arguments["priority"]["x-aliases"] == {"urgent": 1, "asap": 1}
    assert catalog.vocabulary.get_entity_words("task") == ("todo", "to_do")
    assert catalog.vocabulary.action_by_word == {"book": "schedule"}
    assert catalog.vocabulary.argument_names == (("state_key", "status"),)


@pytest.mark.parametrize(
    ("word", "action", "expected"),
    [
        ("delete", "update", None),
        ("delete", "unlink", None),
        ("remove", "delete", "delete"),
        ("purge", "archive", None),
        ("purge_all", "archive", None),
        ("cancel", "close", "close"),
        ("nuke", "delete", "delete"),
        ("wipe", "wipe_disk", "wipe_disk"),
        ("open", "start", "start"),
    ],
)
def test_word_for_something_dangerous_means_nothing_else(word: str, action: str, expected: str | None) -> None:
    words = CatalogVocabulary.build([{"kind": "action", "meaning": action, "words": [word]}])

    assert words.action_by_word.get(word) == expected


def test_op_that_is_tried_has_the_vocabulary_of_the_catalog() -> None:
    catalog = build_catalog("v" * 64, CONTENT).with_op(build_op(OP | {"op": "a.c"}), version="draft")

    assert catalog.ops["a.c"].arguments["priority"]["x-aliases"] == {"urgent": 1, "asap": 1}
    assert catalog.vocabulary is catalog.ops["a.c"].vocabulary


def test_release_from_before_vocabularies_has_the_shipped_names_but_no_values(shipped: None) -> None:
    old = {key: value for key, value in CONTENT.items() if key != "vocabulary"}
    catalog = build_catalog("v" * 64, old)

    assert catalog.vocabulary.get_entity_words("task") == ("todo", "to_do")
    assert catalog.vocabulary.argument_names == (("state_key", "status"),)
    assert "x-aliases" not in catalog.ops["a.b"].arguments["priority"]
    assert build_catalog("v" * 64, CONTENT | {"vocabulary": []}).vocabulary.entries == ()


@pytest.mark.django_db
def test_files_to_draft_to_release_to_files_lose_nothing(tmp_path: Path) -> None:
    export.write_to_folder(CONTENT, tmp_path)
    loader.load_into_draft(yaml_format.read_folder(tmp_path))
    released = publishing.publish_draft(note="Test", by="tests", at=timezone.now(), accepted="Test")

    sent, stored = (export.to_files(each) for each in (CONTENT, stored_releases.load_content(released)))

    assert stored["vocabulary.yaml"] == sent["vocabulary.yaml"]


def ship(folder: Path, *entries: dict[str, Any]) -> Path:
    """Write the vocabulary of an app, and return its folder."""
    folder.mkdir()
    (folder / vocabulary.FILE_NAME).write_text(export.dump_yaml({"vocabulary": list(entries)}))
    return folder


def test_words_of_two_apps_for_one_meaning_are_joined(shipped: None, tmp_path: Path) -> None:
    other = ship(tmp_path / "shop", TASK | {"words": ["chore", "todo"]}, TASK | {"meaning": "order"} | {"words": []})

    vocabulary.set_shipped_folders([tmp_path, other])

    words = {entry["meaning"]: entry["words"] for entry in vocabulary.list_shipped_entries()}
    assert words["task"] == ["todo", "to_do", "chore"]
    assert len(words) == len(ENTRIES) + 1


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            TASK | {"meaning": "order"},
            r"The word todo stands for the kind of row task in .*, and for order in .*shop/vocabulary.yaml. Remove it",
        ),
        (BOOK | {"meaning": "buy"}, r"The word book stands for the action schedule in .*, and for buy in .*"),
        ({"kind": "entity"}, r"shop/vocabulary.yaml is not a vocabulary: KeyError\('words'\)"),
    ],
)
def test_word_of_two_apps_for_two_meanings_stops_the_start(
    shipped: None, tmp_path: Path, entry: dict[str, Any], message: str
) -> None:
    other = ship(tmp_path / "shop", entry)

    with pytest.raises(ImproperlyConfigured, match=message):
        vocabulary.set_shipped_folders([tmp_path, other])


@pytest.mark.parametrize(
    "entry",
    [
        TASK | {"kind": "noun"},
        TASK | {"words": ["To do"]},
        TASK | {"words": ["todo", "todo"]},
        TASK | {"argument": "priority"},
        TASK | {"ops": "onto.*"},
        {name: value for name, value in URGENT.items() if name != "argument"},
        URGENT | {"argument": ""},
        URGENT | {"argument": "a" * 60, "meaning": "b" * 60, "ops": "c" * 80},
        URGENT | {"ops": "Onto.*"},
        TASK | {"meaning": " task"},
        TASK | {"meaning": "ta\u200bsk"},
        TASK | {"meaning": "t" * 101},
        TASK | {"words": ["w" * 61]},
        TASK | {"words": [f"word{at}" for at in range(101)]},
        TASK | {"words": ["to\u200bdo"]},
    ],
)
def test_file_with_an_invalid_entry_is_refused(entry: dict[str, Any]) -> None:
    text = export.dump_yaml({"vocabulary": [entry]}).encode()

    with pytest.raises(yaml_format.InvalidCatalogFiles):
        yaml_format.parse_files({"vocabulary.yaml": text}, alone=False)


def test_files_have_a_limited_number_of_entries() -> None:
    entries = [TASK | {"meaning": f"kind{at}"} for at in range(2_001)]
    parts = {"a.yaml": entries[:1_000], "b.yaml": entries[1_000:]}
    files = {name: export.dump_yaml({"vocabulary": part}).encode() for name, part in parts.items()}

    with pytest.raises(yaml_format.InvalidCatalogFiles, match="2,001 vocabulary entries; the limit is 2,000"):
        yaml_format.parse_files(files, alone=False)


def test_name_says_which_part_has_a_slash() -> None:
    names = {
        COPY_KINDS[Kind.VOCABULARY].get_name(URGENT | {"meaning": meaning, "ops": ops})
        for meaning, ops in [("text/html", ""), ("text", "html")]
    }

    assert names == {"value/priority/text//html", "value/priority/text/html"}


def test_arguments_with_the_same_values_share_their_words_in_memory() -> None:
    words = CatalogVocabulary.build(ENTRIES)

    one, other = (words.add_value_aliases(op, SCHEMA)["properties"]["priority"] for op in ("a.b", "a.c"))

    assert one["x-aliases"] is other["x-aliases"]


@pytest.mark.django_db
def test_edit_of_a_shipped_entry_is_kept_and_other_sources_are_left_alone() -> None:
    loader.load_into_draft(CONTENT)
    Vocabulary.objects.filter(meaning="task").update(words=["chore"])
    Vocabulary.objects.filter(meaning="done").update(source="shop")

    report = loader.load_into_draft(
        build_content(OP) | {"vocabulary": [TASK | {"words": ["todo", "job"]}, DONE | {"words": ["over"]}, BOOK, STATE]}
    )

    assert report.kept_edits == ["entity/task words"]
    assert report.skipped == ["value/state_*/done"]
    assert report.no_longer_shipped == ["value/priority/1/a.*"]
    assert Vocabulary.objects.get(meaning="task").words == ["chore"]
    assert Vocabulary.objects.get(meaning="done").words == ["finished"]


def publish_without_vocabulary() -> Release:
    """Publish a release as before vocabularies, then load the shipped entries into the draft."""
    loader.load_into_draft(build_content(OP))
    release = publishing.publish_draft(note="Old", by="tests", at=timezone.now(), accepted="Test")
    loader.load_into_draft(CONTENT)
    return release


@pytest.mark.django_db
@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("way", ["restore", "discard one", "discard all"])
def test_release_without_vocabulary_stands_for_the_shipped_one_in_the_draft(way: str) -> None:
    release = publish_without_vocabulary()
    loaded = snapshot.snapshot_draft()
    Vocabulary.objects.filter(meaning="task").update(words=["chore"])
    own = Vocabulary.objects.create(kind="entity", meaning="page", words=["sheet"])
    at = timezone.now()

    if way == "restore":
        restore.restore_release(release, by="ann", at=at)
    elif way == "discard one":
        for name in ("entity/task", "entity/page"):
            restore.discard_change(Kind.VOCABULARY, name, by="ann", at=at)
    else:
        unpublished = restore.find_unpublished_changes()
        assert unpublished
        assert {change.name for change in unpublished.changes} == {"entity/task", "entity/page"}
        restore.discard_all_changes(seen=unpublished.seen, by="ann", at=at)

    assert not Vocabulary.objects.filter(pk=own.pk).exists()
    assert snapshot.snapshot_draft() == loaded
    assert not loader.load_into_draft(CONTENT).changes


@pytest.mark.django_db
@pytest.mark.usefixtures("shipped")
def test_release_and_draft_without_vocabulary_are_the_same() -> None:
    loader.load_into_draft(build_content(OP))
    release = publishing.publish_draft(note="Old", by="tests", at=timezone.now(), accepted="Test")

    with pytest.raises(draft.NothingToChange):
        restore.restore_release(release, by="ann", at=timezone.now())

    assert publishing.compute_draft_version() == release.version


@pytest.mark.django_db
@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("way", ["entry", "files"])
def test_first_entry_of_a_draft_comes_with_the_shipped_ones(way: str) -> None:
    loader.load_into_draft(build_content(OP))
    page = {"kind": "entity", "meaning": "page", "words": ["sheet"]}
    if way == "entry":
        draft.write_entry(Kind.VOCABULARY, "entity/page", page, by="ann", at=timezone.now(), note="")
    else:
        files = build_content() | {"vocabulary": [page]}
        draft.write_snapshot(files, by="ann", at=timezone.now(), note="")

    names = Vocabulary.objects.values_list("meaning", flat=True)

    assert sorted(names) == ["1", "done", "page", "schedule", "state_key", "task"]
    draft.write_entry(Kind.VOCABULARY, "entity/page", None, by="ann", at=timezone.now(), note="")
    assert snapshot.snapshot_draft()["vocabulary"] == ENTRIES


@pytest.mark.django_db
@pytest.mark.usefixtures("shipped")
def test_shipped_entry_is_switched_off_by_an_empty_list_of_words_that_upgrades_keep() -> None:
    publish_without_vocabulary()
    with pytest.raises(edits.NotRevertible, match="Remove its words instead"):
        edits.revert_change(record_loaded("entity/task"), by="ann", at=timezone.now())
    draft.write_entry(Kind.VOCABULARY, "entity/task", TASK | {"words": []}, by="ann", at=timezone.now(), note="")

    loader.load_into_draft(CONTENT)
    release = publishing.publish_draft(note="Off", by="tests", at=timezone.now(), accepted="Test")

    catalog = build_catalog(release.version, stored_releases.load_content(release))
    assert catalog.vocabulary.get_entity_words("task") == ()


def record_loaded(name: str) -> AuditEntry:
    """Record an entry as loaded, as the command does."""
    history.record_changes([CopyChange(Kind.VOCABULARY, name, Action.ADDED)], by="load", at=timezone.now())
    return history.list_changes(Kind.VOCABULARY, name)[0]


@pytest.mark.django_db
def test_change_of_an_entry_is_in_the_history_and_can_be_reverted() -> None:
    loader.load_into_draft(CONTENT)
    name = "value/priority/1/a.*"
    changed = URGENT | {"words": ["urgent"]}
    draft.write_entry(Kind.VOCABULARY, name, changed, by="ann", at=timezone.now(), note="")
    [entry] = history.list_changes(Kind.VOCABULARY, name)

    edits.revert_change(entry, by="ben", at=timezone.now())

    assert entry.changes == {"words": [["urgent", "asap"], ["urgent"]]}
    assert draft.read_entry(Kind.VOCABULARY, name) == URGENT


@pytest.mark.parametrize("words", [["To do"], ["todo", "todo"], [""], "todo", ["to-do"]])
def test_words_that_are_not_written_as_names_are_refused(words: Any) -> None:
    with pytest.raises(ValidationError):
        Vocabulary(kind="entity", meaning="task", words=words).clean_fields()
