"""Find what would break serving in copy other than ops: prompt sections, agents, pins and discovery names."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from analytics.flags import Surface
from registry.catalog import builder
from registry.checks.finding import NO_AGES, CheckRule, EntryAges, Finding, Severity, join_pointer
from registry.help.typed_tools import TypedTools
from registry.search import tokenizer
from registry.snapshot.copy_kinds import AGENTS_PATH, BATCH_PATH, COPY_KINDS, SKILLS_PATH, Kind
from registry.snapshot.entries import GroupEntry, PinEntry, SectionEntry, Snapshot

SURFACE_PROMPT_SUFFIX = "_surface"  # suffix of a surface's prompt name: gateway_surface
DISCOVER_AGENTS = "discover_agents"  # the discovery tool that lists the agents
# A test compares these with gateway.contracts.tool_definitions.
GATEWAY_TOOLS = frozenset(("tool_help", "tool_exec", "tool_batch"))
PRODUCT_TOOLS = GATEWAY_TOOLS | {"search_tools", DISCOVER_AGENTS}  # ops cannot have these names in any spelling
_WORD = re.compile(r"[\w.-]+")

SECTION_REPEATED = CheckRule(
    "section_repeated",
    "Two sections of a prompt with the same name.",
    "Give each section its own name.",
    Severity.BLOCKS,
)
OFF_SURFACE = CheckRule(
    "names_what_is_not_shown",
    "A section of a surface's prompt that names something the model does not have there: raw tools on the gateway "
    "surface, op paths on the legacy, discovery and native surfaces, gateway tools on legacy and native.",
    "Remove the name.",
    Severity.BLOCKS,
)
ENTRY_REPEATED = CheckRule(
    "entry_repeated",
    "Two agents, pins or vocabulary entries with the same name.",
    "Delete one of them.",
    Severity.BLOCKS,
)
RESERVED_NAME = CheckRule(
    "name_reserved",
    "An op with a name of the gateway's own tools, or one that differs only in case and punctuation.",
    "Choose another name.",
    Severity.BLOCKS,
)
RESERVED_PATH = CheckRule(
    "path_reserved",
    f"An op or group at a path that is kept for help itself: {AGENTS_PATH}, {BATCH_PATH}, {SKILLS_PATH}, or below.",
    "Choose another path.",
    Severity.BLOCKS,
)
OPS_UNKNOWN = CheckRule(
    "ops_unknown",
    "An agent or pin whose path matches no op.",
    "Write the path of an op; for an agent, * stands for any characters.",
    Severity.BLOCKS,
)
DISCOVERY_NAME_TAKEN = CheckRule(
    "discovery_name_taken",
    "A discovery name that another group, an op or the discovery of agents already has.",
    "Choose another discovery name.",
    Severity.BLOCKS,
)
OVER_BUDGET = CheckRule(
    "pin_over_budget",
    "A pin whose ops take more tokens as tools than it allows: the last ones are left out.",
    "Pin fewer ops, shorten them, or allow more tokens.",
)
RULES = (
    SECTION_REPEATED,
    OFF_SURFACE,
    ENTRY_REPEATED,
    RESERVED_PATH,
    RESERVED_NAME,
    OPS_UNKNOWN,
    DISCOVERY_NAME_TAKEN,
    OVER_BUDGET,
)


def find_errors(content: Snapshot, *, names: Mapping[str, str], ages: EntryAges = NO_AGES) -> Iterator[Finding]:
    """Yield the blocking findings of a snapshot's entries other than ops. `names` are those of ops: {name: path}.

    If an op and another entry contradict each other, the finding is about the newer one.
    """
    tool_names = {op["op"]: op["tool_name"] for op in content["ops"]}
    yield from _find_repeated_entries(content)
    for section in content.get("sections", []):
        yield from find_off_surface_names(section, tool_names, content.get("pins", []), names=names, ages=ages)
    for kind in (Kind.AGENT, Kind.PIN):
        for entry in COPY_KINDS[kind].get_entries(content):
            yield from _find_unknown_ops(kind, entry, tool_names)
    yield from _find_reserved_paths(content)
    yield from _find_reserved_names(content)
    yield from _find_taken_discovery_names(content["groups"], names, ages)


def find_warnings(content: Snapshot) -> Iterator[Finding]:
    """Yield the warnings of a snapshot's entries other than ops."""
    pins = content.get("pins", [])
    if not pins:
        return
    pinned = {path for pin in pins for path in pin["ops"]}
    tools = TypedTools.build(
        builder.build_catalog("", {"groups": [], "ops": [op for op in content["ops"] if op["op"] in pinned]})
    )
    for pin in pins:
        tokens = sum(tools[path].tokens for path in pin["ops"] if path in tools)
        if tokens > pin["max_tokens"]:
            message = f"Its ops take {tokens:,} tokens as tools; the limit is {pin['max_tokens']:,}."
            yield OVER_BUDGET.make_finding(COPY_KINDS[Kind.PIN].get_name(pin), "max_tokens", message, kind=Kind.PIN)


