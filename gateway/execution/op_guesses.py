"""Guess the op that a call means: by the entity and the action in a name that no op has, or by its arguments."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from core.text.english import RELATIONS, find_similar, to_snake_case
from gateway.access.request_context import is_uuid
from gateway.arguments.words import (
    find_action,
    find_argument,
    find_option,
    is_about_answer,
    is_cancelling,
)
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp, CatalogView
from registry.jsonschema.dialect import VALUE_ALIASES
from registry.models import ROOT
from registry.vocabulary import CatalogVocabulary

DELETE, UNLINK = "delete", "unlink"
_LISTING = ("list", "search")
_LINK_ARGUMENTS = frozenset(("src_kind", "src_id", "dst_kind", "dst_id", "rel"))  # of an op that links two rows
MAX_WORDS = 12  # of a name
MAX_OPS = 200  # of an entity; more are not looked at, because each word of the name is tried on each


@dataclass(frozen=True, slots=True)
class OpGuess:
    """The op that a name means, and the args that the name itself gives, such as a state."""

    op: CatalogOp
    args: dict[str, Any] = field(default_factory=dict)
    replaces: bool = False  # whether these are all args, instead of those sent


@dataclass(frozen=True, slots=True)
class _OpIndex:
    """The ops of a view, our own before those of services, by the parts of names."""

    ops: list[CatalogOp]
    by_written_path: Mapping[str, list[CatalogOp]]
    by_entity: Mapping[str, list[CatalogOp]]
    general: list[CatalogOp]  # without an entity

    @classmethod
    def build(cls, catalog: Catalog, view: CatalogView) -> "_OpIndex":
        ops = sorted((catalog.ops[path] for path in view.ops), key=lambda op: (op.is_of_service, op.op))
        by_written_path: dict[str, list[CatalogOp]] = {}
        by_entity: dict[str, list[CatalogOp]] = {}
        for op in ops:
            by_written_path.setdefault(op.op.replace(".", "_"), []).append(op)
            by_entity.setdefault(op.entity, []).append(op)
        general = by_entity.pop("", [])
        return cls(ops, by_written_path, by_entity, general)


def guess_op(catalog: Catalog, view: CatalogView, name: str, args: Mapping[str, Any]) -> OpGuess | None:
    """Return the op that a made-up name means, such as onto.task.complete. None if that is not certain."""
    words = [word for word in to_snake_case(name[:200]).split("_") if word][:MAX_WORDS]
    if not words:
        return None
    index = view.get_or_derive(_OpIndex, lambda: _OpIndex.build(catalog, view))
    written = index.by_written_path.get("_".join(words), ())
    if len(written) == 1:  # as a model writes it that takes paths for tool names
        return OpGuess(written[0])
    entities = list(dict.fromkeys(_iter_entities(words, index.by_entity.keys(), catalog.vocabulary)))
    nouns = {word for word in words if _is_noun(word, entities, catalog.vocabulary)}
    verbs = [verb for verb in _iter_verbs(words) if not nouns & set(verb.split("_"))]
    if linked := _find_linked_rows(index.ops, words, args):
        return linked
    for entity in entities:
        own_ops = index.by_entity[entity][:MAX_OPS]
        parts = [op for op in own_ops if set(op.op.split(".")[1:-1]) & (set(words) - nouns)]
        if len(parts) == 1 or ((parts := [op for op in parts if not op.is_write]) and len(parts) == 1):
            return OpGuess(parts[0])  # document.tree: the op in this group
        for verb in verbs:
            guess = _find_by_option(own_ops, verb) or _find_by_action(own_ops, verb) or _find_by_state(own_ops, verb)
            if guess:
                return _add_flags(guess, words)
    for entity in entities:
        own_ops = index.by_entity[entity][:MAX_OPS]
        if words[-1].endswith("s") and (guess := _find_by_action(own_ops, "list")):
            return _add_flags(guess, words)
    general_ops = index.general
    if entities or len(general_ops) > MAX_OPS:
        return None
    guesses = (guess for verb in verbs if (guess := _find_by_action(general_ops, verb)))
    guess = next(guesses, None)
    is_verb_only = all(find_action(word, catalog.vocabulary) for word in words)
    return guess if guess and (is_verb_only or _shares_noun(guess.op, words)) else None


def resolve_name(catalog: Catalog, name: str) -> str:
    """Return the path of the op that runs, or is proposed, for a name; "" if there is none."""
    if op := catalog.find_op(name):
        return op.op
    view = catalog.view_for(FULL_VISIBILITY)
    guess = guess_op(catalog, limit_to_asked_group(view, name), name, {})
    return guess.op.op if guess else ""


def limit_to_asked_group(view: CatalogView, name: str) -> CatalogView:
    """Return only what is in the outermost group that a path begins with; all if there is no such group.

    What another group has under a similar name may be about something else, at another service.
    """
    group = name[:200].partition(".")[0]
    if "." not in name or group == ROOT or group not in view.children:
        return view
    return view.get_or_derive((CatalogView, group), lambda: _limit_to_group(view, group))


def _limit_to_group(view: CatalogView, group: str) -> CatalogView:
    below = f"{group}."
    return CatalogView(
        frozenset(path for path in view.ops if path.startswith(below)),
        {path: children for path, children in view.children.items() if path == group or path.startswith(below)},
        {path: count for path, count in view.counts.items() if path == group or path.startswith(below)},
        view.off_reasons,
    )


def is_in_unknown_group(catalog: Catalog, view: CatalogView, name: str) -> bool:
    """Return whether a path of group, resource and verb begins with a group that the caller does not have.

    A first part that means a group or an entity, such as calendar in calendar.meeting.list, is not a separate group.
    """
    first, *rest = name[:200].split(".")
    if len(rest) < 2 or first in view.children:
        return False
    groups = {part for path in view.children for part in path.split(".")}
    entities = {entity for path in view.ops if (entity := catalog.ops[path].entity)}
    words = to_snake_case(first).split("_")
    is_group = bool(groups & {*words, *(word.removesuffix("s") for word in words)})
    is_misspelled = bool(find_similar(first, view.children.get(ROOT, ())))
    return not (is_group or is_misspelled or any(_iter_entities(words, entities, catalog.vocabulary)))


def asks_to_delete(name: str, vocabulary: CatalogVocabulary) -> bool:
    """Return whether a name has a word for deleting."""
    verbs = _iter_verbs(to_snake_case(name[:200]).split("_"))
    return any(find_action(verb, vocabulary) == DELETE for verb in verbs)


def find_op_that_takes(
    catalog: Catalog, view: CatalogView, op: CatalogOp, name: str, args: Mapping[str, Any]
) -> tuple[CatalogOp, dict[str, Any]] | None:
    """Return the one other op that takes an argument, and the args under its names.

    An op on the same rows comes first, then one that takes exactly these args. None if no op or several do, or if the
    argument only says what to answer. A list or search is never taken for one of other rows. An op that creates or
    deletes is never taken for one that changes, nor any for one that deletes or unlinks.
    """
    if op.action in (DELETE, UNLINK) or is_about_answer(name, is_write=op.is_write):
        return None
    others = [
        other
        for path in view.ops
        if (other := catalog.ops[path]).op != op.op
        and (other.connection, other.kind) == (op.connection, op.kind)
        and other.action not in ("create", DELETE)
        and not _lists_other_rows(op, other)
    ]
    same_rows = [
        (other, renamed)
        for other in others
        if other.entity == op.entity and _is_about_same_row(op, other) and (renamed := _rename_for(other, name, args))
    ]
    exact = [(other, dict(args)) for other in others if other.required <= args.keys() <= other.arguments.keys()]
    for found in (same_rows, exact):
        if len(found) == 1:
            return found[0]
    return None


def find_link(
    catalog: Catalog, view: CatalogView, op: CatalogOp, name: str, args: Mapping[str, Any]
) -> tuple[CatalogOp, dict[str, Any] | None] | None:
    """Return the op that links two rows, and its args, for an argument that would link the row of an update.

    Such as depends_on or milestone_id on an update of a task. The args are None if more was sent than the link takes:
    the update must then run as well.
    """
    if op.action != "update":
        return None
    links = [each for path in view.ops if (each := catalog.ops[path]).arguments.keys() >= _LINK_ARGUMENTS]
    id_argument = f"{op.entity}_id"
    if len(links) != 1 or links[0].connection != op.connection or not isinstance(args.get(id_argument), str):
        return None
    word = to_snake_case(name[:100]).removesuffix("_ids").removesuffix("_id")
    relation = RELATIONS.get(word)
    kinds = links[0].arguments["dst_kind"].get("enum", ())
    kind = op.entity if relation else next((each for each in kinds if each == word.removesuffix("s")), None)
    other = args[name][0] if isinstance(args[name], list) and len(args[name]) == 1 else args[name]
    if kind not in kinds or op.entity not in kinds or not isinstance(other, str):
        return None
    ends = {"src_kind": op.entity, "src_id": args[id_argument], "dst_kind": kind}
    end = {"dst_id" if is_uuid(other) else "dst_title": other}
    if args.keys() - {name, id_argument, "project_id"}:
        return links[0], None
    return links[0], ends | end | {"rel": relation or f"targets_{kind}"}


def find_only_op(view: CatalogView, path: str) -> str | None:
    """Return the op of a group that holds one op and nothing else."""
    children = view.children.get(path, ()) if path != ROOT else ()
    if len(children) != 1:
        return None
    return children[0] if children[0] in view.ops else find_only_op(view, children[0])


def _is_about_same_row(op: CatalogOp, other: CatalogOp) -> bool:
    """Return whether two ops have the same required ids, as those that change one row, or none, as lists."""
    ids = {name for name in op.required if name.endswith("_id")}
    return ids <= other.required if ids else op.action in _LISTING


def _lists_other_rows(op: CatalogOp, other: CatalogOp) -> bool:
    """Return whether two ops choose rows, but of different entities. An op on rows of all entities has none."""
    return op.action in _LISTING and other.action in _LISTING and other.entity not in ("", op.entity)


def _rename_for(op: CatalogOp, name: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the args with an unknown argument under the name that an op has for it; None if it has none."""
    own_name = find_argument(name, op)
    if own_name is None or (own_name != name and own_name in args):
        return None
    return {own_name if each == name else each: value for each, value in args.items()}


