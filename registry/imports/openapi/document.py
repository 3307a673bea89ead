"""Read an OpenAPI document: its operations, with their args and the requests that these become."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from registry import request_mapping
from registry.imports.import_source import ParsedToolName, Refusal
from registry.imports.openapi import naming
from registry.imports.openapi.naming import NamedRoute
from registry.imports.openapi.operations import MappedOperation, OperationMapper, RefusedOperation
from registry.imports.openapi.parameters import find_idempotency_header, list_parameters
from registry.imports.openapi.references import (
    MAX_VALUES,
    DanglingReference,
    InvalidDocument,
    Loader,
    Located,
    OtherHost,
    References,
    ValueBudget,
)
from registry.imports.openapi.security import SecurityScheme, find_security
from registry.imports.openapi.servers import find_base_url
from registry.text import cleanup, tool_name_words
from registry.text.tool_name_words import split_name

MAX_KEYWORDS = 12

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its name, method and path, tags, its parsed name, and its mapping."""

    name: str  # such as GET /pets/{id}
    method: str
    tags: tuple[str, ...]
    parsed: ParsedToolName
    tool_name: str
    mapped: MappedOperation

    @property
    def is_deprecated(self) -> bool:
        return self.mapped.is_deprecated

    def matches(self, words: Iterable[str]) -> bool:
        """Return whether its name, texts and tags have all of these words."""
        text = " ".join(
            (self.name, self.tool_name, self.mapped.summary, self.mapped.description, *self.tags)
        ).casefold()
        return all(word in text for word in words)


@dataclass(frozen=True)
class OpenApiDocument:
    """What a document holds. `refusals` are operations that cannot become ops, each with the reason.

    `remarks` are sentences on the document as a whole.
    """

    title: str
    version: str
    base_url: str
    security: SecurityScheme
    idempotency_header: str
    operations: tuple[Operation, ...]
    refusals: tuple[Refusal, ...]
    remarks: tuple[str, ...] = ()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all operations, also those of refused ones."""
        return frozenset(each.name for each in self.operations) | {each.name for each in self.refusals}

    def select(
        self,
        tags: Iterable[str] = (),
        methods: Iterable[str] = (),
        search: str = "",
        *,
        include_deprecated: bool = True,
        without: Iterable[str] = (),
        keep: Iterable[str] = (),
    ) -> "OpenApiDocument":
        """Return the document with only the operations that have one of the tags and methods, and all of the words.

        No tags, methods or words let everything pass, but the names in `without`. The tag "" stands for operations
        without a tag. Operations whose names are in `keep` also stay.
        """
        wanted_tags, wanted_methods = set(tags), {method.upper() for method in methods}
        words, always, never = search.casefold().split(), frozenset(keep), frozenset(without)
        picked = tuple(
            each
            for each in self.operations
            if each.name in always
            or (
                each.name not in never
                and (not wanted_tags or wanted_tags.intersection(each.tags or ("",)))
                and (not wanted_methods or each.method in wanted_methods)
                and (include_deprecated or not each.is_deprecated)
                and each.matches(words)
            )
        )
        return replace(self, operations=picked)


@dataclass(frozen=True, slots=True)
class _FoundOperation:
    """An operation where it was found, with the parameters of its path."""

    method: str
    path: str
    located: Located
    parameters: tuple[Located, ...]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def parse_document(
    raw: bytes, *, load: Loader | None = None, url: str = "", most_values: int = MAX_VALUES
) -> OpenApiDocument:
    """Return what a document holds: OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0, in JSON or YAML. Raises InvalidDocument.

    `url` is its address, `load` returns the other files that it refers to. All of them together can have `most_values`;
    with more, DocumentTooLarge is raised.
    """
    budget = ValueBudget(most_values)
    document = budget.read_file(raw)
    _check_version(document)
    references = References(document, url, load, budget)
    mapper = OperationMapper(document, references, url)
    refusals: list[Refusal] = []
    mapped: dict[str, tuple[_FoundOperation, MappedOperation]] = {}
    idempotency_headers: Counter[str] = Counter()
    for found in _iter_operations(document, references, url, refusals):
        try:
            parameters = list_parameters(
                [*found.parameters, Located(found.located.value.get("parameters"), found.located.url)], references
            )
            mapped[found.name] = found, mapper.map(found.method, found.path, found.located, parameters)
        except (RefusedOperation, DanglingReference, OtherHost) as error:
            refusals.append(Refusal(found.name, str(error), is_unread=isinstance(error, OtherHost)))
        except RecursionError:
            refusals.append(Refusal(found.name, "It is nested too deeply."))
        else:
            idempotency_headers.update(filter(None, [find_idempotency_header(parameters)]))
    if not mapped and not refusals:
        raise InvalidDocument("The document has no operations. Send one with paths.")
    security, remarks = find_security(document, references, url, [found.located.value for found, _ in mapped.values()])
    remarks += [f"The document has {key[:100]} twice. Only the last one is read." for key in budget.repeated]
    info = document.get("info") if isinstance(document.get("info"), dict) else {}
    return OpenApiDocument(
        title=cleanup.strip_blank(cleanup.strip_hidden_characters(str(info.get("title") or "")[:1000]))[:200],
        version=str(info.get("version") or "")[:60],
        base_url=find_base_url(document, url),
        security=security,
        idempotency_header=next(iter(idempotency_headers), ""),
        operations=tuple(_name_operations(mapped)),
        refusals=tuple(refusals),
        remarks=tuple(remarks),
    )


def _check_version(document: Any) -> None:
    if not isinstance(document, dict):
        raise InvalidDocument("The document is not an OpenAPI document: it is not an object.")
    version = document.get("openapi", document.get("swagger"))
    if not str(version).startswith(("3.", "2.0", "2")) or version is None:
        said = f"It says {str(version)[:20]}." if version is not None else "It has neither openapi nor swagger."
        raise InvalidDocument(f"The document is not OpenAPI 3.0, 3.1 or 3.2, nor Swagger 2.0. {said}")


def _iter_operations(
    document: Mapping[str, Any], references: References, url: str, refusals: list[Refusal]
) -> Iterator[_FoundOperation]:
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if path.startswith("x-"):
            continue
        try:
            located = references.follow(item, url)
        except (DanglingReference, OtherHost) as error:
            refusals.append(Refusal(path, str(error), is_unread=isinstance(error, OtherHost)))
            continue
        if not isinstance(located.value, dict):
            continue
        shared = Located(located.value.get("parameters"), located.url)
        for method, operation in _iter_methods(located.value):
            found = _FoundOperation(method, path, Located(operation, located.url), (shared,))
            if problem := _find_problem(found) or _find_other_server(document, found, located.value, url):
                refusals.append(Refusal(found.name, problem))
            else:
                yield found


def _iter_methods(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the method and the operation of each member of a path item, also of those that OpenAPI 3.2 adds."""
    for key, operation in item.items():
        if key.lower() in METHODS:
            yield key.upper(), operation
    more = item.get("additionalOperations")
    for key, operation in more.items() if isinstance(more, dict) else ():
        if not (key.lower() in METHODS and any(key.lower() == name.lower() for name in item)):
            yield str(key).upper()[:40], operation


