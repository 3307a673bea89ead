"""Snapshots: the draft as one JSON value, which a release freezes and the checks read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from core import canonical_json
from registry.models import Example, Group, Op, OpAlias, PolicyRule, PromptSection

POLICY_KINDS = (PolicyRule.Kind.DO, PolicyRule.Kind.DONT, PolicyRule.Kind.EDGE_CASE)
POLICY_KEYS = {"do": "do", "dont": "dont", "edge_case": "edge_cases"}

# The fields of an op that are copied unchanged, in reading order.
OP_FIELDS = (
    *("op", "tool_name", "upstream_name", "kind", "entity", "action", "category", "contexts", "summary"),
    *("description", "notes"),
    *(
        "keywords",
        "parameters_schema",
        "argument_aliases",
        "display_only",
        "needs_subject",
        "confirm",
        "without_id",
        "timeout_ms",
        "status",
    ),
    "successor",
)

# The values of fields that an entry leaves out.
FIELD_DEFAULTS: dict[str, Any] = {"policy": {}, "argument_aliases": {}, "needs_subject": True}
FIELD_DEFAULTS |= {"timeout_ms": 30_000, "status": Op.Status.ACTIVE, "confirm": False}
FIELD_DEFAULTS |= {name: [] for name in ("contexts", "keywords", "display_only", "examples", "aliases")}

# The fields of an op that checks of other ops need: names, purpose and arguments.
OUTLINE_FIELDS = (
    *("op", "tool_name", "kind", "summary", "parameters_schema", "argument_aliases", "display_only"),
    *("status", "successor"),
)

EXAMPLE_FIELDS = ("title", "args", "note")
SECTION_FIELDS = ("prompt", "name", "position", "title", "text", "status")


def snapshot_draft() -> dict[str, Any]:
    """Return the draft as {format, groups, ops, sections}, sorted, without empty fields. Takes six queries."""
    groups = [{"path": path, "summary": summary} for path, summary in Group.objects.values_list("path", "summary")]
    sections = sorted(
        map(section_to_entry, PromptSection.objects.all()), key=lambda each: (each["prompt"], each["name"])
    )
    content: dict[str, Any] = {
        "format": 1,
        "groups": sorted(groups, key=lambda group: group["path"]),
        "ops": sorted(_iterate_op_entries(), key=lambda op: str(op["op"])),
    }
    # Left out if empty, so that drafts from before prompt sections existed keep their version.
    return content | ({"sections": sections} if sections else {})


def outline_draft() -> dict[str, Any]:
    """Return the draft like `draft`, but only OUTLINE_FIELDS and aliases of ops, and no sections. Takes three queries.

    It needs a third of the time and half of the memory, which matters when checking one op against thousands.
    """
    aliases: dict[int, list[str]] = defaultdict(list)
    for op, name in OpAlias.objects.order_by("name").values_list("op_id", "name"):
        aliases[op].append(name)
    rows = Op.objects.order_by("op").values_list("pk", *OUTLINE_FIELDS)
    entries = ((pk, dict(zip(OUTLINE_FIELDS, values, strict=True))) for pk, *values in rows)
    ops = [entry | ({"aliases": aliases[pk]} if pk in aliases else {}) for pk, entry in entries]
    groups = [{"path": path, "summary": summary} for path, summary in Group.objects.values_list("path", "summary")]
    return {"format": 1, "groups": groups, "ops": ops}


def op_to_entry(op: Op) -> dict[str, Any]:
    """Return one op as an entry, the form it has in a release and in the shipped YAML."""
    aliases = (alias.name for alias in op.aliases.all())
    return op_to_entry_with(op, rules=op.rules.all(), examples=op.examples.all(), aliases=aliases)


def op_to_entry_with(
    op: Op, *, rules: Iterable[PolicyRule], examples: Iterable[Example], aliases: Iterable[str]
) -> dict[str, Any]:
    """Return the op as an entry, like `entry`, but with these rules, examples (in order) and aliases."""
    fields = {field: getattr(op, field) for field in OP_FIELDS}
    fields["connection"] = op.connection.name if op.connection else ""
    example_entries = [{field: getattr(example, field) for field in EXAMPLE_FIELDS} for example in examples]
    return _build_op_entry(fields, [(rule.kind, rule.text) for rule in rules], example_entries, list(aliases))


def _iterate_op_entries() -> Iterator[dict[str, Any]]:
    """Yield the entry of every op, like `entry`, without building ORM objects for rules, examples and aliases."""
    rules, examples, aliases = defaultdict(list), defaultdict(list), defaultdict(list)
    for op, kind, text in PolicyRule.objects.values_list("op_id", "kind", "text"):
        rules[op].append((kind, text))
    for example in Example.objects.values("op_id", *EXAMPLE_FIELDS):
        examples[example.pop("op_id")].append(example)
    for op, name in OpAlias.objects.values_list("op_id", "name"):
        aliases[op].append(name)
    for fields in Op.objects.values("pk", *OP_FIELDS, "connection__name"):
        op, fields["connection"] = fields.pop("pk"), fields.pop("connection__name") or ""
        yield _build_op_entry(fields, rules[op], examples[op], aliases[op])


def _build_op_entry(
    fields: dict[str, Any], rules: list[tuple[str, str]], examples: list[dict[str, Any]], aliases: list[str]
) -> dict[str, Any]:
    policy: dict[str, list[str]] = {}
    for kind, text in rules:
        policy.setdefault(POLICY_KEYS[kind], []).append(text)
    fields["policy"] = policy
    fields["examples"] = [_drop_empty(example, keep=("args",)) for example in examples]
    fields["aliases"] = sorted(aliases)
    return _drop_empty(fields, keep=("needs_subject", "parameters_schema"))


def section_to_entry(section: PromptSection) -> dict[str, Any]:
    """Return one prompt section as an entry, the form it has in a release and in the shipped YAML."""
    return {field: getattr(section, field) for field in SECTION_FIELDS}


def compute_version(content: dict[str, Any]) -> str:
    """Return the version of a release with this content: its hash."""
    return canonical_json.digest(content)


def get_value(entry: dict[str, Any], name: str) -> Any:
    """Return the value of an entry's field, or the default if the entry leaves it out."""
    return entry.get(name, FIELD_DEFAULTS.get(name, ""))


def get_section_name(section: dict[str, Any]) -> str:
    """Return the name that identifies a prompt section: prompt/name."""
    return f"{section['prompt']}/{section['name']}"


def _drop_empty(fields: dict[str, Any], keep: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value or key in keep}
