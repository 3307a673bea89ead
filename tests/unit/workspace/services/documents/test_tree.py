"""The tree of documents, and its invariants after any changes."""

from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.cpu_budget import examples
from tests.support.loops import for_each
from tests.support.rows.document_forest import Titles, create_documents, read_dense_titles
from tests.support.rows.factories import MADE_AT, DocumentFactory, ProjectFactory
from tests.support.values.handler_calls import AT
from workspace.models import Document, Project
from workspace.services.documents import tree
from workspace.services.documents.tree import DocumentForest

pytestmark = pytest.mark.both_databases

TREE: Titles = {"A": {"B": {"C": {}}, "D": {}, "E": {}}, "F": {}}


@pytest.fixture
def documents(project: Project) -> dict[str, Document]:
    return create_documents(project, TREE)


def version(project: Project) -> int:
    return Project.objects.get(pk=project.pk).tree_version


def fresh(document: Document) -> Document:
    return Document.objects.get(pk=document.pk)


def move(document: Document, parent: Document | None, position: int) -> bool:
    project = tree.lock_tree(document.project_id)
    parent_id = parent and parent.pk
    return tree.move_document(fresh(document), project, parent_id=parent_id, position=position, at=AT)


def remove(document: Document, *, promote: bool) -> int:
    return tree.delete_document(fresh(document), tree.lock_tree(document.project_id), promote=promote, at=AT)


@for_each("position, order", [(None, "ABCN"), (0, "NABC"), (1, "ANBC"), (3, "ABCN"), (2**60, "ABCN")], undone=True)
def test_insert_shifts_later_siblings(project: Project, position: int | None, order: str) -> None:
    create_documents(project, {"A": {}, "B": {}, "C": {}})

    tree.insert_document(
        DocumentFactory.build(project=project, title="N"), tree.lock_tree(project.pk), position=position
    )

    assert "".join(read_dense_titles(project)) == order
    assert version(project) == 1


@for_each(
    "what, under, position, expected",
    [
        ("D", None, 0, {"D": {}, "A": {"B": {"C": {}}, "E": {}}, "F": {}}),
        ("B", "F", 9, {"A": {"D": {}, "E": {}}, "F": {"B": {"C": {}}}}),
        ("B", "A", 2, {"A": {"D": {}, "E": {}, "B": {"C": {}}}, "F": {}}),
        ("B", "A", 1, {"A": {"D": {}, "B": {"C": {}}, "E": {}}, "F": {}}),
        ("E", "A", 0, {"A": {"E": {}, "B": {"C": {}}, "D": {}}, "F": {}}),
        ("F", "C", 0, {"A": {"B": {"C": {"F": {}}}, "D": {}, "E": {}}}),
    ],
    undone=True,
)
def test_move_includes_descendants_and_closes_the_gap(
    project: Project, documents: dict[str, Document], what: str, under: str | None, position: int, expected: Titles
) -> None:
    assert move(documents[what], under and documents[under], position)

    assert read_dense_titles(project) == expected
    assert list(read_dense_titles(project)) == list(expected)
    assert version(project) == 1
    assert [each.title for each in Document.objects.filter(updated_at=AT)] == [what]


@for_each("what, under, position", [("A", None, 0), ("E", "A", 2), ("E", "A", 99)], undone=True)
def test_move_to_the_same_position_changes_nothing(
    project: Project, documents: dict[str, Document], what: str, under: str | None, position: int
) -> None:
    assert not move(documents[what], under and documents[under], position)

    assert read_dense_titles(project) == TREE
    assert version(project) == 0
    assert not Document.objects.filter(updated_at=AT).exists()


