"""The table of copy: each kind of entry in a snapshot, its model, fields and name. A new kind of copy is one line here.

Ops are the exception: an op's entry also holds its rules, examples and aliases (see registry.snapshot.snapshot).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Model, TextChoices

from registry.models import Agent, Group, Op, Pin, PromptSection, Vocabulary
from registry.snapshot.entries import Entry, Snapshot
from registry.vocabulary import KEY as VOCABULARY_KEY
from registry.vocabulary import build_name


class Kind(TextChoices):
    """The kinds of copy, then those of other changes that its history lists. The audit log has them all."""

    OP = "op", "op"
    GROUP = "group", "group"
    SECTION = "section", "prompt section"
    AGENT = "agent", "agent"
    PIN = "pin", "pin"
    VOCABULARY = "vocabulary", "vocabulary entry"
    RELEASE = "release", "release"
    SWITCH = "switch", "switch"


CopyRow = Group | Op | PromptSection | Agent | Pin | Vocabulary

AGENTS_PATH = "agents"  # where help lists the agents
AGENT_PREFIX = f"{AGENTS_PATH}."
BATCH_PATH = "batch"  # where help explains loops in batches
SKILLS_PATH = "skills"  # kept free

# The fields of an op that are copied unchanged, in reading order.
OP_FIELDS = tuple(
    """
    op tool_name upstream_name kind entity action category contexts summary description notes keywords
    parameters_schema request result_fields result_row argument_aliases display_only needs_subject confirm
    flow_labels required_scope without_id timeout_ms status successor
""".split()
)


@dataclass(frozen=True, slots=True)
class CopyKind:
    """One kind of entry.

    `key` is the list that holds such entries in a snapshot and in YAML files. An entry's name is `name_prefix` and the
    values of `name_fields` that are not empty, joined by slashes, with their own slashes doubled. No two entries of a
    snapshot have the same name.
    `kept_fields` are in an entry even if they are empty. A model reads `read_fields`.
    """

    kind: Kind
    model: type[Model]
    key: str
    fields: tuple[str, ...]
    name_fields: tuple[str, ...]
    kept_fields: tuple[str, ...]
    read_fields: tuple[str, ...]
    singular: str
    plural: str
    name_prefix: str = ""
    instead_of_deleting: str = "Retire it"

    def explain_kept(self, name: str) -> str:
        """Return a sentence saying why a shipped entry cannot be deleted, and what to do instead."""
        return f"{name} is shipped and would come back with the next upgrade. {self.instead_of_deleting} instead."

    def get_name(self, entry: Mapping[str, Any]) -> str:
        """Return the name that identifies an entry of this kind."""
        parts = [str(entry.get(field, "")) for field in self.name_fields]
        return self.name_prefix + (build_name(*parts) if len(parts) > 1 else parts[0])

    def get_entries(self, content: Snapshot) -> list[Entry]:
        """Return the entries of this kind in a snapshot."""
        entries: list[Entry] = cast("dict[str, Any]", content).get(self.key, [])
        return entries

    def get_row_name(self, row: Model) -> str:
        """Return the name of a row's entry."""
        return self.get_name({field: getattr(row, field) for field in self.name_fields})

    def filter_names(self, rows: Any, names: Iterable[str]) -> Any:
        """Return a queryset without most of the rows that have none of these names."""
        if len(self.name_fields) > 1:
            return rows  # of kinds with few rows
        return rows.filter(**{f"{self.name_fields[0]}__in": [name.removeprefix(self.name_prefix) for name in names]})


_SECTION_FIELDS = ("prompt", "name", "position", "title", "text", "status")
_AGENT_FIELDS = tuple(
    """
    name summary description when_to_use ops is_read_only constraints system_prompt examples edge_cases status
""".split()
)
_PIN_FIELDS = ("surface", "context", "model_family", "ops", "max_tokens")
_VOCABULARY_FIELDS = ("kind", "argument", "meaning", "ops", "words")

# Groups come first, because ops belong to them.
COPY_KINDS: dict[Kind, CopyKind] = {
    each.kind: each
    for each in (
        CopyKind(
            Kind.GROUP,
            Group,
            key="groups",
            fields=("path", "summary", "discovery_name", "discovery_summary"),
            name_fields=("path",),
            kept_fields=("path", "summary"),
            read_fields=("path", "summary", "discovery_name", "discovery_summary"),
            singular="group",
            plural="groups",
        ),
        CopyKind(
            Kind.OP,
            Op,
            key="ops",
            fields=OP_FIELDS,
            name_fields=("op",),
            kept_fields=("needs_subject", "parameters_schema"),
            read_fields=("kind", "summary", "description", "notes", "parameters_schema", "policy", "examples"),
            singular="op",
            plural="ops",
        ),
        CopyKind(
            Kind.SECTION,
            PromptSection,
            key="sections",
            fields=_SECTION_FIELDS,
            name_fields=("prompt", "name"),
            kept_fields=_SECTION_FIELDS,
            read_fields=("name", "title", "text"),
            singular="prompt section",
            plural="prompt sections",
        ),
        CopyKind(
            Kind.AGENT,
            Agent,
            key="agents",
            fields=_AGENT_FIELDS,
            name_fields=("name",),
            kept_fields=("name", "summary", "ops", "is_read_only", "system_prompt", "status"),
            read_fields=tuple(field for field in _AGENT_FIELDS if field not in ("is_read_only", "status")),
            singular="agent",
            plural="agents",
            name_prefix=AGENT_PREFIX,
        ),
        CopyKind(
            Kind.PIN,
            Pin,
            key="pins",
            fields=_PIN_FIELDS,
            name_fields=("surface", "context", "model_family"),
            kept_fields=_PIN_FIELDS,
            read_fields=("ops",),
            singular="pin",
            plural="pins",
        ),
        CopyKind(
            Kind.VOCABULARY,
            Vocabulary,
            key=VOCABULARY_KEY,
            fields=_VOCABULARY_FIELDS,
            name_fields=("kind", "argument", "meaning", "ops"),
            kept_fields=("kind", "meaning", "words"),
            read_fields=(),
            singular="vocabulary entry",
            plural="vocabulary entries",
            instead_of_deleting="Remove its words",
        ),
    )
}
KIND_BY_MODEL: dict[type[Any], Kind] = {each.model: kind for kind, each in COPY_KINDS.items()}
KIND_BY_KEY: dict[str, Kind] = {each.key: kind for kind, each in COPY_KINDS.items()}
