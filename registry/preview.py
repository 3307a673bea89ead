"""Preview copy as a model will read it, saved or not: the help answers, their tokens, and the findings."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import orjson

from core import canonical
from registry import budget, catalogs, changes, checks, comparison, help, schemas
from registry.catalogs import Catalog, CatalogOp
from registry.changes import Kind
from registry.checks import Context, Finding
from registry.comparison import Passage
from registry.help import HelpQuery
from registry.models import PromptSection

NEEDED = ("op", "tool_name", "kind", "summary")  # required in an entry; a form may not have them yet


class Standing(StrEnum):
    """How an entry differs from the live release."""

    NEW = "new"  # not live yet
    CHANGED = "changed"
    LIVE = "live"  # the same as the live entry


@dataclass(frozen=True, slots=True)
class Answer:
    """One help answer as it would be sent, with its size compared to the live one."""

    body: bytes
    tokens: int
    live: int | None  # tokens of the live answer, None if there is none

    @property
    def more(self) -> int | None:
        """Tokens more than the live answer (negative: fewer); None if nothing is live."""
        return None if self.live is None else self.tokens - self.live


@dataclass(frozen=True, slots=True)
class Preview:
    """An op as a model would read it. The findings report what cannot be shown yet."""

    entry: dict[str, Any]
    answers: Mapping[str, Answer]  # by form: short, full and, if it has arguments, arg
    arguments: tuple[str, ...]
    argument: str  # the argument that the `arg` answer describes, empty if there is none
    is_whole: bool  # False if its arguments or some examples cannot be shown yet
    findings: list[Finding]
    passages: tuple[Passage, ...]  # differences from live in its full help
    standing: Standing


def of_entry(
    entry: dict[str, Any], *, context: Context, live: Catalog | None, was: str = "", argument: str = ""
) -> Preview:
    """Return the preview of an op's entry (see registry.snapshot), which may be invalid.

    `was` is the op's path in the draft, which the entry may change. `argument` is the argument to show.
    """
    entry = {**dict.fromkeys(NEEDED, ""), **entry}
    context = context.without(was) if was not in ("", entry["op"]) else context
    shown = _showable(entry)
    now, before = _served(shown), live.ops.get(was or entry["op"]) if live else None
    answers = {}
    arguments = tuple(now.arguments) if now else ()
    argument = argument if argument in arguments else next(iter(arguments), "")
    if now is not None:
        answers = {form: _answer(now, before, query) for form, query in _queries(argument).items()}
    return Preview(
        entry=entry,
        answers=answers,
        arguments=arguments,
        argument=argument,
        is_whole=now is not None and shown == entry,
        findings=checks.check_entry(entry, context),
        passages=comparison.passages(_full(before), _full(now)),
        standing=_standing(now, before),
    )


@dataclass(frozen=True, slots=True)
class TextPreview:
    """A group as it appears in its parent's list, or a prompt section as it is sent."""

    entry: dict[str, Any]
    answer: Answer
    findings: list[Finding]
    standing: Standing


def of_text(kind: Kind, entry: dict[str, Any], *, live: Catalog | None, was: str = "") -> TextPreview:
    """Return the preview of a group's or prompt section's entry. `was` is its name in the draft."""
    now, before = _text(kind, entry), _live_text(kind, was or changes.name_of(kind, entry), live)
    is_read = entry.get("status", PromptSection.Status.ACTIVE) == PromptSection.Status.ACTIVE
    alone = {"groups": [entry], "ops": []} if kind == Kind.GROUP else {"groups": [], "ops": [], "sections": [entry]}
    return TextPreview(
        entry=entry,
        answer=Answer(now, budget.size_of(now), None if before is None else budget.size_of(before)),
        findings=[*_named_elsewhere(kind, entry, live), *checks.warnings(alone, {})],
        standing=Standing.NEW if before is None else Standing.LIVE if is_read and now == before else Standing.CHANGED,
    )


def _named_elsewhere(kind: Kind, entry: dict[str, Any], live: Catalog | None) -> Iterator[Finding]:
    if kind == Kind.SECTION and live is not None:
        ops = ({"op": op.op, "tool_name": op.tool_name} for op in live.ops.values())
        yield from checks.off_surface(entry, list(ops))


def _text(kind: Kind, entry: Mapping[str, Any]) -> bytes:
    read = ("path", "summary") if kind == Kind.GROUP else ("name", "title", "text")
    return orjson.dumps({name: entry[name] for name in read})


def _live_text(kind: Kind, name: str, live: Catalog | None) -> bytes | None:
    """Return the live text of a group or prompt section, or None."""
    if live is None:
        return None
    if kind == Kind.GROUP:
        return _text(kind, {"path": name, "summary": live.groups[name]}) if name in live.groups else None
    prompt, _, wanted = name.partition("/")
    found = (section for section in live.prompts.get(prompt, ()) if section.name == wanted)
    return next((_text(kind, asdict(section)) for section in found), None)


def _queries(argument: str) -> dict[str, HelpQuery]:
    queries = {"short": HelpQuery(), "full": HelpQuery(format="full")}
    return queries | ({"arg": HelpQuery(arg=argument)} if argument else {})


def _showable(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry without what help cannot show: an invalid schema, and examples whose args are not an object."""
    schema = entry["parameters_schema"]
    examples = [example for example in entry.get("examples", []) if isinstance(example["args"], dict)]
    if schemas.problems(schema):
        schema = schemas.no_arguments()
    return entry | {"parameters_schema": schema} | ({"examples": examples} if "examples" in entry else {})


def _served(entry: dict[str, Any]) -> CatalogOp | None:
    """Return the op as it would be served; None if no release could store it."""
    try:
        return catalogs.op_of(orjson.loads(canonical.dumps(entry)))
    except ValueError:  # text or a number that JSON cannot carry
        return None


def _answer(now: CatalogOp, before: CatalogOp | None, query: HelpQuery) -> Answer:
    body, live = help.of_op(now, query).body, None
    if before is not None and before.is_active and (query.arg is None or query.arg in before.arguments):
        live = budget.size_of(help.of_op(before, query).body)
    return Answer(body, budget.size_of(body), live)


def _full(op: CatalogOp | None) -> dict[str, Any]:
    """Return the body of an op's full help; empty if the op is missing or retired."""
    if op is None or not op.is_active:
        return {}
    found: dict[str, Any] = orjson.loads(help.of_op(op, HelpQuery(format="full")).body)
    return found


def _standing(now: CatalogOp | None, before: CatalogOp | None) -> Standing:
    if before is None:
        return Standing.NEW
    # Comparing with == is not enough: in Python True == 1, and a default may change from one to the other.
    same = now == before and canonical.dumps(_full(now)) == canonical.dumps(_full(before))
    return Standing.LIVE if same else Standing.CHANGED
