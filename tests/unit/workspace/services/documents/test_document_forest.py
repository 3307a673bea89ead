from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from workspace.services.documents.tree import DocumentForest

A, B, C, D, E = (UUID(int=number) for number in range(5))

# A        B
# ├─ C
# │  └─ E
# └─ D
FOREST = DocumentForest([(A, None), (B, None), (C, A), (D, A), (E, C)])


def test_children_keep_the_input_order() -> None:
    assert (FOREST.get_children(None), FOREST.get_children(A), FOREST.get_children(E)) == ([A, B], [C, D], [])
    assert (len(FOREST), A in FOREST, UUID(int=9) in FOREST) == (5, True, False)


@for_each("id, path", [(A, [A]), (D, [A, D]), (E, [A, C, E])])
def test_path_goes_from_the_root_to_the_document(id: UUID, path: list[UUID]) -> None:
    assert FOREST.get_path(id) == path


def test_descendants_are_listed_level_by_level() -> None:
    assert list(FOREST.iter_descendants(None)) == [A, B, C, D, E]
    assert list(FOREST.iter_descendants(A)) == [C, D, E]
    assert list(FOREST.iter_descendants(E)) == []


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
