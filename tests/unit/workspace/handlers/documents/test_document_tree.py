"""The ops on the tree of documents."""

import uuid
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import NotFound, StateConflict
from tests.support.loops import for_each
from tests.support.rows.document_forest import Titles, create_documents, read_dense_titles
from tests.support.rows.factories import DocumentFactory, ProjectFactory
from tests.support.values.handler_calls import AT, call_handler, list_field_errors
from workspace.models import Document, Project

TREE: Titles = {"A": {"B": {"C": {}}, "D": {}, "E": {}}, "F": {}}


@pytest.fixture
def documents(project: Project) -> dict[str, Document]:
    return create_documents(project, TREE)


def read(project: Project, **args: Any) -> dict[str, Any]:
    return call_handler("get_document_tree", project_id=str(project.pk), **args).result


def move(document: Document, **args: Any) -> Any:
    return call_handler("move_document_in_tree", document_id=str(document.pk), **args)


def create(project: Project, **args: Any) -> Any:
    return call_handler("create_onto_document", **({"project_id": str(project.pk), "title": "New"} | args))


def delete(document: Document, **args: Any) -> Any:
    return call_handler("delete_onto_document", document_id=str(document.pk), **args)


def list_titles(nodes: list[dict[str, Any]]) -> Titles:
    return {node["title"]: list_titles(node.get("children", [])) for node in nodes}


def test_get_returns_nested_nodes_and_the_version(project: Project, documents: dict[str, Document]) -> None:
    Project.objects.update(tree_version=7)

    result = read(project)

    assert list_titles(result["structure"]["root"]) == TREE
    assert result["structure"]["version"] == 7
    assert (result["total"], result["has_more"]) == (6, False)
    assert result.keys().isdisjoint({"next_offset", "documents"})
    assert result["message"] == "6 of 6 documents, siblings in order."
    above = result["structure"]["root"][0]["children"][0]
    [below] = above.pop("children")
    same = {"type_key": "document.default", "state_key": "draft", "position": 0}
    assert below == same | {"id": str(documents["C"].pk), "title": "C", "has_children": False}
    assert above == same | {"id": str(documents["B"].pk), "title": "B", "has_children": True, "child_count": 1}


@for_each(
    "args, shown, more, next_offset",
    [
        ({"depth": 1}, {"A": {}, "F": {}}, True, None),
        ({"depth": 2}, {"A": {"B": {}, "D": {}, "E": {}}, "F": {}}, True, None),
        ({"limit": 3}, {"A": {"B": {}}, "F": {}}, True, None),
        ({"limit": 1}, {"A": {}}, True, 1),
        ({"limit": 1, "offset": 1}, {"F": {}}, False, None),
        ({"offset": 2}, {}, False, None),
    ],
    undone=True,
)
def test_get_is_limited_and_says_so(
    project: Project,
    documents: dict[str, Document],
    args: dict[str, int],
    shown: Titles,
    more: bool,
    next_offset: int | None,
) -> None:
    result = read(project, **args)

    assert list_titles(result["structure"]["root"]) == shown
    assert (result["has_more"], result.get("next_offset")) == (more, next_offset)
    assert ("document_id" in result["message"]) == more
    assert ("next_offset" in result["message"]) == (next_offset is not None)
    if shown.get("A") is not None:
        node = result["structure"]["root"][0]
        assert (node["has_children"], node["child_count"]) == (True, 3)


def test_get_continues_below_a_node(project: Project, documents: dict[str, Document]) -> None:
    under_a = {"document_id": str(documents["A"].pk)}

    assert list_titles(read(project, **under_a)["structure"]["root"]) == TREE["A"]
    assert read(project, **under_a)["total"] == 4
    first = read(project, **under_a, limit=2)
    rest = read(project, **under_a, offset=first["next_offset"])
    expected = ({"B": {}, "D": {}}, {"E": {}})
    assert (list_titles(first["structure"]["root"]), list_titles(rest["structure"]["root"])) == expected


def test_document_of_another_project_is_not_found(project: Project, documents: dict[str, Document]) -> None:
    elsewhere = str(DocumentFactory().pk)  # of the same owner

    with pytest.raises(NotFound, match=r"^No document of this project that you can see has this document_id"):
        read(project, document_id=elsewhere)
    with pytest.raises(NotFound, match=r"^No document of this project that you can see has this new_parent_id"):
        move(documents["F"], new_parent_id=elsewhere)