def find_off_surface_names(
    section: SectionEntry,
    tool_names: Mapping[str, str],
    pins: Iterable[PinEntry] = (),
    *,
    names: Mapping[str, str] = MappingProxyType({}),
    ages: EntryAges = NO_AGES,
) -> Iterator[Finding]:
    """Yield findings for names in a surface's prompt that are not on that surface. `tool_names` are {path: tool name}.

    A finding is about the section, or about an op (of `names`) that is newer and has taken a name in its text.
    """
    if not section["prompt"].endswith(SURFACE_PROMPT_SUFFIX):
        return
    surface = section["prompt"].removesuffix(SURFACE_PROMPT_SUFFIX)
    hidden_names = _list_hidden_names(surface, tool_names, pins)
    section_name = COPY_KINDS[Kind.SECTION].get_name(section)
    for field in ("title", "text"):
        for name in sorted(find_names_in_text(section[field], hidden_names)):
            path = names.get(name)
            if path is not None and ages.is_newer(Kind.OP, path, Kind.SECTION, section_name):
                message = f"The prompt section {section_name} mentions {name}, which its surface does not show."
                own_field = "op" if name == path else "tool_name"
                yield OFF_SURFACE.make_finding(path, own_field, message, "Choose another name, or change the section.")
                continue
            message = f"{name} is not available on the {surface} surface."
            yield OFF_SURFACE.make_finding(section_name, field, message, kind=Kind.SECTION)


def find_names_in_text(text: str, names: Collection[str]) -> set[str]:
    """Return which of the tool and op names a text mentions. A plain lower-case word (search, fetch) does not count."""
    words = {word.strip(".") for word in _WORD.findall(text)}  # a sentence may end with a name
    return {word for word in words if word in names and not (word.isalpha() and word == word.lower())}


def _list_hidden_names(surface: str, tool_names: Mapping[str, str], pins: Iterable[PinEntry]) -> set[str]:
    """Return the names of ops and gateway tools that a model is never shown on a surface."""
    paths = set(tool_names)
    hidden_tools = {  # of those that are left out, the op is to blame, not the text
        path: name for path, name in tool_names.items() if name != path and name not in PRODUCT_TOOLS
    }
    pinned_paths = {path for pin in pins if pin["surface"] == surface for path in pin["ops"]}
    hidden_names: dict[str, set[str]] = {
        Surface.GATEWAY: set(hidden_tools.values()),
        Surface.HYBRID: {name for path, name in hidden_tools.items() if path not in pinned_paths},
        Surface.NATIVE: paths | GATEWAY_TOOLS,
        Surface.DISCOVERY: paths | (GATEWAY_TOOLS - {"tool_exec"}),
        Surface.LEGACY: paths | GATEWAY_TOOLS,
    }
    return hidden_names.get(surface, set())


def _find_repeated_entries(content: Snapshot) -> Iterator[Finding]:
    sections = content.get("sections", [])
    for (prompt, section_name), count in Counter((each["prompt"], each["name"]) for each in sections).items():
        if count > 1:
            message = f"{count} sections of this prompt have this name."
            yield SECTION_REPEATED.make_finding(f"{prompt}/{section_name}", "name", message, kind=Kind.SECTION)
    for kind in (Kind.AGENT, Kind.PIN, Kind.VOCABULARY):
        copy_kind = COPY_KINDS[kind]
        for name, count in Counter(copy_kind.get_name(entry) for entry in copy_kind.get_entries(content)).items():
            if count > 1:
                message = f"{count} {copy_kind.plural} have this name."
                yield ENTRY_REPEATED.make_finding(name, copy_kind.name_fields[0], message, kind=kind)


def _find_unknown_ops(kind: Kind, entry: Mapping[str, Any], paths: Collection[str]) -> Iterator[Finding]:
    if entry.get("status", "active") != "active":
        return
    for index, pattern in enumerate(entry["ops"]):
        is_known = any(fnmatchcase(path, pattern) for path in paths) if kind == Kind.AGENT else (pattern in paths)
        if not is_known:
            message = f"There is no op {pattern}."
            name = COPY_KINDS[kind].get_name(entry)
            yield OPS_UNKNOWN.make_finding(name, join_pointer("ops", index), message, kind=kind)


def _find_reserved_paths(content: Snapshot) -> Iterator[Finding]:
    for kind in (Kind.GROUP, Kind.OP):
        copy_kind = COPY_KINDS[kind]
        for entry in copy_kind.get_entries(content):
            path = copy_kind.get_name(entry)
            top, _, below = path.partition(".")
            if top in _RESERVED_PATHS and (below or kind == Kind.OP or top != AGENTS_PATH):
                message = f"{top} is kept for help itself."
                yield RESERVED_PATH.make_finding(path, copy_kind.name_fields[0], message, kind=kind)


_RESERVED_PATHS = frozenset({AGENTS_PATH, BATCH_PATH, SKILLS_PATH})


def _find_reserved_names(content: Snapshot) -> Iterator[Finding]:
    for op in content["ops"]:
        for field, names in (("op", [op["op"]]), ("tool_name", [op["tool_name"]]), ("aliases", op.get("aliases", []))):
            for name in names:
                if tokenizer.normalise_name(name) in _RESERVED:
                    message = f"{name} is a name of the gateway's own tools."
                    yield RESERVED_NAME.make_finding(op["op"], field, message)


_RESERVED = frozenset(map(tokenizer.normalise_name, PRODUCT_TOOLS))


def _find_taken_discovery_names(
    groups: list[GroupEntry], names: Mapping[str, str], ages: EntryAges
) -> Iterator[Finding]:
    seen = {DISCOVER_AGENTS}
    for group in sorted(groups, key=lambda group: ages.get_rank(Kind.GROUP, group["path"])):  # the newest come last
        if name := group.get("discovery_name"):
            path = names.get(name)
            if name not in seen and path is not None and ages.is_newer(Kind.OP, path, Kind.GROUP, group["path"]):
                message = f"{name} is already the discovery name of the group {group['path']}."
                field = "op" if name == path else "tool_name"
                yield DISCOVERY_NAME_TAKEN.make_finding(path, field, message, "Choose another name.")
            elif name in seen or path is not None:
                message = f"{name} is already a name of something else."
                yield DISCOVERY_NAME_TAKEN.make_finding(group["path"], "discovery_name", message, kind=Kind.GROUP)
            seen.add(name)
