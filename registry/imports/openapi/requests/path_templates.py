"""Read the path of an operation: its placeholders, also greedy ones, and its query if it has one.

Besides {name}, documents have what their servers and frameworks write: {proxy+}, {path:path}, {name=sites/*/pumps/*},
{id:[0-9]+}, {?page,limit}.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

_SAFE = "/:@!$&'()*+,;=~%"  # in a path, besides letters, digits and - . _
_SAFE_QUERY = _SAFE + "?"
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_GREEDY_TYPES = frozenset(("path", ".*", ".+", "*", "**", "splat", "any", "*path"))
_OPERATORS = ".;|!@"  # of RFC 6570, or reserved there: no parameter says how to fill them in


class UnusablePath(Exception):
    """A path cannot be sent as it is written. The message says why."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One value in the path. `written` is what stands between the braces; `pattern` what a greedy value looks like."""

    name: str
    written: str
    is_greedy: bool = False
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A path with {names}, percent-encoded elsewhere.

    `query` is what every request has, as it stands in the document. `query_arguments` are by their key in the query.
    """

    path: str
    placeholders: dict[str, Placeholder] = field(default_factory=dict)
    query: str = ""
    query_arguments: dict[str, Placeholder] = field(default_factory=dict)

    @property
    def fixed_keys(self) -> frozenset[str]:
        """The names that `query` has."""
        return frozenset(pair.partition("=")[0] for pair in self.query.split("&") if pair)


def parse_path(text: str) -> PathTemplate:
    """Return the parts of a path. Raises UnusablePath."""
    pieces = list(_split(text if text.startswith("/") else f"/{text}"))
    start = next((at for at, piece in enumerate(pieces) if piece == "?"), len(pieces))
    path = ""
    placeholders: dict[str, Placeholder] = {}
    arguments: dict[str, Placeholder] = {}
    for piece in pieces[:start]:
        if isinstance(piece, Placeholder) and piece.written[:1] in ("?", "&"):
            arguments |= _read_expansion(piece)
        elif isinstance(piece, Placeholder):
            path += ("/" if piece.written.startswith("/") else "") + f"{{{piece.name}}}"
            placeholders[piece.name] = piece
        else:
            path += _encode(piece, _SAFE)
    query, more = _read_query(pieces[start + 1 :])
    return PathTemplate(path, placeholders, query, arguments | more)


def _split(text: str) -> Iterator[str | Placeholder]:
    """Yield the placeholders, the first question mark, and the text between them. A fragment is left out."""
    literal, at, has_query = "", 0, False
    while at < len(text):
        letter = text[at]
        if letter == "#":
            break
        if letter == "}":
            raise UnusablePath("Its path has a closing brace without an opening one.")
        if letter == "{" or (letter == "?" and not has_query):
            if literal:
                yield literal
            literal = ""
            if letter == "?":
                has_query = True
                yield "?"
            else:
                end = _find_end(text, at)
                yield _read_placeholder(text[at + 1 : end])
                at = end
        else:
            literal += letter
        at += 1
    if literal:
        yield literal


def _find_end(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise UnusablePath("Its path has an opening brace without a closing one.")


def _read_placeholder(written: str) -> Placeholder:
    inner = written.strip()
    if inner[:1] in ("?", "&"):
        return Placeholder(inner, written)
    if not inner or inner[0] in _OPERATORS:
        raise UnusablePath(f"Its path has {{{written[:40]}}}, which no parameter can fill in.")
    name, equals, pattern = inner.partition("=")
    if equals:  # of gRPC: {name=sites/*/pumps/*}
        is_greedy = "/" in pattern or "**" in pattern
        return Placeholder(_check(name, written), written, is_greedy, _build_pattern(pattern) if is_greedy else "")
    name, colon, kind = inner.partition(":")
    is_greedy = bool(colon) and kind in _GREEDY_TYPES
    is_greedy = is_greedy or name.startswith(("+", "*")) or name.endswith(("+", "*"))
    return Placeholder(_check(name.lstrip("/").strip("+*?"), written), written, is_greedy)


def _check(name: str, written: str) -> str:
    if not name.strip() or any(letter in name for letter in "{}/"):
        raise UnusablePath(f"Its path has {{{written[:40]}}}, which no parameter can fill in.")
    return name.strip()


def _build_pattern(pattern: str) -> str:
    """Return the regular expression of a pattern such as sites/*/pumps/*."""
    parts = {"*": "[^/]+", "**": ".+"}
    return f"^{'/'.join(parts.get(segment, re.escape(segment)) for segment in pattern.split('/'))}$"


def _read_expansion(piece: Placeholder) -> dict[str, Placeholder]:
    """Return the arguments of {?page,limit}."""
    names = [name.strip().rstrip("*") for name in piece.name[1:].split(",")]
    return {name: Placeholder(_check(name, piece.written), piece.written) for name in names}


def _read_query(pieces: list[str | Placeholder]) -> tuple[str, dict[str, Placeholder]]:
    """Return the part of a query that is fixed, as it is written, and its arguments."""
    pairs: list[list[str | Placeholder]] = [[]]
    arguments: dict[str, Placeholder] = {}
    for piece in pieces:
        if isinstance(piece, Placeholder):
            if piece.written[:1] in ("?", "&"):
                arguments |= _read_expansion(piece)
            else:
                pairs[-1].append(piece)
            continue
        first, *others = piece.split("&")
        pairs[-1].append(first)
        pairs += [[each] for each in others]
    fixed = []
    for pair in ([each for each in pair if each] for pair in pairs):
        match pair:
            case []:
                continue
            case [str() as text]:
                fixed.append(_encode(text, _SAFE_QUERY))
            case [str() as key, Placeholder() as placeholder] if key.endswith("=") and key.count("=") == 1:
                arguments[key[:-1]] = placeholder
            case _:
                raise UnusablePath("Its path has a query that cannot be filled in: only whole values can be arguments.")
    return "&".join(fixed), arguments


def _encode(text: str, safe: str) -> str:
    """Percent-encode what cannot stand in an address. What is encoded stays."""
    return quote(_LONE_PERCENT.sub("%25", text), safe=safe)
