"""A catalog: one immutable release as a value in memory, and the parts that a caller can see."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from registry.catalog.connections import Connections, UpstreamTarget
from registry.catalog.switches import ALL_ON, Switches
from registry.jsonschema import dialect
from registry.jsonschema.arguments import has_flat_properties, iter_arguments
from registry.jsonschema.dialect import Schema
from registry.jsonschema.validator import SchemaValidator
from registry.models import ROOT, Op, get_parent_path
from registry.request_mapping import RequestMapping, parse_mapping
from registry.text.cleanup import clean_tool_name
from registry.vocabulary import NO_VOCABULARY, CatalogVocabulary

T = TypeVar("T")

MAX_CACHED_VIEWS = 100
MAX_CACHED_MATCHES = 10_000
_PLAIN_TYPES = {"string": str, "integer": int, "boolean": bool}
_READ_OTHERWISE = frozenset({dialect.VALUE_ALIASES, dialect.VALUE_OMISSIONS, "$ref"})
# The connections of the shipped ops, which the gateway runs itself. A test compares them with config.wiring.
BUILT_IN_CONNECTIONS = frozenset(("workspace", "utilities"))


@dataclass(frozen=True)
class CatalogOp:
    """One op of a release. Its validator is compiled on first use."""

    op: str
    tool_name: str
    kind: str
    summary: str
    schema: Schema
    upstream_name: str = ""
    entity: str = ""
    action: str = ""
    category: str = ""
    contexts: tuple[str, ...] = ()
    description: str = ""
    notes: str = ""
    keywords: tuple[str, ...] = ()
    argument_aliases: dict[str, str] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)  # see registry.request_mapping
    result_fields: tuple[str, ...] = ()  # the part of the answer that a model sees; empty: all of it
    result_row: dict[str, str] = field(default_factory=dict)  # see registry.result_row
    display_only: frozenset[str] = frozenset()
    needs_subject: bool = True
    confirm: bool = False
    flow_labels: frozenset[str] = frozenset()  # see registry.flow_labels
    required_scope: str = ""
    without_id: str = ""
    timeout_ms: int = 30_000
    status: str = Op.Status.ACTIVE
    successor: str = ""
    connection: str = ""
    policy: dict[str, list[str]] = field(default_factory=dict)
    examples: tuple[dict[str, Any], ...] = ()
    aliases: tuple[str, ...] = ()
    vocabulary: CatalogVocabulary = field(default=NO_VOCABULARY, repr=False, compare=False)  # of its catalog

    @property
    def target(self) -> UpstreamTarget:
        """Where the op runs."""
        return UpstreamTarget(self.connection, self.tool_name, self.upstream_name, bool(self.request))

    @property
    def is_of_service(self) -> bool:
        """Whether a connected service runs it. If a name or a request fits several ops equally, these come last."""
        return self.connection != "" and self.connection not in BUILT_IN_CONNECTIONS

    @property
    def is_renamed(self) -> bool:
        """Whether its tool name is not its upstream's: an import gave it a prefix, because that name means another op.

        The name of an HTTP operation is its method and path, a name that nothing else has.
        """
        return bool(self.upstream_name) and not self.request and self.tool_name != clean_tool_name(self.upstream_name)

    @property
    def group(self) -> str:
        """The first segment of the path: onto, util, cal."""
        return self.op.partition(".")[0]

    @property
    def is_write(self) -> bool:
        return self.kind == Op.Kind.WRITE

    @property
    def is_active(self) -> bool:
        return self.status == Op.Status.ACTIVE

    @cached_property
    def validator(self) -> SchemaValidator:
        return SchemaValidator(self.schema, is_checked=True)

    @cached_property
    def request_mapping(self) -> RequestMapping | None:
        """The HTTP request that runs the op; None if it has none."""
        return parse_mapping(self.request) if self.request else None

    @cached_property
    def arguments(self) -> dict[str, dict[str, Any]]:
        """The schema of each argument, by argument name."""
        if not has_flat_properties(self.schema):
            return {name: schema for name, schema, _ in iter_arguments(self.schema)}
        schemas_by_name: dict[str, Schema] = self.schema.get("properties", {})
        return schemas_by_name

    @cached_property
    def required(self) -> frozenset[str]:
        if not has_flat_properties(self.schema):
            return frozenset(name for name, _, required in iter_arguments(self.schema) if required)
        return frozenset(self.schema.get("required", ()))

    @cached_property
    def plain_types(self) -> dict[str, type]:
        """The type of each argument of whose values of this type, apart from blanks, there is only one spelling."""
        if not has_flat_properties(self.schema):
            return {}
        return {name: _PLAIN_TYPES[schema["type"]] for name, schema in self.arguments.items() if _is_plain(schema)}

    @cached_property
    def options(self) -> frozenset[str]:
        """The arguments that say how to run the op or what to answer: an update with only these changes nothing."""
        schemas_by_name = {name: schema for name, schema in self.arguments.items() if isinstance(schema, dict)}
        return frozenset(name for name, schema in schemas_by_name.items() if schema.get(dialect.OPTION) is True)


def _is_plain(schema: Any) -> bool:
    """Return whether a schema says one type, and nothing by which a value of it is read as another one."""
    if not isinstance(schema, dict) or not isinstance(kind := schema.get("type"), str) or kind not in _PLAIN_TYPES:
        return False
    return schema.get("format") != "date" and _READ_OTHERWISE.isdisjoint(schema)


@dataclass(frozen=True, slots=True)
class CatalogSection:
    """One section of a prompt in a release."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CatalogAgent:
    """One agent of a release (see registry.models.surface_copy)."""

    name: str
    summary: str
    ops: tuple[str, ...]  # path patterns
    is_read_only: bool
    system_prompt: str
    description: str = ""
    when_to_use: str = ""
    constraints: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    edge_cases: tuple[str, ...] = ()

    def allows(self, op: CatalogOp) -> bool:
        """Return whether the agent can run the op. It cannot run ops with their own scope, such as other agents."""
        if op.required_scope or (self.is_read_only and op.is_write):
            return False
        return _matches_any(op.op, self.ops)


