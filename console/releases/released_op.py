"""The page of one op in a release: what models read, and how the draft differs."""

from collections.abc import Iterator
from typing import Any, Literal

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from console import diff_view
from console.releases.actions import ReleaseActionsMixin
from core.text import json_text
from registry.catalog import builder
from registry.drafts import draft
from registry.help import help_pages, token_budget
from registry.help.help_pages import HelpQuery
from registry.releases import help_diff, stored_releases
from registry.snapshot import diff
from registry.snapshot.diff import Kind


class ReleasedOpMixin(ReleaseActionsMixin):
    """Adds the page of one released op to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("<str:version>/read/", self.admin_site.admin_view(self.read_view), name="registry_release_read")
        return [own, *super().get_urls()]

    def read_view(self, request: HttpRequest, version: str) -> HttpResponse:
        """Show an op as models read it in a release, and how the draft differs."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        release, op = diff_view.get_release_or_404(version), request.GET.get("op", "")
        content = stored_releases.load_content(release)
        entry = diff.index_entries(content, Kind.OP).get(op)
        if entry is None:
            raise Http404(f"Release {release} has no op {op[:200]}.")
        draft_entry = draft.read_entry(Kind.OP, op)
        change = diff.diff_entries(Kind.OP, entry, draft_entry)
        context = {
            "title": f"Op {op} in release {release}",
            "release": release,
            "op": op,
            "answers": list(_iterate_answers(entry)),
            "difference": help_diff.build_differences([change], _wrap_entry(entry), _wrap_entry(draft_entry))[0]
            if change
            else None,
            "may_restore": self.has_restore_permission(request),
        }
        return TemplateResponse(
            request, "console/releases/released_op.html", self.admin_site.each_context(request) | context
        )


def _iterate_answers(entry: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """Yield (form, body, tokens) of the help about an op."""
    catalog = builder.build_catalog("", _wrap_entry(entry))
    forms: tuple[Literal["short", "full"], ...] = ("short", "full")
    for form in forms if catalog.ops[entry["op"]].is_active else ():
        body = help_pages.answer_query(catalog, HelpQuery(path=entry["op"], format=form)).body
        yield form, json_text.load(body), token_budget.count_rendered_tokens(body)


def _wrap_entry(entry: dict[str, Any] | None) -> dict[str, Any]:
    """Return a snapshot of one op. Help about an op does not depend on other ops."""
    return {"format": 1, "groups": [], "ops": [entry] if entry else []}
