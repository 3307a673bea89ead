"""The vocabulary of a catalog: words that models and people say instead of its names and values (docs/adr/0034).

General English is in core.text.english and is the same for all catalogs.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import ImproperlyConfigured
from django.db.models import TextChoices

from core.text import english
from registry.jsonschema.dialect import VALUE_ALIASES, VALUE_REFUSALS
from registry.text.harmful_verbs import HARMFUL_VERBS

KEY = "vocabulary"  # of its list in a snapshot and in YAML files
FILE_NAME = "vocabulary.yaml"  # where an app ships its words
DANGEROUS_ACTIONS = ("delete", "unlink")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,15}")


def build_name(*parts: str) -> str:
    """Return the name of an entry: its parts that are not empty, joined by slashes. A slash in a part is doubled."""
    return "/".join(part.replace("/", "//") for part in parts if part)


class WordKind(TextChoices):
    """The part of a call that words stand for."""

    ENTITY = "entity", "kind of row"
    ACTION = "action", "action"
    ARGUMENT = "argument", "argument"
    VALUE = "value", "value"


@dataclass(frozen=True, slots=True)
class CatalogWords:
    """One entry: words, and the one thing of the catalog that they stand for."""

    kind: str
    meaning: str  # the entity, action, argument or value
    words: tuple[str, ...]  # in snake_case
    argument: str = ""  # of a value: the pattern of the arguments that take it
    ops: str = ""  # of a value: the pattern of the ops that have these arguments; empty: all


@dataclass(frozen=True, slots=True)
class CatalogVocabulary:
    """The vocabulary of one release, looked up by kind."""

    entries: tuple[CatalogWords, ...] = ()
    words_by_entity: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    action_by_word: Mapping[str, str] = field(default_factory=dict)
    argument_names: tuple[tuple[str, ...], ...] = ()  # each argument with its words
    values_by_ops: Mapping[str, "ValueWords"] = field(default_factory=dict)

    @classmethod
    def build(cls, entries: Iterable[Mapping[str, Any]]) -> "CatalogVocabulary":
        """Build the vocabulary from the entries of a snapshot."""
        rows = tuple(CatalogWords(**{**entry, "words": tuple(entry["words"])}) for entry in entries)
        words_by_entity: dict[str, tuple[str, ...]] = {}
        action_by_word: dict[str, str] = {}
        values_by_ops: dict[str, list[CatalogWords]] = {}
        for row in rows:
            match row.kind:
                case WordKind.ENTITY:
                    words_by_entity[row.meaning] = row.words
                case WordKind.ACTION:
                    words = (word for word in row.words if not hides_danger(word, row.meaning))
                    action_by_word = dict.fromkeys(words, row.meaning) | action_by_word
                case WordKind.VALUE:
                    values_by_ops.setdefault(row.ops or "*", []).append(row)
        argument_names = tuple((row.meaning, *row.words) for row in rows if row.kind == WordKind.ARGUMENT)
        values = {pattern: ValueWords(entries) for pattern, entries in values_by_ops.items()}
        return cls(rows, words_by_entity, action_by_word, argument_names, values)

    def get_entity_words(self, entity: str) -> tuple[str, ...]:
        """Return the words for an entity, without the entity itself."""
        return self.words_by_entity.get(entity, ())

    def add_value_aliases(self, op: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an op with the words for its values, in the annotation that an argument has for them.

        A schema without such an argument is returned as it is. Does not change `schema`.
        """
        for values in self.iterate_values(op):
            schema = _add_to_arguments(schema, values)
        return schema

    def iterate_values(self, op: str) -> Iterator["ValueWords"]:
        """Yield the entries of values that are for an op."""
        return (values for pattern, values in self.values_by_ops.items() if fnmatchcase(op, pattern))


