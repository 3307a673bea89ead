"""Preview a pin: the tools that it shows, with the tokens of their definitions."""

from collections.abc import Iterable, Mapping
from typing import Any

from core.text import json_text
from registry import checks
from registry.catalog import builder
from registry.catalog.model import Catalog, CatalogPin
from registry.drafts import draft
from registry.help.typed_tools import TypedTool, TypedTools, build_tools
from registry.releases.preview import AnswerPreview, DraftState, TextPreview
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind


def preview_pin(entry: dict[str, Any], *, live: Catalog | None, was: str = "") -> TextPreview:
    """Return the preview of a pin's entry. `was` is its name in the draft."""
    name = COPY_KINDS[Kind.PIN].get_name(entry)
    rows = draft.get_rows(Kind.OP, entry["ops"])
    content = {"groups": [], "ops": [snapshot.op_to_entry(row) for row in rows.values()], "pins": [entry]}
    served = json_text.load(json_text.canonicalize(content))  # in the key order in which a release is served
    ops = builder.build_catalog("", served).ops.values()
    draft_tokens = _count_tokens(entry["ops"], build_tools(ops, [*(live.ops.values() if live else ()), *ops]))
    live_pin = _find_live_pin(live, was or name)
    live_tokens = _count_tokens(live_pin.ops, TypedTools.of(live)) if live and live_pin else None
    return TextPreview(
        entry=entry,
        answer=AnswerPreview(
            body=json_text.dump({"tools": [{"name": tool, "tokens": count} for tool, count in draft_tokens.items()]}),
            tokens=sum(draft_tokens.values()),
            live_tokens=None if live_tokens is None else sum(live_tokens.values()),
        ),
        findings=[
            *(finding for finding in checks.find_errors(content) if finding.op == name),
            *checks.find_warnings(content, {}, only=[name]),
        ],
        draft_state=_compare_with_live(entry, live_pin, is_same=draft_tokens == live_tokens),
    )


def _find_live_pin(live: Catalog | None, name: str) -> CatalogPin | None:
    pins = live.pins if live else ()
    return next((pin for pin in pins if f"{pin.surface}/{pin.context}/{pin.model_family}" == name), None)


def _count_tokens(paths: Iterable[str], tools: Mapping[str, TypedTool]) -> dict[str, int]:
    """Return {tool name: tokens of its definition} of the ops that exist."""
    return {tools[path].name: tools[path].tokens for path in paths if path in tools}


def _compare_with_live(entry: dict[str, Any], live_pin: CatalogPin | None, *, is_same: bool) -> DraftState:
    if live_pin is None:
        return DraftState.NEW
    is_live = is_same and list(live_pin.ops) == entry["ops"] and live_pin.max_tokens == entry["max_tokens"]
    return DraftState.LIVE if is_live else DraftState.CHANGED
