"""The types of a snapshot and its entries: the form that copy has in a release, in the shipped YAML and in the checks.

Fields that are empty or have their default are left out (see registry.snapshot.snapshot).
"""

from typing import Any, NotRequired, TypedDict

from registry.jsonschema.dialect import Schema

# An entry whose kind is known only when the code runs.
Entry = dict[str, Any]


class ExampleEntry(TypedDict):
    """One example of an op."""

    args: dict[str, Any]
    title: NotRequired[str]
    note: NotRequired[str]


class OpEntry(TypedDict):
    """One op with its rules, examples and aliases."""

    op: str
    tool_name: str
    kind: str
    summary: str
    parameters_schema: Schema
    upstream_name: NotRequired[str]
    entity: NotRequired[str]
    action: NotRequired[str]
    category: NotRequired[str]
    contexts: NotRequired[list[str]]
    description: NotRequired[str]
    notes: NotRequired[str]
    keywords: NotRequired[list[str]]
    request: NotRequired[dict[str, Any]]  # see registry.request_mapping
    result_fields: NotRequired[list[str]]
    result_row: NotRequired[dict[str, str]]  # see registry.result_row
    argument_aliases: NotRequired[dict[str, str]]
    display_only: NotRequired[list[str]]
    needs_subject: NotRequired[bool]
    confirm: NotRequired[bool]
    flow_labels: NotRequired[list[str]]  # see registry.flow_labels
    required_scope: NotRequired[str]
    without_id: NotRequired[str]
    timeout_ms: NotRequired[int]
    status: NotRequired[str]
    successor: NotRequired[str]
    connection: NotRequired[str]
    policy: NotRequired[dict[str, list[str]]]
    examples: NotRequired[list[ExampleEntry]]
    aliases: NotRequired[list[str]]


class GroupEntry(TypedDict):
    """One group of ops."""

    path: str
    summary: str
    discovery_name: NotRequired[str]
    discovery_summary: NotRequired[str]


class SectionEntry(TypedDict):
    """One section of a prompt."""

    prompt: str
    name: str
    position: int
    title: str
    text: str
    status: str


class AgentEntry(TypedDict):
    """One agent."""

    name: str
    summary: str
    ops: list[str]
    is_read_only: bool
    system_prompt: str
    status: str
    description: NotRequired[str]
    when_to_use: NotRequired[str]
    constraints: NotRequired[list[str]]
    examples: NotRequired[list[str]]
    edge_cases: NotRequired[list[str]]


class PinEntry(TypedDict):
    """The ops that a surface shows as separate tools."""

    surface: str
    context: str
    model_family: str
    ops: list[str]
    max_tokens: int


class VocabularyEntry(TypedDict):
    """The words for one thing that the ops have."""

    kind: str
    meaning: str
    words: list[str]
    argument: NotRequired[str]
    ops: NotRequired[str]


class Snapshot(TypedDict):
    """The draft or a release. A kind of copy without entries is left out, except groups and ops."""

    format: NotRequired[int]
    groups: list[GroupEntry]
    ops: list[OpEntry]
    sections: NotRequired[list[SectionEntry]]
    agents: NotRequired[list[AgentEntry]]
    pins: NotRequired[list[PinEntry]]
    vocabulary: NotRequired[list[VocabularyEntry]]


EMPTY_SNAPSHOT: Snapshot = {"format": 1, "groups": [], "ops": []}
