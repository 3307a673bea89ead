"""What an import would make of a document or a server, as its page shows it before anything is written."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from core.text import token_budget
from registry import checks
from registry.help import token_counts
from registry.imports import import_document, run_import
from registry.imports.import_document import ImportableDocument, ReadDocument, Selection
from registry.imports.import_source import ImportSource, SourceOp, join_segment
from registry.imports.mcp_import import ReadServer
from registry.imports.run_import import InvalidImportGroup
from registry.models import Connection, Group
from registry.text.cleanup import clean_tool_name

MAX_LISTED_REFUSALS = 200
MAX_LISTED_TAGS = 300
MAX_LISTED_OPERATIONS = 500
MAX_GROUP_WORDS = 3
FALLBACK_GROUP = "service"
_WORD = re.compile(r"[a-z][a-z0-9]*")
_EMPTY_WORDS = frozenset(
    """
    the a an of for and api apis service services server rest restful http https json web openapi swagger mcp spec
    specification documentation docs public version my our
""".split()
)
_VERSION = re.compile(r"v\d+")


def describe_document(document: ReadDocument) -> dict[str, Any]:
    """Return what a document has: its ops, tags, methods, refusals, the connection that it names, and the earlier one.

    `leaf` of an op is its path below the group, which can be changed; empty if it was imported before.
    """
    content = document.content
    earlier = _find_earlier(document)
    group = earlier.import_group if earlier else suggest_group(content.title)
    about = {
        each.name: {"tags": list(each.tags or ("",)), "method": each.method, "deprecated": each.is_deprecated}
        for each in content.operations[:MAX_LISTED_OPERATIONS]
    }
    tags = Counter(tag for operation in content.operations for tag in operation.tags or ("",))
    methods = Counter(operation.method for operation in content.operations)
    return _describe_source(document.pick(Selection()), document, group, about) | {
        "deprecated": sum(operation.is_deprecated for operation in content.operations),
        "tags": sorted(tags.items())[:MAX_LISTED_TAGS],
        "methods": sorted(methods.items()),
        "connection": import_document.describe_connection(content),
        "earlier": earlier.name if earlier else "",
    }


def _find_earlier(document: ReadDocument) -> Connection | None:
    """Return the connection into which a document was imported before: from its address, or most of its operations.

    A service may have several documents at one base URL: an import of another one would retire the first one's ops.
    """
    imported = Connection.objects.filter(kind=Connection.Kind.HTTP).exclude(import_group="")
    if (url := document.document_url) and (same := imported.filter(document_url=url).first()):
        return same
    names = {operation.name for operation in document.content.operations}
    for connection in imported.filter(base_url=document.content.base_url):
        known = names.intersection(connection.definitions.values_list("upstream_name", flat=True))
        if len(known) * 2 > len(names):
            return connection
    return None


def describe_server(server: ReadServer, connection: Connection | None) -> dict[str, Any]:
    """Return what a server has: its tools as ops, what to check about them, and refusals."""
    group = (connection.import_group if connection else "") or suggest_group(server.title)
    source = server.pick(Selection(), group)
    flagged: dict[str, list[str]] = {}
    for op in source.ops:
        for remark in op.remarks:
            flagged.setdefault(remark, []).append(op.name)
    return _describe_source(source, server, group) | {"flagged": sorted(flagged.items())[:MAX_LISTED_REFUSALS]}


def _describe_source(
    source: ImportSource, document: ImportableDocument, group: str, about: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    known, new = run_import.preview_paths(source, group)
    return {
        "title": document.title[:200],
        "version": document.version[:60],
        "group": group,
        "operations": len(source.ops),
        "ops": [
            _describe_op(op, known.get(op.name) or new[op.name])
            | {"leaf": "" if op.name in known else new[op.name].removeprefix(f"{group}.")}
            | (about or {}).get(op.name, {})
            for op in source.ops[:MAX_LISTED_OPERATIONS]
        ],
        "remarks": list(source.remarks),
        "refused": len(source.refusals),
        "refusals": [[each.name, each.reason] for each in source.refusals[:MAX_LISTED_REFUSALS]],
        "tokens_as_list": token_budget.count(source.tools_text),
    }


def _describe_op(op: SourceOp, path: str) -> dict[str, Any]:
    """Return {name, summary, path, kind, tokens}; tokens are those of its short help, 0 if it will be refused."""
    entry = run_import.build_op_entry(op, path=path, tool_name=clean_tool_name(op.tool_name))
    counts = {} if checks.find_op_errors(entry) else token_counts.count_entry_tokens(entry)
    return {
        "name": op.name,
        "summary": op.fields["summary"],
        "path": path,
        "kind": op.fields["kind"],
        "tokens": counts.get(path, [0])[0],
    }


def suggest_group(title: str) -> str:
    """Return a group for the ops of a document with this title: its words that mean something, and free."""
    words = [word for word in _WORD.findall(title.lower()) if not _is_empty(word)]
    group = join_segment(words[:MAX_GROUP_WORDS]) if words else FALLBACK_GROUP
    taken = set(Group.objects.values_list("path", flat=True))
    candidates = (group, *(f"{group}_{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in candidates if each not in taken and _is_allowed(each))


def _is_empty(word: str) -> bool:
    return word in _EMPTY_WORDS or bool(_VERSION.fullmatch(word))


def _is_allowed(group: str) -> bool:
    try:
        run_import.check_group(group)
    except InvalidImportGroup:
        return False
    return True
