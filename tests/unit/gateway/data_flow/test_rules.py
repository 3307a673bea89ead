"""Rules of data flow as sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.data_flow.rules import (
    GATEWAY_RULES,
    BadRule,
    FlowEffect,
    FlowRule,
    FlowTarget,
    format_rules,
    parse_rules,
)
from registry.flow_labels import FlowLabel
from tests.support.loops import for_each

rules = st.builds(
    FlowRule,
    st.sampled_from([FlowLabel.UNTRUSTED, FlowLabel.PRIVATE]),
    st.sampled_from(FlowEffect),
    st.sampled_from(FlowTarget),
    elsewhere=st.booleans(),
)


@given(st.lists(rules, max_size=20))
def test_rules_are_read_as_they_are_written(written: list[FlowRule]) -> None:
    assert parse_rules(format_rules(written)) == tuple(written)


def test_spaces_case_and_a_full_stop_make_no_difference() -> None:
    assert parse_rules("\n  After  untrusted, ask before OUTBOUND.\n\n") == GATEWAY_RULES[:1]


@for_each(
    "text, message",
    [
        ("after outbound, refuse private", "“after outbound, refuse private” is not a rule. Write: after untrusted"),
        ("after private, refuse outbound\nallow all", "“allow all” is not a rule."),
        ("after private, refuse outbound\n" * 21, "21 rules; the limit is 20."),
    ],
)
def test_a_line_that_is_no_rule_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(BadRule) as refused:
        parse_rules(text)
    assert message in str(refused.value)
