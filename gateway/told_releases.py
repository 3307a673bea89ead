"""The releases endpoints: list releases, and show one with its ops and their tokens."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from gateway import pages
from gateway.callers import Caller
from gateway.errors import Missing
from gateway.pages import Page
from registry import catalogs, releases
from registry.models import Activation, Release


def listed(page: Page) -> Mapping[str, Any]:
    """Return a page of releases, newest first: {results, next_cursor}. One query."""
    rows = _rows().defer("content", "tokens").filter(page.condition("created_at", "version"))
    found = list(rows.order_by("-created_at", "-version")[: page.limit + 1])
    shown, more = found[: page.limit], len(found) > page.limit
    last = (shown[-1].created_at, shown[-1].version) if more else None
    return pages.told([_told(release) for release in shown], last)


def one(version: str, caller: Caller) -> dict[str, Any]:
    """Return one release with the ops that this caller may see, and their tokens. Raises Missing."""
    release = _rows().filter(version=version).first()
    if release is None:
        message = "There is no such release. GET /api/v1/releases lists them."
        raise Missing(message, reason="unknown_release")
    catalog = catalogs.build(version, releases.content(release), release.tokens)
    visible = (op for path, op in sorted(catalog.ops.items()) if caller.key.visibility.allows(op))
    return {**_told(release), "ops": [_op(op, catalog.tokens) for op in visible]}


def _rows() -> QuerySet[Release]:
    activations = Activation.objects.filter(release=OuterRef("pk"))
    return Release.objects.annotate(
        is_live=Exists(activations.filter(is_live=True)),
        note=Subquery(activations.order_by("activated_at", "id").values("note")[:1]),
    )


def _told(release: Any) -> dict[str, Any]:
    """Return a release as a list shows it; `note` is the note of its first activation."""
    told = {
        "version": release.version,
        "at": release.created_at.isoformat(),
        "by": release.created_by,
        "note": release.note or "",
        "op_count": release.op_count,
        "live": release.is_live,
        "withdrawn": release.withdrawn_at is not None,
    }
    return told | ({"withdrawn_reason": release.withdrawn_reason} if told["withdrawn"] else {})


def _op(op: catalogs.CatalogOp, tokens: dict[str, list[int]]) -> dict[str, Any]:
    told: dict[str, Any] = {"op": op.op, "kind": op.kind, "summary": op.summary, "status": op.status}
    if op.op in tokens:
        told["tokens"] = dict(zip(("short", "full"), tokens[op.op], strict=True))
    return told
