"""Where an answer of a service has the id and the name of the row that it is about.

An op says so with two paths of names joined by dots: {"id": "order.id", "name": "order.title"}. An import finds them in
the schema of the answer. Without them, they are looked for in the answer itself, in the same way.
"""

from collections.abc import Mapping
from typing import Any

NAMES = ("name", "title", "display_name", "full_name", "label", "subject", "summary", "number")
IDS = ("id", "uuid", "guid", "key")
WRAPPERS = ("data", "result", "item", "resource", "value")  # names of the object that holds the row, after the entity
MAX_ID, MAX_NAME = 200, 300  # characters

Outline = Mapping[str, Any]  # the members of an answer; those that are objects with theirs, the others with None


def find_row(outline: Outline, entity: str) -> dict[str, str]:
    """Return the paths of id and name. Empty if the answer is not about one row: a list, or several objects."""
    if paths := _find_members(outline, entity):
        return paths
    inner = {name: members for name, members in outline.items() if isinstance(members, dict)}
    if not inner:
        return {}
    known = [name for name in inner if _normalise(name) in (_normalise(entity), *WRAPPERS)]
    for name in known or (inner if len(inner) == 1 else ()):
        paths = _find_members(inner[name], entity) or (find_row(inner[name], entity) if name in known else {})
        if paths:
            return {part: f"{name}.{path}" for part, path in paths.items()}
    return {}


def read_row(result: Mapping[str, Any], paths: Mapping[str, str], entity: str) -> tuple[str, str]:
    """Return the id and the name of the row of an answer, each empty if it has none."""
    paths = paths or find_row(_outline(result), entity)
    if not paths:
        return "", ""
    id, name = (_read_path(result, paths.get(part, "")) for part in ("id", "name"))
    is_id = isinstance(id, str | int) and not isinstance(id, bool)
    return str(id)[:MAX_ID] if is_id else "", name[:MAX_NAME] if isinstance(name, str) else ""


def _find_members(members: Outline, entity: str) -> dict[str, str]:
    """Return the names of the members with id and name; empty without an id."""
    plain = {  # _normalise without a call for each name
        name.replace("_", "").replace("-", "").lower(): name
        for name, inner in members.items()
        if inner is None and "." not in name
    }
    own = _normalise(entity)
    id = next((plain[each] for each in (*_PLAIN_IDS, f"{own}id", f"{own}key") if each in plain), "")
    if not id:
        return {}
    name = next((plain[each] for each in (*_PLAIN_NAMES, f"{own}name", f"{own}title") if each in plain), "")
    return {"id": id, "name": name} if name else {"id": id}


def _normalise(name: str) -> str:
    """Return a name without the differences of spelling: orderId and order_id as orderid."""
    return name.replace("_", "").replace("-", "").lower()


_PLAIN_IDS, _PLAIN_NAMES = tuple(map(_normalise, IDS)), tuple(map(_normalise, NAMES))


def _outline(value: Mapping[str, Any], depth: int = 3) -> dict[str, Any]:
    return {
        name: _outline(inner, depth - 1) if isinstance(inner, dict) and depth else None
        for name, inner in value.items()
        if not isinstance(inner, list | tuple)
    }


def _read_path(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
