"""Preview copy or a pin as a model will read it: help, tool definitions, tokens and findings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, cast

from core.text import json_text, token_budget
from registry import checks
from registry.catalog import builder
from registry.catalog.model import Catalog, CatalogDomain, CatalogOp, CatalogPin
from registry.checks import CheckContext, Finding
from registry.drafts import draft
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.help.typed_tools import TypedTool, TypedTools, build_tools
from registry.jsonschema import dialect, schema_check
from registry.models import PromptSection
from registry.releases import help_diff
from registry.releases.help_diff import ChangedPassage
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.entries import Entry, OpEntry, PinEntry, SectionEntry, Snapshot
from registry.vocabulary import NO_VOCABULARY, CatalogVocabulary

REQUIRED_FIELDS = ("op", "tool_name", "kind", "summary")  # required in an entry; a form may not have them yet


class DraftState(StrEnum):
    """How an entry differs from the live release."""

    NEW = "new"  # not live yet
    CHANGED = "changed"
    LIVE = "live"  # the same as the live entry


@dataclass(frozen=True, slots=True)
class AnswerPreview:
    """One help answer as it would be sent, with its size compared to the live one."""

    body: bytes
    tokens: int
    live_tokens: int | None  # tokens of the live answer, None if there is none

    @property
    def added_tokens(self) -> int | None:
        """Tokens more than the live answer (negative: fewer); None if nothing is live."""
        return None if self.live_tokens is None else self.tokens - self.live_tokens


@dataclass(frozen=True, slots=True)
class OpPreview:
    """An op as a model would read it. The findings report what cannot be shown yet."""

    entry: OpEntry
    answers: Mapping[str, AnswerPreview]  # by form: short, full and, if it has arguments, arg
    arguments: tuple[str, ...]
    argument: str  # the argument that the `arg` answer describes, empty if there is none
    is_complete: bool  # False if its arguments or some examples cannot be shown yet
    findings: list[Finding]
    passages: tuple[ChangedPassage, ...]  # differences from live in its full help
    draft_state: DraftState


def preview_op(
    entry: OpEntry, *, context: CheckContext, live: Catalog | None, was: str = "", argument: str = ""
) -> OpPreview:
    """Return the preview of an op's entry (see registry.snapshot.snapshot), which may be invalid.

    `was` is the op's path in the draft, which the entry may change. `argument` is the argument to show. Help on the op
    that runs agents also names them, those of each caller, which a preview has not.
    """
    entry = cast(OpEntry, {**dict.fromkeys(REQUIRED_FIELDS, ""), **entry})
    context = context.without_op(was) if was not in ("", entry["op"]) else context
    showable = _drop_unshowable(entry)
    draft_op = _to_catalog_op(showable, live.vocabulary if live else NO_VOCABULARY)
    live_op = live.ops.get(was or entry["op"]) if live else None
    answers = {}
    arguments = tuple(draft_op.arguments) if draft_op else ()
    argument = argument if argument in arguments else next(iter(arguments), "")
    if draft_op is not None:
        answers = {form: _build_answer(draft_op, live_op, query) for form, query in _build_queries(argument).items()}
    return OpPreview(
        entry=entry,
        answers=answers,
        arguments=arguments,
        argument=argument,
        is_complete=draft_op is not None and showable == entry,
        findings=checks.check_entry(entry, context),
        passages=help_diff.diff_help_bodies(_render_full_help(live_op), _render_full_help(draft_op)),
        draft_state=_compare_with_live(draft_op, live_op),
    )


@dataclass(frozen=True, slots=True)
class TextPreview:
    """An entry of copy other than an op, with the text that a model reads."""

    entry: Mapping[str, Any]
    answer: AnswerPreview
    findings: list[Finding]
    draft_state: DraftState


def preview_text(kind: Kind, entry: Entry, *, live: Catalog | None, was: str = "") -> TextPreview:
    """Return the preview of an entry other than an op. `was` is its name in the draft."""
    copy_kind = COPY_KINDS[kind]
    draft_text = _render_text(kind, entry)
    live_text = _render_live_text(kind, was or copy_kind.get_name(entry), live)
    is_active = entry.get("status", PromptSection.Status.ACTIVE) == PromptSection.Status.ACTIVE
    content = cast(Snapshot, {"groups": [], "ops": [], copy_kind.key: [entry]})
    return TextPreview(
        entry=entry,
        answer=AnswerPreview(
            draft_text,
            token_budget.count(draft_text),
            None if live_text is None else token_budget.count(live_text),
        ),
        findings=[*_find_off_surface_names(kind, entry, live), *checks.find_warnings(content, {})],
        draft_state=DraftState.NEW
        if live_text is None
        else DraftState.LIVE
        if is_active and draft_text == live_text
        else DraftState.CHANGED,
    )


def _find_off_surface_names(kind: Kind, entry: Entry, live: Catalog | None) -> Iterator[Finding]:
    if kind == Kind.SECTION and live is not None:
        tool_names = {op.op: op.tool_name for op in live.ops.values()}
        yield from checks.find_off_surface_names(cast(SectionEntry, entry), tool_names)


def _render_text(kind: Kind, entry: Mapping[str, Any]) -> bytes:
    return json_text.dump({name: entry[name] for name in COPY_KINDS[kind].read_fields if entry.get(name)})


def _render_live_text(kind: Kind, name: str, live: Catalog | None) -> bytes | None:
    """Return the live text of an entry, or None."""
    if live is None:
        return None
    entry = next((entry for entry in _iter_live_entries(kind, live) if COPY_KINDS[kind].get_name(entry) == name), None)
    return None if entry is None else _render_text(kind, entry)


def _iter_live_entries(kind: Kind, live: Catalog) -> Iterator[dict[str, Any]]:
    """Yield the live entries of one kind other than ops."""
    if kind == Kind.GROUP:
        domains = {domain.path: domain for domain in live.domains.values()}
        for path, summary in live.groups.items():
            yield {"path": path, "summary": summary} | _describe_discovery(domains.get(path), summary)
    elif kind == Kind.SECTION:
        for prompt, sections in live.prompts.items():
            yield from ({"prompt": prompt, **asdict(section)} for section in sections)
    else:
        yield from map(asdict, live.agents.values() if kind == Kind.AGENT else live.pins)


def _describe_discovery(domain: CatalogDomain | None, summary: str) -> dict[str, str]:
    if domain is None:
        return {}
    return {"discovery_name": domain.name, "discovery_summary": domain.summary if domain.summary != summary else ""}


def _build_queries(argument: str) -> dict[str, HelpQuery]:
    queries = {"short": HelpQuery(), "full": HelpQuery(format="full")}
    return queries | ({"arg": HelpQuery(arg=argument)} if argument else {})


def _drop_unshowable(entry: OpEntry) -> OpEntry:
    """Return the entry without what help cannot show: an invalid schema, and examples whose args are not an object."""
    schema = entry["parameters_schema"]
    examples = [example for example in entry.get("examples", []) if isinstance(example["args"], dict)]
    if schema_check.find_problems(schema):
        schema = dialect.build_empty_schema()
    showable: OpEntry = {**entry, "parameters_schema": schema}
    return {**showable, "examples": examples} if "examples" in entry else showable


def _to_catalog_op(entry: OpEntry, words: CatalogVocabulary) -> CatalogOp | None:
    """Return the op as it would be served; None if no release could store it."""
    try:
        return builder.build_op(json_text.load(json_text.canonicalize(entry)), words)
    except ValueError:  # text or a number that JSON cannot carry
        return None


def _build_answer(draft_op: CatalogOp, live_op: CatalogOp | None, query: HelpQuery) -> AnswerPreview:
    body, live_tokens = help_pages.answer_about_op(draft_op, query).body, None
    if live_op is not None and live_op.is_active and (query.arg is None or query.arg in live_op.arguments):
        live_tokens = token_budget.count(help_pages.answer_about_op(live_op, query).body)
    return AnswerPreview(body, token_budget.count(body), live_tokens)


def _render_full_help(op: CatalogOp | None) -> dict[str, Any]:
    """Return the body of an op's full help; empty if the op is missing or retired."""
    if op is None or not op.is_active:
        return {}
    body: dict[str, Any] = json_text.load(help_pages.answer_about_op(op, HelpQuery(format="full")).body)
    return body