def _iter_entities(words: list[str], entities: Set[str], vocabulary: CatalogVocabulary) -> Iterator[str]:
    """Yield the entities that a name mentions, the last word first: task.docs means documents of a task."""
    for word in (form for each in reversed(words) for form in _list_forms(each)):
        if word in entities:
            yield word
        yield from (
            entity for entity, names in vocabulary.words_by_entity.items() if entity in entities and word in names
        )
    texts = [f"_{'_'.join(forms)}_" for forms in (words, [word.removesuffix("s") for word in words])]
    for entity, names in vocabulary.words_by_entity.items():
        if entity in entities and any(f"_{each}_" in text for each in names if "_" in each for text in texts):
            yield entity


def _is_noun(word: str, entities: Sequence[str], vocabulary: CatalogVocabulary) -> bool:
    forms = set(_list_forms(word))
    return any(not forms.isdisjoint((entity, *vocabulary.get_entity_words(entity))) for entity in entities)


def _list_forms(word: str) -> tuple[str, ...]:
    """Return a word as it is, because status and news are singular, and without an s at its end."""
    return tuple(dict.fromkeys((word, word.removesuffix("s"))))


def _iter_verbs(words: list[str]) -> Iterator[str]:
    yield from ("_".join(pair) for pair in pairwise(words))
    yield from reversed(words)