@dataclass(frozen=True, slots=True)
class CatalogDomain:
    """A group with a discovery tool, which lists the ops below it on the discovery surface."""

    name: str  # of the discovery tool
    path: str
    summary: str


@dataclass(frozen=True, slots=True)
class CatalogPin:
    """The ops that a surface shows as separate tools (see registry.models.surface_copy)."""

    surface: str
    context: str
    model_family: str
    ops: tuple[str, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Visibility:
    """The ops that a caller can run and therefore see: by path pattern and kind, minus what is off or cannot run."""

    patterns: tuple[str, ...] = ("*",)
    kinds: frozenset[str] = frozenset(Op.Kind.values)
    scopes: frozenset[str] | None = None  # None: all; for ops that need more than exec, and for prompts of agents
    agent: CatalogAgent | None = None  # the agent as which the caller runs
    switches: Switches = ALL_ON
    connections: Connections | None = None  # None: also ops that cannot run

    def __hash__(self) -> int:
        """Return a hash of the members that tell most apart. Each call looks several times for what is of its own."""
        return hash((self.patterns, self.kinds))

    def limit_to_available(self, switches: Switches, connections: Connections) -> "Visibility":
        """Return this visibility without the ops that are switched off or cannot run through these connections."""
        return _limit_visibility(self, switches, connections)

    def explain_unavailable(self, op: CatalogOp) -> str:
        """Return a sentence saying why an op is off or cannot run; empty if it is available."""
        if message := self.switches.explain_off(op.op, aliases=op.aliases, connection=op.connection):
            return message
        missing = self.connections.explain_missing(op.target) if self.connections else ""
        return f"{op.op} cannot run: {missing}." if missing else ""

    def has_scope(self, scope: str) -> bool:
        """Return whether the caller's key has a scope."""
        return self.scopes is None or scope in self.scopes

    def allows(self, op: CatalogOp) -> bool:
        """Return whether this caller may run the op, ignoring switches."""
        if self.agent is not None and not self.agent.allows(op):
            return False
        if op.required_scope and not self.has_scope(op.required_scope):
            return False
        return op.kind in self.kinds and _matches_any(op.op, self.patterns)


@lru_cache(maxsize=MAX_CACHED_MATCHES)
def _matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


FULL_VISIBILITY = Visibility()


@lru_cache(maxsize=MAX_CACHED_VIEWS)  # each call asks several times
def _limit_visibility(visibility: Visibility, switches: Switches, connections: Connections) -> Visibility:
    return replace(visibility, switches=switches, connections=connections)


@dataclass(frozen=True)
class CatalogView:
    """A catalog as one kind of caller sees it.

    Ops that are retired, switched off or cannot run are in no list, but they still resolve by name.
    """

    ops: frozenset[str]
    children: dict[str, tuple[str, ...]]  # group path -> its subgroups and ops with visible ops, sorted by name
    counts: dict[str, int]  # group path -> ops below it
    off_reasons: dict[str, str] = field(
        default_factory=dict
    )  # path that would be visible -> why it is off or cannot run
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def get_or_derive(self, key: Any, make: Callable[[], T]) -> T:
        """Return a value derived from this view, such as an index of its ops; made on first use, then cached."""
        if key not in self._derived:
            self._derived[key] = make()
        value: T = self._derived[key]
        return value


@dataclass(frozen=True)
class Catalog:
    """One release in memory."""

    version: str
    ops: dict[str, CatalogOp]
    groups: dict[str, str]  # path -> summary
    names: dict[str, str]  # path, tool name, alias or unambiguous upstream name -> path
    prompts: dict[str, tuple[CatalogSection, ...]] = field(default_factory=dict)  # prompt name -> its sections in order
    agents: dict[str, CatalogAgent] = field(default_factory=dict)  # by name, only active ones
    pins: tuple[CatalogPin, ...] = ()
    domains: dict[str, CatalogDomain] = field(default_factory=dict)  # by the name of the discovery tool
    vocabulary: CatalogVocabulary = NO_VOCABULARY
    tokens: dict[str, list[int]] = field(default_factory=dict)
    digests: dict[str, bytes] = field(default_factory=dict)  # of the entries of a release, by path of the op
    answers: dict[Any, Any] = field(default_factory=dict)  # cache of rendered help, by view and query
    _derived: dict[type, Any] = field(default_factory=dict)
    _views: dict[Visibility, CatalogView] = field(default_factory=dict)

    def find_op(self, name: str) -> CatalogOp | None:
        """Return the op with exactly this path, tool name or alias, or None."""
        path = self.names.get(name)
        return self.ops[path] if path is not None else None

    def view_for(self, visibility: Visibility) -> CatalogView:
        """Return the catalog as a caller with this visibility sees it. Views are cached."""
        view = self._views.get(visibility)
        if view is None:
            if len(self._views) >= MAX_CACHED_VIEWS:
                self._views.clear()
            view = self._views[visibility] = _build_view(self, visibility)
        return view

    def with_op(self, op: CatalogOp, *, version: str, vocabulary: CatalogVocabulary | None = None) -> "Catalog":
        """Return a copy of this catalog, under another version, with the op added or replaced by path.

        The op gets the vocabulary of this catalog, or the copy and the op get another one.
        """
        words = self.vocabulary if vocabulary is None else vocabulary
        schema = words.add_value_aliases(op.op, op.schema)
        ops = self.ops | {op.op: replace(op, schema=schema, vocabulary=words)}
        names = map_names_to_paths(ops, self.groups)
        return Catalog(version, ops, self.groups, names, self.prompts, self.agents, self.pins, self.domains, words)

    def get_or_derive(self, kind: type[T], make: Callable[[], T]) -> T:
        """Return a value derived from this catalog, such as its search index; made on first use, then cached."""
        if kind not in self._derived:
            self._derived[kind] = make()
        value: T = self._derived[kind]
        return value

    def replace_derived(self, value: object) -> None:
        """Replace the value of its type that was derived from this catalog, after what it is derived from changed."""
        self._derived[type(value)] = value

    def get_derived(self, kind: type[T]) -> T | None:
        """Return a value that was derived from this catalog; None if nobody has needed it yet."""
        return self._derived.get(kind)


def map_names_to_paths(ops: dict[str, CatalogOp], groups: dict[str, str]) -> dict[str, str]:
    """Return {name: path} for every name of an op."""
    # Upstream names were not chosen here, so they lose to groups and other names. If two ops share one, both lose it.
    # One that got a prefix would take calls that are meant for another op.
    named = {path: op.upstream_name for path, op in ops.items() if op.upstream_name and not op.is_renamed}
    upstream = Counter(name for name in named.values() if name not in groups)
    names = {name: path for path, name in named.items() if upstream[name] == 1}
    names |= {alias: path for path, op in ops.items() for alias in op.aliases}
    return names | {op.tool_name: path for path, op in ops.items()} | {path: path for path in ops}


def _build_view(catalog: Catalog, visibility: Visibility) -> CatalogView:
    allowed = {path: op for path, op in catalog.ops.items() if op.is_active and visibility.allows(op)}
    reasons = {path: visibility.explain_unavailable(op) for path, op in allowed.items()}
    ops = frozenset(path for path in allowed if not reasons[path])
    children: dict[str, set[str]] = {ROOT: set()}
    counts: dict[str, int] = {ROOT: len(ops)}
    for path in ops:
        child, parent = path, get_parent_path(path)
        children.setdefault(parent, set()).add(child)
        while parent != ROOT:
            counts[parent] = counts.get(parent, 0) + 1
            child, parent = parent, get_parent_path(parent)
            children.setdefault(parent, set()).add(child)
    off = {path: sentence for path, sentence in reasons.items() if sentence}
    for path in list(off):
        while (path := get_parent_path(path)) not in children:
            off[path] = visibility.switches.explain_off(path) or f"Every op of {path} is off or cannot run."
    sorted_children = {path: tuple(sorted(names)) for path, names in children.items()}
    return CatalogView(ops=ops, children=sorted_children, counts=counts, off_reasons=off)
