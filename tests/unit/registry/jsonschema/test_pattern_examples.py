"""Examples instead of patterns."""

import re
from typing import Any

from registry.catalog.builder import build_catalog
from registry.files import loader
from registry.help import help_pages
from registry.jsonschema.pattern_examples import replace_patterns
from tests.support.loops import for_each

CODE = "^[A-Z]{3}$"


@for_each(
    "schema, examples",
    [
        ({"pattern": r"^project(\.[a-z]+){2}$", "description": "Type, such as project.business.launch"}, ...),
        ({"pattern": r"^project(\.[a-z]+){2}$", "description": "project.business.launch if left out"}, ...),
        ({"pattern": r"^project(\.[a-z]+){2}$", "default": "project.business.launch"}, ...),
        # No word of a sentence is an example, though it matches.
        ({"pattern": "^[a-z-]+$", "description": "Name for addresses, such as spring-launch."}, ["spring-launch"]),
        ({"pattern": CODE, "description": "Currency"}, ["ABC"]),
        ({"pattern": r"^(goal|plan)\.[a-z_]+(\.[a-z_]+)?$"}, ["goal.name"]),
        ({"pattern": "^spaces/[0-9]+$"}, ["spaces/1"]),
        # What does not match is no example.
        ({"pattern": CODE, "description": "Currency, such as Euro"}, ["ABC"]),
        # Nothing matches, or the pattern is not valid: it stays.
        ({"pattern": "^x{3}-y{5}-(one|two)$"}, None),
        ({"pattern": "("}, None),
    ],
)
def test_pattern_is_shown_as_a_value_that_it_takes(schema: dict[str, Any], examples: Any) -> None:
    shown = replace_patterns({"type": "string", **schema})

    if examples is None:
        assert shown == {"type": "string", **schema}
    else:
        assert shown.get("examples") == (["project.business.launch"] if examples is ... else examples)
        assert "pattern" not in shown


def test_patterns_of_members_are_replaced_but_no_values() -> None:
    code = {"type": "string", "pattern": CODE}
    schema = {"properties": {"pattern": code, "list": {"items": code}}, "default": {"pattern": CODE}}

    shown = replace_patterns(schema)

    example = {"type": "string", "examples": ["ABC"]}
    assert shown == {"properties": {"pattern": example, "list": {"items": example}}, "default": {"pattern": CODE}}


def test_known_values_are_the_examples() -> None:
    assert replace_patterns({"pattern": CODE}, ["USD", "EUR"]) == {"examples": ["USD", "EUR"]}


def test_help_on_no_argument_of_the_shipped_ops_shows_a_pattern() -> None:
    for op in build_catalog("v" * 64, loader.read_shipped_catalog()).ops.values():
        for name, argument in op.arguments.items():
            shown = help_pages.build_argument_body(op, name)["arg"]

            assert "pattern" not in str(shown).replace("recurrence_pattern", ""), (op.op, name)
            if "pattern" in argument:
                assert all(re.search(argument["pattern"], each) for each in shown["examples"])
