"""Names of the rows in results, by id, so that a chat can say "Draft the homepage copy" where a call has an id."""

from collections.abc import Iterator
from typing import Any

MAX_NAME_CHARS = 200
LABELS = ("name", "title", "text")  # a requirement has a text


def collect_names(value: Any) -> dict[str, str]:
    """Return {id: name} of all rows inside a result or envelope."""
    return dict(_find_names(value))


def get_label(row: Any) -> str:
    """Return the name of a row, or an empty string."""
    return next((row[label] for label in LABELS if isinstance(row.get(label), str) and row[label]), "")


def _find_names(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _find_names(each)
    elif isinstance(value, dict):
        yield from _get_own_names(value)
        for each in value.values():
            yield from _find_names(each)


def _get_own_names(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    pairs = (
        (row.get("id"), get_label(row)),
        (row.get("project_id"), row.get("project_name")),
        (row.get("entity_id"), row.get("entity_name")),
    )
    by_name = row.get("project_ids")
    named = ((id, name) for name, id in by_name.items()) if isinstance(by_name, dict) else ()
    for id, name in (*named, *pairs):
        if isinstance(id, str) and isinstance(name, str) and id and name:
            yield id, name[:MAX_NAME_CHARS]
