"""Argument schemas that tests of several modules use, and a strategy that draws more of them."""

from typing import Any

from hypothesis import strategies as st

from tests.support.op_entries import schema

LIST = schema(head={"$ref": "#/$defs/node"}) | {
    "$defs": {"node": {"type": "object", "properties": {"value": {}, "next": {"$ref": "#/$defs/node"}}}}
}


TREE = schema(root={"$ref": "#/$defs/node"}) | {
    "$defs": {
        "node": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "left": {"$ref": "#/$defs/node"},
                "right": {"$ref": "#/$defs/node"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        }
    }
}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


REFS = st.sampled_from(["#", "#/properties/a", "#/properties/b", "#/$defs/d", "#/$defs/e", "#/allOf/0", "#x", "x", "²"])


def _keywords(inner: Any) -> Any:
    many = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(st.sampled_from("abde"), inner, max_size=3)
    known = {
        **dict.fromkeys(("not", "if", "then", "items", "contains", "additionalProperties", "propertyNames"), inner),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), inner),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), many),
        **dict.fromkeys(("properties", "$defs", "dependentSchemas", "dependencies", "patternProperties"), named),
        "$ref": REFS,
        "required": st.lists(st.sampled_from("abcd"), max_size=2, unique=True),
        "type": st.sampled_from(["object", "array", "string", "integer", "nonsense"]),
        "enum": st.lists(JSON, max_size=3),
        "uniqueItems": st.just(True),
        "pattern": st.sampled_from(["^(a+)+$", "(?=a)", "[", "a{1000}"]),
        "minimum": st.integers() | st.floats(),
        "x-aliases": JSON,
        "x-refused": JSON,
    }
    return st.fixed_dictionaries({}, optional=known) | st.booleans() | JSON


SCHEMAS = st.recursive(st.just({}), _keywords, max_leaves=12).map(
    lambda made: {**made, "type": "object"} if isinstance(made, dict) else made
)
