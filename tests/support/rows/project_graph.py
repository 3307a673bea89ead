"""Rows of any kind and edges between them."""

from itertools import count
from typing import Any

from tests.support.rows.factories import MADE_AT
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Edge, Project

_numbers = count(1)


def create_row(kind: str, project: Project, **fields: Any) -> Any:
    """Create a row of a kind in a project, named after its kind."""
    if kind == "project":
        return project
    label = ENTITY_TYPE_BY_NAME[kind].label
    values = {label: f"{kind} {next(_numbers)}", "created_by": "owner", "created_at": MADE_AT, "updated_at": MADE_AT}
    return ENTITY_TYPE_BY_NAME[kind].model._default_manager.create(project=project, **(values | fields))


def create_edge(src: Any, rel: str, dst: Any, **fields: Any) -> Edge:
    """Create an edge between two rows without any checks."""
    return Edge.objects.create(
        project=src if isinstance(src, Project) else src.project,
        src_kind=src._meta.model_name,
        src_id=src.pk,
        rel=rel,
        dst_kind=dst._meta.model_name,
        dst_id=dst.pk,
        created_by="owner",
        **({"created_at": MADE_AT} | fields),
    )


def list_edges() -> list[str]:
    """Return all edges as text, in alphabetical order."""
    return sorted(str(edge) for edge in Edge.objects.filter(deleted_at=None))
