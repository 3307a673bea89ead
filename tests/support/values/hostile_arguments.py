"""Args for any op, drawn by Hypothesis from the op's schema: some valid, some invalid, most nearly valid."""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
NameId = Callable[[str], st.SearchStrategy[str]]  # the strategy for an id argument of that name

TIMES = {
    "date-time": ["2026-03-01T09:00:00Z", "2026-04-01T17:00:00+02:00"],
    "iso-date-time": ["2026-03-01T09:00", "2026-03-29T02:30:00", "2026-04-01T17:00:00+02:00", "9999-12-31T23:59"],
    "iso-date-or-date-time": ["2026-03-01T09:00", "2026-03-02T10:00:00Z", "2026-03-02", "2026-03-05"],
    "date": ["2026-03-01", "2026-04-01"],
}


def draw_arguments(draw: Draw, schema: dict[str, Any], *, ids: NameId, texts: st.SearchStrategy[str]) -> dict[str, Any]:
    """Return an object with all required and some optional arguments. Ids and texts come from the strategies."""
    properties, required = schema.get("properties", {}), set(schema.get("required", []))
    chosen = [name for name in properties if name in required or draw(st.integers(0, 2)) == 0]
    return {name: _draw_value(draw, name, properties[name], ids=ids, texts=texts) for name in chosen}


def iterate_id_slots(schema: dict[str, Any], *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each argument that takes an id, at every level, with 0 for the items of a list."""
    for name, argument in schema.get("properties", {}).items():
        yield from _iterate_slots(argument, *above, name)


def _iterate_slots(schema: dict[str, Any], *path: str | int) -> Iterator[tuple[str | int, ...]]:
    if schema.get("format") == "uuid":
        yield path
    if "items" in schema:
        yield from _iterate_slots(schema["items"], *path, 0)
    yield from iterate_id_slots(schema, *path)


def _draw_value(draw: Draw, name: str, schema: dict[str, Any], *, ids: NameId, texts: st.SearchStrategy[str]) -> Any:
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema.get("type", "object")
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    if kind == "array":
        least, most = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
        items = schema.get("items", {"type": "string"})
        return [_draw_value(draw, name, items, ids=ids, texts=texts) for _ in range(draw(st.integers(least, most)))]
    if kind == "object":
        return draw_arguments(draw, schema, ids=ids, texts=texts) if "properties" in schema else {"note": draw(texts)}
    if kind == "string":
        return _draw_text(draw, name, schema, ids=ids, texts=texts)
    return draw(_build_scalar_strategy(kind, schema))


def _draw_text(draw: Draw, name: str, schema: dict[str, Any], *, ids: NameId, texts: st.SearchStrategy[str]) -> str:
    format = schema.get("format", "")
    if format == "uuid":
        return str(draw(ids(name)))
    if format in TIMES:
        return str(draw(st.sampled_from(TIMES[format])))
    if "pattern" in schema:
        return str(draw(st.from_regex(schema["pattern"], fullmatch=True)))[: schema.get("maxLength", 100)]
    return str(draw(texts))[: schema.get("maxLength", 100)]


def _build_scalar_strategy(kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    least, most = schema.get("minimum"), schema.get("maximum")
    return {
        "integer": st.integers(least if least is not None else 0, most if most is not None else 100),
        "number": st.floats(least if least is not None else 0, most if most is not None else 100),
        "boolean": st.booleans(),
        "null": st.none(),
    }[kind]