def _compare_with_live(draft_op: CatalogOp | None, live_op: CatalogOp | None) -> DraftState:
    if live_op is None:
        return DraftState.NEW
    # Comparing with == is not enough: in Python True == 1, and a default may change from one to the other.
    is_same = draft_op == live_op and json_text.canonicalize(_render_full_help(draft_op)) == json_text.canonicalize(
        _render_full_help(live_op)
    )
    return DraftState.LIVE if is_same else DraftState.CHANGED


def preview_pin(entry: PinEntry, *, live: Catalog | None, was: str = "") -> TextPreview:
    """Return the preview of a pin's entry. `was` is its name in the draft."""
    name = COPY_KINDS[Kind.PIN].get_name(entry)
    rows = draft.get_rows(Kind.OP, entry["ops"])
    content = Snapshot(groups=[], ops=[snapshot.op_to_entry(row) for row in rows.values()], pins=[entry])
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
        draft_state=_compare_pin_with_live(entry, live_pin, is_same=draft_tokens == live_tokens),
    )


def _find_live_pin(live: Catalog | None, name: str) -> CatalogPin | None:
    pins = live.pins if live else ()
    return next((pin for pin in pins if f"{pin.surface}/{pin.context}/{pin.model_family}" == name), None)


def _count_tokens(paths: Iterable[str], tools: Mapping[str, TypedTool]) -> dict[str, int]:
    """Return {tool name: tokens of its definition} of the ops that exist."""
    return {tools[path].name: tools[path].tokens for path in paths if path in tools}


def _compare_pin_with_live(entry: PinEntry, live_pin: CatalogPin | None, *, is_same: bool) -> DraftState:
    if live_pin is None:
        return DraftState.NEW
    is_live = is_same and list(live_pin.ops) == entry["ops"] and live_pin.max_tokens == entry["max_tokens"]
    return DraftState.LIVE if is_live else DraftState.CHANGED