def test_get_includes_rows_and_texts_on_request(project: Project, documents: dict[str, Document]) -> None:
    Document.objects.filter(title="A").update(content="a" * 15_000)
    Document.objects.filter(title="F").update(content="f" * 15_000)
    Document.objects.filter(title="B").update(content="b" * 10)

    previews = read(project, include_documents=True, depth=2)["documents"]
    texts = read(project, include_documents=True, include_content=True)["documents"]

    assert list(previews) == [str(documents[title].pk) for title in "AFBDE"]
    assert previews[str(documents["A"].pk)]["content_preview"] == "a" * 200 + "…"
    whole, cut, none = (texts[str(documents[title].pk)] for title in "AFB")
    assert (len(whole["content"]), "truncated" in whole, "content_preview" in whole) == (15_000, False, False)
    assert cut["content"] == "f" * 5_000
    assert cut["truncated"] == {"content": {"shown": 5_000, "length": 15_000, "next_offset": 5_000}}
    assert (none["content"], none["truncated"]["content"]["length"]) == ("", 10)


def test_get_query_count_does_not_depend_on_tree_size(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    parents = DocumentFactory.create_batch(20, project=project)
    Document.objects.bulk_create(
        DocumentFactory.build(project=project, parent=parent) for parent in parents for _ in range(20)
    )

    with django_assert_num_queries(3):  # the version, the shape, the columns of the nodes
        result = read(project, limit=200)
    with django_assert_num_queries(5):
        read(project, limit=200, include_documents=True, include_content=True)

    assert (result["total"], result["has_more"]) == (420, True)


def test_path_starts_at_the_root(project: Project, documents: dict[str, Document]) -> None:
    outcome = call_handler("get_document_path", document_id=str(documents["C"].pk).upper())

    assert [each["title"] for each in outcome.result["path"]] == ["A", "B", "C"]
    assert outcome.result["path"][0] == {"id": str(documents["A"].pk), "title": "A"}
    assert outcome.result["document_id"] == outcome.entity_id == str(documents["C"].pk)
    assert outcome.result["project_id"] == str(project.pk)
    alone = call_handler("get_document_path", document_id=str(documents["F"].pk)).result
    assert (len(alone["path"]), alone["message"]) == (1, "The document is at the root.")


def test_move_returns_the_position_and_the_new_version(project: Project, documents: dict[str, Document]) -> None:
    outcome = move(documents["B"], new_parent_id=str(documents["F"].pk), new_position=5)

    assert outcome.result == {
        "document": {"id": str(documents["B"].pk), "title": "B", "parent_id": str(documents["F"].pk), "position": 0},
        "structure": {"version": 1},
        "message": "Moved the document with 1 below it to position 0 of 1 under its parent.",
    }
    assert (outcome.entity_id, outcome.entity_name, outcome.warnings) == (str(documents["B"].pk), "B", ())
    assert read_dense_titles(project) == {"A": {"D": {}, "E": {}}, "F": {"B": {"C": {}}}}
    assert Document.objects.get(title="B").updated_at == AT


def test_move_without_a_parent_goes_to_the_top_of_the_root(project: Project, documents: dict[str, Document]) -> None:
    for none in ({}, {"new_parent_id": None}, {"new_parent_title": None}):
        move(documents["E"], new_parent_id=str(documents["A"].pk))
        assert move(documents["E"], **none).result["document"]["parent_id"] is None
        assert list(read_dense_titles(project)) == ["E", "A", "F"]


def test_move_finds_the_parent_by_title(project: Project, documents: dict[str, Document]) -> None:
    assert move(documents["C"], new_parent_title=" f ").result["document"]["parent_id"] == str(documents["F"].pk)
    assert read_dense_titles(project)["F"] == {"C": {}}

    both = move(documents["C"], new_parent_title="nothing", new_parent_id=str(documents["A"].pk))
    assert both.warnings == ("Ignored new_parent_title: new_parent_id was also sent.",)


@for_each("under", ["A", "B", "C"])
@for_each("argument", ["new_parent_id", "new_parent_title"], undone=True)
def test_move_refuses_the_document_itself_or_its_descendants_as_parent(
    project: Project, documents: dict[str, Document], under: str, argument: str
) -> None:
    named = {argument: str(documents[under].pk) if argument == "new_parent_id" else under}

    assert list_field_errors(lambda: move(documents["A"], **named)) == [(f"/{argument}", "circle")]
    assert read_dense_titles(project) == TREE


def test_move_with_an_outdated_version_is_a_conflict(project: Project, documents: dict[str, Document]) -> None:
    version = read(project)["structure"]["version"]
    moved = move(documents["F"], new_parent_id=str(documents["A"].pk), expected_version=version)

    with pytest.raises(StateConflict, match="it is now version 1,") as refused:
        move(documents["F"], expected_version=version)

    assert refused.value.reason == "stale_version"
    assert (
        move(documents["F"], expected_version=moved.result["structure"]["version"]).result["structure"]["version"] == 2
    )


def test_every_tree_change_increases_the_version(project: Project, documents: dict[str, Document]) -> None:
    versions = [
        create(project).result["structure"]["version"],
        move(documents["F"], new_parent_id=str(documents["A"].pk)).result["structure"]["version"],
        delete(documents["D"]).result["structure"]["version"],
        read(project)["structure"]["version"],
    ]
    unchanged = move(documents["F"], new_parent_id=str(documents["A"].pk))

    assert versions == [1, 2, 3, 3]
    assert (unchanged.warnings, unchanged.result["structure"]["version"]) == (("unchanged",), 3)
    assert unchanged.result["message"] == "Nothing changed: it is already at position 0 of 3 under its parent."


def test_move_checks_the_sent_project(project: Project, documents: dict[str, Document]) -> None:
    move(documents["F"], project_id=str(project.pk).upper())

    for other in (ProjectFactory().pk, ProjectFactory(created_by="someone else").pk, uuid.uuid4()):
        errors = list_field_errors(lambda other=other: move(documents["F"], project_id=str(other)))
        assert errors == [("/project_id", "other_project")]


def test_move_query_count_does_not_depend_on_siblings(
    project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = DocumentFactory.create_batch(2, project=project)
    Document.objects.bulk_create(
        DocumentFactory.build(project=project, parent=parent) for parent in (first, second) for _ in range(60)
    )
    document = Document.objects.get(parent=first, position=30)

    with django_assert_max_num_queries(17):
        move(document, new_parent_id=str(second.pk), new_position=30)

    read_dense_titles(project)


@for_each("args, order", [({}, ["B", "D", "E", "New"]), ({"position": 2}, ["B", "D", "New", "E"])])
@for_each("by", ["parent_id", "parent_title"], undone=True)
def test_create_puts_a_document_under_its_parent(
    project: Project, documents: dict[str, Document], args: dict[str, int], order: list[str], by: str
) -> None:
    outcome = create(project, **{by: str(documents["A"].pk) if by == "parent_id" else "a"}, **args)

    row = outcome.result["document"]
    assert list(read_dense_titles(project)["A"]) == order
    assert (row["parent_id"], row["position"]) == (str(documents["A"].pk), order.index("New"))
    whole = call_handler("get_onto_document_details", document_id=row["id"]).result["document"]
    assert row == {name: whole[name] for name in ("id", "title", "state_key", "parent_id", "position")}


def test_delete_includes_documents_below_and_counts_them(project: Project, documents: dict[str, Document]) -> None:
    outcome = delete(documents["A"])

    assert outcome.result == {
        "document": {"id": str(documents["A"].pk)},
        "deleted": 5,
        "structure": {"version": 1},
        "message": "Deleted the document “A” and the 4 documents below it; ops no longer find them.",
    }
    assert read_dense_titles(project) == {"F": {}}
    with pytest.raises(NotFound):
        call_handler("get_onto_document_details", document_id=str(documents["C"].pk))


def test_delete_moves_documents_below_up_on_request(project: Project, documents: dict[str, Document]) -> None:
    outcome = delete(documents["A"], children="promote")

    assert (outcome.result["deleted"], outcome.result["message"]) == (
        1,
        "Deleted the document “A”; ops no longer find it. Kept the 4 documents below it: its children took its place.",
    )
    assert list(read_dense_titles(project)) == ["B", "D", "E", "F"]
