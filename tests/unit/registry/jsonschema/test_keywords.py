"""Where JSON Schema keywords apply."""

import pytest

from registry.jsonschema import dialect


@pytest.mark.parametrize(
    ("ref", "target"),
    [
        ("#", "root"),
        ("#/$defs/a", "a"),
        ("#/$defs/a~1b", "slash"),
        ("#/$defs/a%20b", "space"),
        ("#/$defs/list/1", "second"),
        ("#/$defs/list/2", None),
        ("#/$defs/none", None),
        ("#name", None),
    ],
)
def test_resolve_follows_a_json_pointer(ref: str, target: str | None) -> None:
    defs = {"a": "a", "a/b": "slash", "a b": "space", "list": ["first", "second"]}
    root = {"$defs": defs}

    assert dialect.resolve_ref(root, ref) == (root if target == "root" else target)
