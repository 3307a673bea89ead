from tests.support.loops import for_each
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.services.entities import duplicates


@for_each(
    "kind, word, meant",
    [
        ("task", "done", "done"),
        ("task", "completed", "done"),
        ("task", "In Progress", "in_progress"),
        ("task", "active", "in_progress"),
        ("task", "cancelled", None),
        ("task", "published", None),
        ("goal", "todo", "draft"),
        ("goal", "in-progress", "active"),
        ("goal", "done", "achieved"),
        ("goal", "cancelled", "abandoned"),
        ("plan", "in_progress", "active"),
        ("plan", "finished", "completed"),
        ("milestone", "todo", "pending"),
        ("milestone", "achieved", "completed"),
        ("risk", "open", "identified"),
        ("risk", "done", "closed"),
        ("risk", "mitigated", "mitigated"),
        ("document", "todo", "draft"),
        ("document", "done", None),
        ("requirement", "done", None),
    ],
)
def test_alias_maps_to_a_state(kind: str, word: str, meant: str | None) -> None:
    assert duplicates.resolve_state(word, ENTITY_TYPE_BY_NAME[kind]) == meant


@for_each("kind", ENTITY_TYPE_BY_NAME.values())
def test_states_of_a_kind_share_no_alias(kind: object) -> None:
    for words in duplicates.STATE_ALIASES:
        assert len(words & set(duplicates.list_states(kind))) <= 1  # type: ignore[arg-type]


def test_each_alias_is_defined_once() -> None:
    assert sum(map(len, duplicates.STATE_ALIASES)) == len(frozenset().union(*duplicates.STATE_ALIASES))
