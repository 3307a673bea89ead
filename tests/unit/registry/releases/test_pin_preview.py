"""The preview of a pin on its admin page: tools, tokens, problems, and how it differs from live."""

from typing import Any

import pytest

from registry.catalog.builder import build_catalog
from registry.releases import preview
from registry.releases.preview import DraftState
from registry.snapshot import snapshot
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db

PIN: dict[str, Any] = {
    "surface": "hybrid",
    "context": "*",
    "model_family": "*",
    "ops": ["onto.task.add"],
    "max_tokens": 500,
}


def test_preview_has_tools_with_their_tokens_and_compares_with_live() -> None:
    op = make_op("onto.task.add", description="Before it, call onto.task.find.")  # shown by its tool name
    ops = [
        snapshot.op_to_entry(each)
        for each in (op, make_op("onto.task.find", tool_name="find_tasks_by_their_words_and_dates"))
    ]
    live = build_catalog("v" * 64, {"groups": [], "ops": ops, "pins": [PIN]})

    same = preview.preview_pin(PIN, live=live)
    other = preview.preview_pin(PIN | {"max_tokens": 600}, live=live)
    new = preview.preview_pin(PIN, live=None)

    assert op.tool_name.encode() in same.answer.body
    assert same.answer.tokens == same.answer.live_tokens
    assert [each.draft_state for each in (same, other, new)] == [DraftState.LIVE, DraftState.CHANGED, DraftState.NEW]
    assert same.findings == []


def test_preview_finds_unknown_ops_and_too_many_tokens() -> None:
    make_op("onto.task.add")

    found = preview.preview_pin(PIN | {"ops": ["onto.task.add", "onto.nothing"], "max_tokens": 50}, live=None)

    assert {finding.rule for finding in found.findings} >= {"ops_unknown"}
