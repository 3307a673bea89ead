"""Tables and Mermaid diagrams for docs/workspace.md, generated from the models and relations."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db import models

from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.relations import ALLOWED_PARENTS, KINDS_BY_RELATION, PARENT_RELATIONS, Pair, Rel

MAX_DRAWN_PAIRS = 20  # relations with more pairs would make the diagram unreadable; only the table lists them


def render_entities() -> str:
    """Return a Markdown table of the entity types and a Mermaid diagram of their foreign keys."""
    return f"{_render_entity_table()}\n\n{_render_mermaid('erDiagram', _iter_foreign_keys())}"


def render_relations() -> str:
    """Return a Mermaid diagram of the relations between entity types and a Markdown table of all relations."""
    return f"{_render_mermaid('flowchart TD', _iter_arrows())}\n\n{_render_relation_table()}"


def _render_entity_table() -> str:
    header = ["| kind | description | label | states | default type_key |", "|---|---|---|---|---|"]
    return "\n".join([*header, *(_render_entity_row(kind) for kind in ENTITY_TYPE_BY_NAME.values())])


def _render_entity_row(kind: EntityType) -> str:
    fields_by_name = {field.name: field for field in kind.model._meta.concrete_fields}
    states = (
        ", ".join(f"`{value}`" for value, _ in fields_by_name["state_key"].flatchoices)
        if "state_key" in fields_by_name
        else "none"
    )
    description = str(kind.model.__doc__).partition("\n")[0]
    return (
        f"| {kind.name} | {description} | `{kind.label}` | {states} | {_format_default(fields_by_name['type_key'])} |"
    )


def _format_default(field: Any) -> str:
    return f"`{field.get_default()}`" if field.has_default() else "required"


def _iter_foreign_keys() -> Iterator[str]:
    """Yield an erDiagram line for each foreign key, from its target (one, or zero or one) to many."""
    for model in apps.get_app_config("workspace").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey):
                cardinality = "|o" if field.null else "||"
                accessor = field.remote_field.get_accessor_name()
                target: Any = field.related_model
                yield f"{_get_node_name(target)} {cardinality}--o{{ {_get_node_name(model)} : {accessor}"


def _iter_arrows() -> Iterator[str]:
    """Yield a thick arrow from each allowed parent to its children and a dotted arrow for every other relation."""
    for child, rel in PARENT_RELATIONS.items():
        yield from (f"{parent.value} ==>|{rel}| {child.value}" for parent in ALLOWED_PARENTS[child])
    for rel, pairs in KINDS_BY_RELATION.items():
        if rel not in PARENT_RELATIONS.values() and len(pairs) <= MAX_DRAWN_PAIRS:
            yield from (f"{source} -.->|{rel}| {destination}" for source, destination in _sort_pairs(pairs))


def _render_relation_table() -> str:
    header = ["| relation | from | to |", "|---|---|---|"]
    return "\n".join([*header, *(_render_relation_row(rel) for rel in Rel)])


def _render_relation_row(rel: Rel) -> str:
    sources, destinations = zip(*_sort_pairs(KINDS_BY_RELATION[rel]), strict=True)
    return f"| `{rel}` | {_format_kinds(sources)} | {_format_kinds(destinations)} |"


def _sort_pairs(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    return sorted((source.value, destination.value) for source, destination in pairs)


def _format_kinds(kinds: Iterable[str]) -> str:
    names = sorted(set(kinds))
    return "any" if set(names) == set(ENTITY_TYPE_BY_NAME) else ", ".join(names)


def _get_node_name(model: type[models.Model]) -> str:
    return str(model._meta.model_name)


def _render_mermaid(diagram_type: str, lines: Iterator[str]) -> str:
    return "\n".join(["```mermaid", diagram_type, *(f"    {line}" for line in lines), "```"])