@for_each(
    "what, promote, number, expected",
    [
        ("A", False, 4, {"F": {}}),
        ("A", True, 4, {"B": {"C": {}}, "D": {}, "E": {}, "F": {}}),
        ("B", False, 1, {"A": {"D": {}, "E": {}}, "F": {}}),
        ("B", True, 1, {"A": {"C": {}, "D": {}, "E": {}}, "F": {}}),
        ("D", True, 0, {"A": {"B": {"C": {}}, "E": {}}, "F": {}}),
        ("F", False, 0, {"A": TREE["A"]}),
    ],
    undone=True,
)
def test_remove_deletes_descendants_or_moves_them_up(
    project: Project, documents: dict[str, Document], what: str, promote: bool, number: int, expected: Titles
) -> None:
    assert remove(documents[what], promote=promote) == number

    assert read_dense_titles(project) == expected
    assert list(read_dense_titles(project)) == list(expected)
    assert Document.objects.filter(deleted_at=AT).count() == (1 if promote else 1 + number)
    assert version(project) == 1


def test_remove_all_deletes_each_document_once_in_all_projects(
    project: Project, documents: dict[str, Document]
) -> None:
    other = DocumentFactory()
    gone = DocumentFactory(project=project, deleted_at=MADE_AT)

    number = tree.delete_documents([documents["C"].pk, documents["A"].pk, documents["B"].pk, other.pk, gone.pk], at=AT)

    assert number == 6  # A to E, and the document of the other project
    assert read_dense_titles(project) == {"F": {}}
    assert fresh(gone).deleted_at == MADE_AT


def test_restore_restores_parents_before_children_in_order(project: Project, documents: dict[str, Document]) -> None:
    remove(documents["A"], promote=False)
    ids = [each.pk for each in documents.values()]

    assert tree.restore_documents(ids[::-1]) == (5, 0)

    assert read_dense_titles(project) == {"F": {}, "A": TREE["A"]}  # the restored document is last
    assert list(read_dense_titles(project)["A"]) == ["B", "D", "E"]
    # Without its parent, a document goes to the root.
    remove(documents["A"], promote=False)
    assert tree.restore_documents([documents["B"].pk, documents["C"].pk]) == (2, 1)
    assert read_dense_titles(project) == {"F": {}, "B": {"C": {}}}
    assert tree.restore_documents([documents["A"].pk]) == (1, 0)
    assert read_dense_titles(project) == {"F": {}, "B": {"C": {}}, "A": {}}


def test_each_project_has_its_own_tree(project: Project, documents: dict[str, Document]) -> None:
    other = ProjectFactory()
    create_documents(other, {"X": {}, "Y": {}})

    tree.insert_document(DocumentFactory.build(project=other, title="N"), tree.lock_tree(other.pk), position=0)
    remove(documents["A"], promote=True)

    assert list(read_dense_titles(other)) == ["N", "X", "Y"]
    assert (version(other), version(project)) == (1, 1)


def test_rows_saved_without_a_position_are_last(project: Project, documents: dict[str, Document]) -> None:
    under = {"parent": documents["A"], "project": project}
    Document.objects.bulk_create(
        [DocumentFactory.build(**under, title=title) for title in "XY"]
        + [DocumentFactory.build(project=project, title="Z"), DocumentFactory.build(**under, deleted_at=MADE_AT)]
    )

    assert list(read_dense_titles(project)["A"]) == ["B", "D", "E", "X", "Y"]
    assert list(read_dense_titles(project)) == ["A", "F", "Z"]


STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "move", "move", "cascade", "promote", "restore"]), *[st.integers(0, 9)] * 3),
    max_size=12,
)


@given(STEPS)
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
def test_any_sequence_of_changes_leaves_a_complete_forest_in_dense_order(
    project: Project, steps: list[tuple[str, int, int, int]]
) -> None:
    with transaction.atomic():
        alive, gone = set[Any](), set[Any]()
        for number, (step, which, under, position) in enumerate(steps):
            _take(project, step, which, under, position, number, alive, gone)
            read_dense_titles(project)
            assert {each.pk for each in Document.objects.filter(deleted_at=None)} == alive
            assert {each.pk for each in Document.objects.exclude(deleted_at=None)} == gone
        transaction.set_rollback(True)


