"""Tables and Mermaid diagrams for docs/workspace.md, generated from the models and relations."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db import models

from workspace.kinds import KINDS, Kind
from workspace.relations import HOLDS, JOINS, PARENTS, Pair, Rel

DRAWN = 20  # relations with more pairs would make the diagram unreadable; only the table lists them


def entities() -> str:
    """Return a Markdown table of the entity types and a Mermaid diagram of their foreign keys."""
    return f"{_kinds()}\n\n{_mermaid('erDiagram', _foreign_keys())}"


def edges() -> str:
    """Return a Mermaid diagram of the relations between entity types and a Markdown table of all relations."""
    return f"{_mermaid('flowchart TD', _arrows())}\n\n{_relations()}"


def _kinds() -> str:
    head = ["| kind | description | label | states | default type_key |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(_kind(kind) for kind in KINDS.values())])


def _kind(kind: Kind) -> str:
    names = {field.name: field for field in kind.model._meta.concrete_fields}
    states = ", ".join(f"`{value}`" for value, _ in names["state_key"].flatchoices) if "state_key" in names else "none"
    said = str(kind.model.__doc__).partition("\n")[0]
    return f"| {kind.name} | {said} | `{kind.label}` | {states} | {_default(names['type_key'])} |"


def _default(field: Any) -> str:
    return f"`{field.get_default()}`" if field.has_default() else "required"


def _foreign_keys() -> Iterator[str]:
    """Yield an erDiagram line for each foreign key, from its target (one, or zero or one) to many."""
    for model in apps.get_app_config("workspace").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey):
                one = "|o" if field.null else "||"
                held = field.remote_field.get_accessor_name()
                target: Any = field.related_model
                yield f"{_box(target)} {one}--o{{ {_box(model)} : {held}"


def _arrows() -> Iterator[str]:
    """Yield a thick arrow from each allowed parent to its children and a dotted arrow for every other relation."""
    for child, rel in HOLDS.items():
        yield from (f"{parent.value} ==>|{rel}| {child.value}" for parent in PARENTS[child])
    for rel, pairs in JOINS.items():
        if rel not in HOLDS.values() and len(pairs) <= DRAWN:
            yield from (f"{source} -.->|{rel}| {destination}" for source, destination in _sorted(pairs))


def _relations() -> str:
    head = ["| relation | from | to |", "|---|---|---|"]
    return "\n".join([*head, *(_relation(rel) for rel in Rel)])


def _relation(rel: Rel) -> str:
    sources, destinations = zip(*_sorted(JOINS[rel]), strict=True)
    return f"| `{rel}` | {_any(sources)} | {_any(destinations)} |"


def _sorted(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    return sorted((source.value, destination.value) for source, destination in pairs)


def _any(kinds: Iterable[str]) -> str:
    named = sorted(set(kinds))
    return "any" if set(named) == set(KINDS) else ", ".join(named)


def _box(model: type[models.Model]) -> str:
    return str(model._meta.model_name)


def _mermaid(form: str, lines: Iterator[str]) -> str:
    return "\n".join(["```mermaid", form, *(f"    {line}" for line in lines), "```"])
