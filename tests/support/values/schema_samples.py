"""Sample argument schemas, and a strategy for more."""

from typing import Any

from hypothesis import strategies as st

from tests.support.rows.op_entries import build_schema

LIST = build_schema(head={"$ref": "#/$defs/node"}) | {
    "$defs": {"node": {"type": "object", "properties": {"value": {}, "next": {"$ref": "#/$defs/node"}}}}
}


TREE = build_schema(root={"$ref": "#/$defs/node"}) | {
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
    schemas_by_name = st.dictionaries(st.sampled_from("abde"), inner, max_size=3)
    optional_keywords = {
        **dict.fromkeys(("not", "if", "then", "items", "contains", "additionalProperties", "propertyNames"), inner),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), inner),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), many),
        **dict.fromkeys(
            ("properties", "$defs", "dependentSchemas", "dependencies", "patternProperties"), schemas_by_name
        ),
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
    return st.fixed_dictionaries({}, optional=optional_keywords) | st.booleans() | JSON


SCHEMAS = st.recursive(st.just({}), _keywords, max_leaves=12).map(
    lambda schema_dict: {**schema_dict, "type": "object"} if isinstance(schema_dict, dict) else schema_dict
)