def _find_by_action(ops: list[CatalogOp], verb: str) -> OpGuess | None:
    """Return the op with the action that a verb names, in its own word before others, and the shortest path.

    An op of a connected service is not used if one of our own ops means the same.
    """
    for actions in ([op for op in ops if verb in op.action.split("_")], _list_by_synonym(ops, verb)):
        ranked = sorted((((op.is_of_service, op.op.count(".")), op) for op in actions), key=lambda each: each[0])
        if ranked and (len(ranked) == 1 or ranked[0][0] < ranked[1][0]):
            return OpGuess(ranked[0][1])
    return None


def _list_by_synonym(ops: list[CatalogOp], verb: str) -> list[CatalogOp]:
    action = find_action(verb, ops[0].vocabulary) if ops else None
    if action is None and is_cancelling(verb) and not any(_iter_states(op) for op in ops):
        action = DELETE  # a meeting has no state, so cancelling deletes it
    return [op for op in ops if action and op.action == action]


def _find_by_option(ops: list[CatalogOp], verb: str) -> OpGuess | None:
    """Return the update with an option of exactly this name, such as the strategy append."""
    for op in (op for op in ops if op.action == "update"):
        for name, argument in op.arguments.items():
            if verb in argument.get("enum", ()) and not _is_state(name):
                return OpGuess(op, {name: verb})
    return None