def _find_problem(found: _FoundOperation) -> str:
    if not isinstance(found.located.value, dict):
        return "It is not an object."
    if found.method not in request_mapping.METHODS:
        return f"The gateway does not send {found.method} requests."
    if "\ufffd" in found.path:
        return "Its path has a character that is not text."
    return "Its name is longer than 500 characters." if len(found.name) > 500 else ""


def _find_other_server(document: Mapping[str, Any], found: _FoundOperation, item: Mapping[str, Any], url: str) -> str:
    """Return a refusal if an operation is at another server than the document's first; "" if it is not."""
    servers = found.located.value.get("servers") or item.get("servers")
    if not servers:
        return ""
    address = find_base_url({"servers": servers}, url)
    if address == find_base_url(document, url):
        return ""
    return f"It is at another server, {address[:100] or 'without an address'}. Add it by hand to a separate connection."


def _name_operations(mapped: Mapping[str, tuple[_FoundOperation, MappedOperation]]) -> Iterator[Operation]:
    routes = [
        NamedRoute(
            name,
            found.method,
            found.path,
            operation_id=operation.operation_id,
            tag=operation.tags[0] if operation.tags else "",
            summary=operation.summary,
            lists=operation.lists,
            is_write=operation.is_write,
        )
        for name, (found, operation) in mapped.items()
    ]
    parsed = naming.parse_routes(routes)
    for route in routes:
        _found, operation = mapped[route.name]
        yield Operation(
            route.name,
            route.method,
            operation.tags,
            parsed[route.name],
            naming.choose_tool_name(route),
            replace(
                operation,
                summary=_choose_summary(operation, parsed[route.name]),
                keywords=tuple(dict.fromkeys(split_name(route.operation_id)))[:MAX_KEYWORDS],
            ),
        )


def _choose_summary(operation: MappedOperation, parsed: ParsedToolName) -> str:
    """Return the document's summary, or the words of the name if its text does not begin with what the op does."""
    if operation.has_own_summary or tool_name_words.get_first_word(operation.summary) in tool_name_words.VERBS:
        return operation.summary
    words = (parsed.verb, *parsed.namespaces, *parsed.resource, *parsed.qualifier)
    return " ".join(words).replace("_", " ").capitalize()[:200]