class ValueWords:
    """The entries of values for the same ops, by the name of an argument."""

    def __init__(self, entries: Sequence[CatalogWords]) -> None:
        self._entries = entries
        self._aliases: dict[str, dict[str, Any]] = {}
        self._by_argument: dict[str, list[CatalogWords]] = {}  # ops have many arguments, but few different names

    def list_for_argument(self, name: str) -> list[CatalogWords]:
        """Return the entries for an argument with this name, whatever values it takes."""
        if name not in self._by_argument:
            self._by_argument[name] = [row for row in self._entries if fnmatchcase(name, row.argument)]
        return self._by_argument[name]

    def get_aliases(self, name: str, argument: Mapping[str, Any]) -> dict[str, Any]:
        """Return {word: value} for an argument. Arguments with the same name and values share one object in memory."""
        entries = self.list_for_argument(name)
        if not entries:
            return {}
        keys = ("type", "enum", "const", "minimum", "maximum", "anyOf", "oneOf", VALUE_ALIASES, VALUE_REFUSALS)
        key = json.dumps([name, *(argument.get(each) for each in keys)])
        if key not in self._aliases:
            self._aliases[key] = _collect_aliases(argument, entries)
        return self._aliases[key]


NO_VOCABULARY = CatalogVocabulary()


def find_general_action(verb: str) -> str | None:
    """Return the action of ops that a verb asks for in general English."""
    return next((words[0] for words in english.ACTION_VERBS if verb in words), None)


def hides_danger(word: str, action: str) -> bool:
    """Return whether a word for something dangerous is given to another action.

    Such a word is ignored, because names say what is dangerous: a catalog may add words for that and take none away.
    """
    general = find_general_action(word)
    if general in DANGEROUS_ACTIONS:
        return action != general
    return _is_dangerous(word) and not _is_dangerous(action)


def _is_dangerous(word: str) -> bool:
    return word in DANGEROUS_ACTIONS or not HARMFUL_VERBS.isdisjoint(word.split("_"))


def iterate_arguments(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, schema) of the arguments of an op, and of the members of objects and lists among them.

    The items of a list have its name.
    """
    arguments = schema.get("properties")
    for name, argument in arguments.items() if isinstance(arguments, dict) else ():
        while isinstance(argument, dict):
            yield name, argument
            yield from iterate_arguments(argument)
            argument = argument.get("items")


def find_option(schema: Mapping[str, Any], meaning: str) -> Any:
    """Return the value of an argument that is written like `meaning`: an option, or a whole number within its limits.

    None if the argument takes no such value.
    """
    options = {_write(option): option for option in _iterate_options(schema)}
    if meaning in options:
        return options[meaning]
    number = int(meaning) if _WHOLE_NUMBER.fullmatch(meaning) else None
    for part in _iterate_alternatives(schema):
        least, most = (None, None) if "enum" in part else (part.get("minimum"), part.get("maximum"))
        if number is not None and isinstance(least, int) and isinstance(most, int) and least <= number <= most:
            return number
    return None


def _iterate_options(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values that an argument lists, without null."""
    for part in _iterate_alternatives(schema):
        listed = part.get("enum")
        yield from (option for option in listed if option is not None) if isinstance(listed, list) else ()
        yield from (part["const"],) if part.get("const") is not None else ()
        yield from (True, False) if part.get("type") == "boolean" and listed is None else ()


