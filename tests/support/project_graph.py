"""Rows of any kind and edges between them, for tests that are about how rows hang together."""

from itertools import count
from typing import Any

from tests.support.factories import MADE_AT
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Edge, Project

_numbers = count(1)


def row(kind: str, project: Project, **fields: Any) -> Any:
    """Make a row of the kind in a project; it names itself after its kind."""
    if kind == "project":
        return project
    label = ENTITY_TYPE_BY_NAME[kind].label
    made = {label: f"{kind} {next(_numbers)}", "created_by": "owner", "created_at": MADE_AT, "updated_at": MADE_AT}
    return ENTITY_TYPE_BY_NAME[kind].model._default_manager.create(project=project, **(made | fields))


def edge(src: Any, rel: str, dst: Any, **fields: Any) -> Edge:
    """Join two rows as they stand, without asking whether that makes sense."""
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


def sentences() -> list[str]:
    """Return the edges there are, as they are told, in alphabetical order."""
    return sorted(str(edge) for edge in Edge.objects.filter(deleted_at=None))