def _find_by_state(ops: list[CatalogOp], verb: str) -> OpGuess | None:
    """Return the update that a verb such as complete or pause means: it sets a state."""
    for op in (op for op in ops if op.action == "update"):
        for name, options in _iter_states(op):
            for spelling in (verb, f"{verb}d", f"{verb}ed"):
                option = find_option(spelling, options, op.vocabulary)
                if option is not None:
                    return OpGuess(op, {name: option})
    return None


def _iter_states(op: CatalogOp) -> list[tuple[str, dict[str, Any]]]:
    """Return the arguments of an op that set a state, each with {word: option}."""
    states = []
    for name, argument in op.arguments.items():
        aliases = argument.get(VALUE_ALIASES)
        aliases = aliases if isinstance(aliases, dict) else {}
        if _is_state(name) and argument.get("enum"):
            states.append((name, {str(option): option for option in argument["enum"] if option} | aliases))
    return states


def _is_state(name: str) -> bool:
    return "state" in name or name == "status"


def _shares_noun(op: CatalogOp, words: Sequence[str]) -> bool:
    """Return whether a name has a word of an op's path besides its group and its action."""
    own = {part for name in op.op.split(".")[1:] for part in name.split("_")} - set(op.action.split("_"))
    return bool(own & {*words, *(word.removesuffix("s") for word in words)})


def _find_linked_rows(ops: list[CatalogOp], words: list[str], args: Mapping[str, Any]) -> OpGuess | None:
    """Return the op that lists links, for a name such as milestone.tasks with the id of a milestone."""
    if len(words) < 2 or not words[-1].endswith("s"):  # an entity, and what belongs to it
        return None
    owner, other = words[-2].removesuffix("s"), words[-1].removesuffix("s")
    id = args.get(f"{owner}_id")
    for op in ops if id else ():
        kinds = op.arguments.get("entity_kind", {}).get("enum", ())
        if owner in kinds and other in op.arguments.get("filter_kind", {}).get("enum", ()):
            lists = [each for each in ops if each.entity == other and each.action == "list"]
            if any(f"{owner}_id" in each.arguments for each in lists):
                return None
            return OpGuess(op, {"entity_kind": owner, "entity_id": id, "filter_kind": other}, replaces=True)
    return None


def _add_flags(guess: OpGuess, words: list[str]) -> OpGuess:
    """Add the boolean arguments that the name has as a word, such as overdue in list_overdue_tasks."""
    flags = {word: True for word in words if guess.op.arguments.get(word, {}).get("type") == "boolean"}
    return OpGuess(guess.op, guess.args | flags)