def _iterate_alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas that may list the values of an argument: its own, and those of its alternatives."""
    yield schema
    for keyword in ("anyOf", "oneOf") if "enum" not in schema else ():
        parts = schema.get(keyword)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                yield from _iterate_alternatives(part)


def _write(option: Any) -> str:
    return json.dumps(option) if isinstance(option, bool) else str(option)


_shipped_folders: tuple[Path, ...] = ()


def set_shipped_folders(folders: Sequence[Path]) -> None:
    """Set the folders with the copy of the installed apps.

    Raises ImproperlyConfigured if one word means two things, or if a file is invalid.
    """
    global _shipped_folders
    _shipped_folders = tuple(folders)
    get_shipped_names.cache_clear()
    list_shipped_entries()


def list_shipped_entries() -> list[dict[str, Any]]:
    """Return the entries that the installed apps ship: what a snapshot without a list of entries stands for."""
    entries: list[tuple[str, dict[str, Any]]] = []
    for path in (folder / FILE_NAME for folder in _shipped_folders):
        if not path.is_file():
            continue
        place = "/".join(path.parts[-3:])
        try:
            document = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) or {}
            entries += [(place, entry | {"words": list(entry["words"])}) for entry in document.get(KEY) or ()]
        except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
            raise ImproperlyConfigured(f"{place} is not a vocabulary: {error!r}") from None
    _refuse_conflicts(entries)
    return join_entries(entry for _, entry in entries)


def join_entries(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return entries of several apps as one entry for each meaning, with the words of all."""
    joined: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries:
        key = tuple(entry.get(name, "") for name in ("kind", "argument", "meaning", "ops"))
        words = [*joined.get(key, {}).get("words", ()), *entry["words"]]
        joined[key] = {**entry, "words": list(dict.fromkeys(words))}
    return list(joined.values())


def _refuse_conflicts(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Raise ImproperlyConfigured if two apps have one word for two kinds of rows or for two actions.

    A word for two arguments or values is not a conflict: an op seldom has both, and the checks find those that do.
    """
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for place, entry in entries:
        kind, meaning = entry["kind"], entry["meaning"]
        for word in entry["words"] if kind in (WordKind.ENTITY, WordKind.ACTION) else ():
            other_meaning, other_place = known.setdefault((kind, word), (meaning, place))
            if meaning != other_meaning and place != other_place:
                raise ImproperlyConfigured(
                    f"The word {word} stands for the {WordKind(kind).label} {other_meaning} in {other_place}, and for "
                    f"{meaning} in {place}. Remove it from one of them."
                )


@cache
def get_shipped_names() -> CatalogVocabulary:
    """Return the shipped vocabulary without values, for a release that was frozen before vocabularies were part of one.

    Then the code had these names. The values were part of the schemas, and still are in such a release.
    """
    return CatalogVocabulary.build(entry for entry in list_shipped_entries() if entry["kind"] != WordKind.VALUE)


def _add_to_arguments(schema: dict[str, Any], values: ValueWords) -> dict[str, Any]:
    arguments = schema.get("properties")
    if not isinstance(arguments, dict):
        return schema
    changed = {
        name: annotated
        for name, argument in arguments.items()
        if isinstance(argument, dict) and (annotated := _add_to_argument(name, argument, values)) is not argument
    }
    return schema | {"properties": arguments | changed} if changed else schema


def _add_to_argument(name: str, argument: dict[str, Any], values: ValueWords) -> dict[str, Any]:
    """Return an argument with the words for its values, and for those of its members or items."""
    annotated = _add_to_arguments(argument, values)
    if isinstance(items := argument.get("items"), dict) and (new := _add_to_argument(name, items, values)) is not items:
        annotated = annotated | {"items": new}
    aliases = values.get_aliases(name, argument)
    return annotated | {VALUE_ALIASES: aliases} if aliases else annotated


def _collect_aliases(argument: Mapping[str, Any], entries: Sequence[CatalogWords]) -> dict[str, Any]:
    """Return {word: value}. What an argument itself says of a word comes first, and of two entries the first.

    A word that is one of the argument's own values, in any spelling, means that value.
    """
    options = [(row, option) for row in entries if (option := find_option(argument, row.meaning)) is not None]
    if not options:
        return {}
    own = [_write(option) for option in _iterate_options(argument)]
    for annotation in (argument.get(VALUE_ALIASES), argument.get(VALUE_REFUSALS)):
        own += annotation if isinstance(annotation, dict) else ()
    taken = {english.to_snake_case(each) for each in own}
    aliases: dict[str, Any] = {}
    for row, option in options:
        for word in row.words:
            if word not in taken and not word.isdecimal():
                aliases.setdefault(word, option)
    said = argument.get(VALUE_ALIASES)
    return aliases | said if aliases and isinstance(said, dict) else aliases