def _take(
    project: Project, step: str, which: int, under: int, position: int, number: int, alive: set[Any], gone: set[Any]
) -> None:
    """Do one step with documents chosen by number, and track which documents must exist."""
    forest, held = DocumentForest.load(project.pk), tree.lock_tree(project.pk)
    ids = list(forest.iter_descendants(None))
    parent_id = ([None, *ids])[under % (len(ids) + 1)]
    if step == "create":
        new_document = DocumentFactory.build(project=project, title=str(number), parent_id=parent_id)
        tree.insert_document(new_document, held, position=position if which % 2 else None)
        alive.add(new_document.pk)
    elif step == "restore" and gone:
        chosen = sorted(gone)[: 1 + which % 3]
        assert tree.restore_documents(chosen)[0] == len(chosen)
        gone.difference_update(chosen)
        alive.update(chosen)
    elif ids and step == "move":
        document = Document.objects.get(pk=ids[which % len(ids)])
        if parent_id is None or document.pk not in forest.get_path(parent_id):
            tree.move_document(document, held, parent_id=parent_id, position=position, at=AT)
    elif ids and step in ("cascade", "promote"):
        document = Document.objects.get(pk=ids[which % len(ids)])
        below = {document.pk} | (set(forest.iter_descendants(document.pk)) if step == "cascade" else set())
        tree.delete_document(document, held, promote=step == "promote", at=AT)
        alive -= below
        gone |= below


A, B, C, D, E = (UUID(int=number) for number in range(5))

# A        B
# ├─ C
# │  └─ E
# └─ D
FOREST = DocumentForest([(A, None), (B, None), (C, A), (D, A), (E, C)])


def test_forest_lists_children_paths_and_descendants() -> None:
    assert (FOREST.get_children(None), FOREST.get_children(A), FOREST.get_children(E)) == ([A, B], [C, D], [])
    assert (len(FOREST), A in FOREST, UUID(int=9) in FOREST) == (5, True, False)
    assert [FOREST.get_path(id) for id in (A, D, E)] == [[A], [A, D], [A, C, E]]
    descendants = [list(FOREST.iter_descendants(id)) for id in (None, A, E)]
    assert descendants == [[A, B, C, D, E], [C, D, E], []]  # level by level


@for_each(
    "id, limits, shown",
    [
        (None, {"levels": 9, "limit": 9}, [A, B, C, D, E]),
        (None, {"levels": 2, "limit": 9}, [A, B, C, D]),
        (None, {"levels": 9, "limit": 3}, [A, B, C]),  # nodes near the root come first
        (None, {"levels": 9, "limit": 9, "offset": 1}, [B]),  # without descendants of omitted nodes
        (None, {"levels": 9, "limit": 9, "offset": 2}, []),
        (A, {"levels": 1, "limit": 9}, [C, D]),
        (A, {"levels": 9, "limit": 9, "offset": 1}, [D]),
    ],
)
def test_top_is_limited_by_level_count_and_offset(id: UUID | None, limits: dict[str, int], shown: list[UUID]) -> None:
    assert FOREST.list_descendants(id, **limits) == shown


def test_document_with_a_missing_parent_is_at_the_root() -> None:
    forest = DocumentForest([(A, None), (C, B)])

    assert forest.get_children(None) == [A, C]
    assert forest.get_path(C) == [C]


@given(st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6)), unique_by=lambda pair: pair[0]))
def test_circle_of_parents_ends(pairs: list[tuple[int, int | None]]) -> None:
    forest = DocumentForest((UUID(int=id), None if above is None else UUID(int=above)) for id, above in pairs)

    for id in forest.parents:
        assert forest.get_path(id)[-1] == id
    assert len(list(forest.iter_descendants(None))) <= len(forest)
