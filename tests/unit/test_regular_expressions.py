"""Every regular expression of the product takes linear time, on the texts that are worst for it.

A search for `x+y` in a run of x is quadratic: from each x it reads to the end of the run. So each repetition without a
limit gets long runs of what it repeats, after what the pattern wants before it and before something else.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # there is no public way to take one apart
from typing import Any

import pytest

from tests.support.cpu_budget import TRIES, assert_cpu_seconds

APPS = "core audit notifications analytics registry workspace gateway chat demo console config".split()
STARTS_SOMETHING = {"config.asgi", "config.rsgi", "config.serve", "config.wsgi"}  # when it is imported
# These need apps that are off.
SINGLE_SIGN_ON = {f"core.sign_in.{name}" for name in ("openid_connect", "single_sign_on", "single_sign_on_urls")}
ROOT = Path(__file__).parents[2]

LENGTH = 10_000  # characters
SECONDS = 0.05  # a linear search takes a few milliseconds, a quadratic one most of a second
MANY = 1_000  # repetitions; what is repeated at most so often cannot take long

REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
SETS = (_constants.NOT_LITERAL, _constants.ANY, _constants.IN)
CHARACTERS = " a0_.-A\n\"'\\(<`/:,=é…"  # that a set is tried with, if they are in it
MEMBERS = 3  # of a set that are tried
ENDS = ("", "\0", " ", "a")

Parts = Sequence[tuple[Any, Any]]  # what each part of a pattern is, and its arguments


def test_patterns_take_linear_time() -> None:
    for name, pattern in collect_patterns().items():
        slow = [f"{text[:20]}…{text[-4:]}" for text in sorted(build_worst_texts(pattern)) if is_slow(pattern, text)]

        assert slow == [], name


@pytest.mark.parametrize("quadratic", [r"\s*[\r\n]", r"_+(?!\w)", r'"(?:[^"\\]|\\.)*"', r"=\s*'?\s*(\w)", r"(?:ab)+c"])
def test_worst_texts_show_a_quadratic_pattern(quadratic: str) -> None:
    pattern = re.compile(quadratic)

    assert any(is_slow(pattern, text, tries=1) for text in build_worst_texts(pattern))


def test_patterns_are_constants_of_their_modules() -> None:
    hidden = {
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
        for statement in ast.parse(path.read_text()).body
        if isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and re.fullmatch(r"re\.(?!escape)\w+", ast.unparse(call.func))
    }

    # The tests above would not see them.
    assert hidden == set()


def collect_patterns() -> dict[str, "re.Pattern[Any]"]:
    """Return the patterns that the modules of the product hold, alone, in collections or in validators, by name."""
    names: dict[re.Pattern[Any], str] = {}
    for app in APPS:
        for module in pkgutil.walk_packages(importlib.import_module(app).__path__, f"{app}."):
            if module.name not in STARTS_SOMETHING | SINGLE_SIGN_ON and ".migrations" not in module.name:
                for name, value in vars(importlib.import_module(module.name)).items():
                    for pattern in iter_patterns(value):
                        names.setdefault(pattern, f"{module.name}.{name}")
    return {f"{name} {pattern.pattern!r}": pattern for pattern, name in names.items()}


def iter_patterns(value: Any) -> Iterator["re.Pattern[Any]"]:
    """Yield the patterns in a value."""
    match value:
        case re.Pattern():
            yield value
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from iter_patterns(item)
        case dict():
            yield from iter_patterns([*value.values()])
        case _ if isinstance(regex := getattr(value, "regex", None), re.Pattern):
            yield regex


def is_slow(pattern: "re.Pattern[Any]", text: str, *, tries: int = TRIES) -> bool:
    """Return whether a search through a text takes longer than a linear one."""
    subject: Any = text if isinstance(pattern.pattern, str) else text.encode()
    try:
        assert_cpu_seconds(SECONDS, lambda: pattern.findall(subject), tries=tries)
    except AssertionError:
        return True
    return False


def build_worst_texts(pattern: "re.Pattern[Any]") -> set[str]:
    """Return texts of about LENGTH characters for each repetition without a limit."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    parsed = _parser.parse(source, pattern.flags)
    texts = set()
    for prefix, repeated in iter_repeats(parsed, Examples(parsed.state)):
        for unit in Examples(parsed.state, prefix + CHARACTERS).find(repeated):
            run = unit * (LENGTH // len(unit))
            texts |= {before + run + end for before in {"", prefix} for end in ENDS}
            texts.add((prefix + unit) * (LENGTH // len(prefix + unit)))
    return texts


def iter_repeats(parts: Parts, examples: "Examples", prefix: str = "") -> Iterator[tuple[str, Parts]]:
    """Yield each repetition without a limit: a text that matches what is before it, and what is repeated."""
    for what, arguments in parts:
        if what in REPEATS and arguments[1] >= MANY:
            yield prefix, arguments[2]
        for inner in list_inner(what, arguments):
            yield from iter_repeats(inner, examples, prefix)
        prefix += examples.find([(what, arguments)])[0]


def list_inner(what: Any, arguments: Any) -> list[Parts]:
    """Return the patterns inside a part of a pattern."""
    if what is _constants.BRANCH:
        return list(arguments[1])
    if what is _constants.ATOMIC_GROUP:
        return [arguments]
    return (
        [arguments[-1]] if what in (*REPEATS, _constants.SUBPATTERN, _constants.ASSERT, _constants.ASSERT_NOT) else []
    )


@dataclass(frozen=True, slots=True)
class Examples:
    """Short texts that parts of a pattern match. Of a set, they have the first of the `preferred` characters."""

    state: Any
    preferred: str = CHARACTERS

    def find(self, parts: Parts) -> list[str]:
        """Return texts for parts in a row: some for a single set, one for each branch, else one."""
        if len(parts) != 1:
            return ["".join(self.find([part])[0] for part in parts)]
        what, arguments = parts[0]
        if what is _constants.LITERAL:
            return [chr(arguments)]
        if what in SETS:
            return self._list_members(what, arguments)
        if what in REPEATS:
            return [self.find(arguments[2])[0] * arguments[0]]
        if what in (_constants.BRANCH, _constants.SUBPATTERN, _constants.ATOMIC_GROUP):
            return [example for inner in list_inner(what, arguments) for example in self.find(inner)]
        return [""]  # an assertion

    def _list_members(self, what: Any, arguments: Any) -> list[str]:
        compiled = _compiler.compile(_parser.SubPattern(self.state, [(what, arguments)]), self.state.flags)
        members = dict.fromkeys(filter(compiled.fullmatch, self.preferred))
        return [*members][:MEMBERS] or [chr(first if isinstance(first := arguments[0][1], int) else first[0])]
