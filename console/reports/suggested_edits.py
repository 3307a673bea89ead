"""Suggest an edit of the draft for what models got wrong. A suggestion that could do harm names no op."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.template.defaultfilters import pluralize
from django.urls import reverse

from core.text import english
from gateway.arguments.words import find_action, find_argument
from gateway.execution import op_guesses
from gateway.execution.op_guesses import DELETE, UNLINK
from registry.catalog import cache
from registry.catalog.builder import build_op
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp
from registry.drafts.edits import OpEdit
from registry.jsonschema import dialect, signatures
from registry.snapshot.entries import OpEntry
from registry.vocabulary import CatalogVocabulary

MISSPELLED = 0.8  # similarity of two verbs, from which one is taken for a misspelling of the other
UNKNOWN_ARGUMENT = "unknown_argument"  # the code of its field error
MAX_VALUES = 12  # of an enum that a rule lists


class SuggestedEdit(NamedTuple):
    """An addition to an op. `op` is "" if a person has to choose it."""

    label: str
    edit: OpEdit
    op: str = ""
    text: str = ""
    argument: str = ""


def get_live_catalog() -> Catalog | None:
    """Return the catalog of the live release; None without one."""
    try:
        return cache.get_live_catalog()
    except cache.NoLiveRelease:
        return None


def describe_unknown_name(times: int) -> str:
    """Return the evidence for an edit: how often models used a name that does not exist."""
    return f"{times:,} call{pluralize(times)} to a name that does not exist"


def suggest_for_name(name: str, catalog: Catalog | None) -> SuggestedEdit:
    """Suggest what to do about an unknown name: an alias, or a rule if the name reads as a change of state.

    An op is named only if kind and verb agree, and never one that deletes or unlinks; none without a live release.
    """
    if catalog is None:
        return SuggestedEdit("Alias", OpEdit.ALIAS, text=name)
    view = catalog.view_for(FULL_VISIBILITY)
    if op_guesses.is_in_unknown_group(catalog, view, name):
        return SuggestedEdit("Alias", OpEdit.ALIAS, text=name)
    guess = op_guesses.guess_op(catalog, op_guesses.limit_to_asked_group(view, name), name, {})
    if guess is not None and not _is_destructive(guess.op):
        if not guess.args:
            return SuggestedEdit("Alias", OpEdit.ALIAS, guess.op.op, name)
        sent = " and ".join(f"{argument} {value}" for argument, value in guess.args.items())
        verb = english.to_snake_case(name.rpartition(".")[2]).replace("_", " ")
        return SuggestedEdit("Rule", OpEdit.DO, guess.op.op, f"To {verb}, send {sent}.")
    return SuggestedEdit("Alias", OpEdit.ALIAS, _find_misspelled(name, catalog), name)


def suggest_for_choice(wrong: str, right: str, summary: str) -> SuggestedEdit:
    """Suggest a rule for an op that models take for another one, which has this summary."""
    purpose = f"{summary[:1].lower()}{summary[1:]}".rstrip(".")
    text = f"Never use it to {purpose}; use {right}." if purpose else f"Never use it instead of {right}."
    return SuggestedEdit("Rule", OpEdit.DONT, wrong, text)


def suggest_for_argument(name: str, entry: OpEntry, words: CatalogVocabulary) -> SuggestedEdit:
    """Suggest an alias for an unknown argument of an op."""
    op = build_op(entry, words)
    meant = find_argument(name, op) or next(iter(english.find_similar(name, op.arguments, limit=1)), "")
    return SuggestedEdit("Argument alias", OpEdit.ARGUMENT_ALIAS, op.op, name, meant)


def suggest_for_value(argument: str, code: str, entry: OpEntry) -> SuggestedEdit:
    """Suggest a rule for an argument that is missing or has a wrong value; it says what to send."""
    schema = entry["parameters_schema"]
    form = build_op(entry).arguments.get(argument)
    if form is None:
        text = ""
    elif code == "required":
        text = f"Always send {argument}."
    else:
        text = f"Send {argument} as {_describe_values(form, schema)}."
    return SuggestedEdit("Rule", OpEdit.DO, entry["op"], text)


def suggest_for_field_error(pointer: str, code: str, entry: OpEntry, words: CatalogVocabulary) -> SuggestedEdit:
    """Suggest what to do about a field error that repeats: an alias for an unknown argument, or a rule."""
    name = pointer.removeprefix("/")
    if code == UNKNOWN_ARGUMENT and "/" not in name:
        return suggest_for_argument(name, entry, words)
    return suggest_for_value(name.partition("/")[0], code, entry)


def build_edit_url(suggested: SuggestedEdit, *, evidence: str, **fields: Any) -> str:
    """Return the URL of the form for an edit of the draft, prefilled."""
    values = {"edit": suggested.edit.value, "evidence": evidence, **fields}
    values |= {name: value for name in ("op", "text", "argument") if (value := getattr(suggested, name))}
    return f"{reverse('admin:registry_op_edit')}?{urlencode(values)}"


def _describe_values(form: Mapping[str, Any], schema: dict[str, Any]) -> str:
    values = dialect.dereference(schema, form).get("enum")
    if isinstance(values, list) and 0 < len(values) <= MAX_VALUES:
        return f"one of {', '.join(str(value) for value in values)}"
    without_default = {key: value for key, value in form.items() if key != "default"}  # " = 3" would read as a value
    return signatures.format_argument(without_default, schema, required=False).replace("|null", "")


def _is_destructive(op: CatalogOp) -> bool:
    return op.action in (DELETE, UNLINK)


def _find_misspelled(name: str, catalog: Catalog) -> str:
    """Return the op whose name was misspelled; "" if none was, or if its verb is another word."""
    paths = {each: op.op for op in catalog.ops.values() if op.is_active for each in (op.op, op.tool_name)}
    for similar in english.find_similar(name, paths):
        op = catalog.ops[paths[similar]]
        sent, known = (_get_verb(each) for each in (name, similar))
        is_misspelled = sent == known or (
            find_action(sent, catalog.vocabulary) is None and english.find_similar(sent, [known], cutoff=MISSPELLED)
        )
        if is_misspelled and not _is_destructive(op):
            return op.op
    return ""


def _get_verb(name: str) -> str:
    """Return the word that says what to do: the last part of a path, the first word of a tool name."""
    return name.rpartition(".")[2] if "." in name else english.to_snake_case(name).partition("_")[0]
