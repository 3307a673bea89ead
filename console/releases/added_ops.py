"""The ops that a draft adds, by service and group: nobody reads the thousand ops of an import one after another."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import pluralize
from django.urls import URLPattern, path, reverse

from console import diff_view, op_tree
from console.releases import selection
from core import memory
from core.admin import base
from registry.models import Connection, Op, Release, get_parent_path
from registry.releases import review
from registry.releases.help_diff import TokenCounts
from registry.releases.selection import DraftSelection
from registry.reviews.holds import Holders
from registry.snapshot.diff import Action, CopyChange, Kind

MAX_TRIED = 500  # added ops among which to choose what to try
MAX_SHOWN = 20  # added ops; if there are more, all of them are collapsed
GROUP = "group"  # query parameter


class AddedOps(NamedTuple):
    """The added ops of a service or a group. Tokens are those of all its short and full help."""

    path: str
    op_count: int
    reads: int
    tokens: TokenCounts
    url: str
    groups: list["AddedOps"]  # of a service with several groups

    @property
    def figures(self) -> str:
        """Counts and tokens in words: "3 ops: 1 read, 2 write · 120 tokens short, 400 full"."""
        if not self.op_count:
            return "the group itself"
        kinds = {"read": self.reads, "write": self.op_count - self.reads}
        kinds_text = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
        short, full = self.tokens
        return f"{self.op_count:,} op{pluralize(self.op_count)}: {kinds_text} · {short:,} tokens short, {full:,} full"


def split_changes(changes: Sequence[CopyChange]) -> tuple[list[CopyChange], list[CopyChange]]:
    """Return the added ops and groups to collapse, and the changes to show one by one."""
    added = [change for change in changes if _is_added(change)]
    if sum(change.kind == Kind.OP for change in added) <= MAX_SHOWN:
        return [], list(changes)
    return added, [change for change in changes if not _is_added(change)]


def query_services(chosen: DraftSelection) -> QuerySet[Op]:
    """Return the first ops that the selected changes add and that run in a service."""
    before = {entry["op"] for entry in chosen.before["ops"]}
    paths = [entry["op"] for entry in chosen.after["ops"] if entry["op"] not in before]
    return Op.objects.filter(op__in=paths[:MAX_TRIED], connection__kind__in=(Connection.Kind.HTTP, Connection.Kind.MCP))


def build_context(added: Sequence[CopyChange], tokens: dict[str, TokenCounts]) -> dict[str, Any]:
    """Return the context of console/releases/added_ops.html. `tokens` are those of each op's help."""
    changes = {change.name: change for change in added if change.kind == Kind.OP}

    def build_summary(path: str, names: list[str], groups: list[AddedOps]) -> AddedOps:
        kinds = [changes[name].fields["kind"][1] for name in names]
        short, full = (sum(tokens.get(name, (0, 0))[form] for name in names) for form in (0, 1))
        url = f"{reverse('admin:registry_release_added_ops')}?{urlencode({GROUP: path})}"
        return AddedOps(path, len(names), kinds.count(Op.Kind.READ), (short, full), url, groups)

    services = []
    for service, groups in op_tree.build_tree(
        changes, [change.name for change in added if change.kind == Kind.GROUP]
    ).items():
        summaries = [build_summary(group, names, []) for group, names in groups.items()]
        names = [name for group in groups.values() for name in group]
        services.append(build_summary(service, names, summaries) if len(groups) > 1 else summaries[0])
    return {"added_count": len(changes), "added_group_count": len(added) - len(changes), "added_services": services}


class AddedOpsMixin(base.ModelAdmin[Release]):
    """Adds the page of the added ops of a group to the release admin. The review shows it inside its own page."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.added_ops_view)
        return [path("review/added/", view, name="registry_release_added_ops"), *super().get_urls()]

    @memory.pause_gc()
    def added_ops_view(self, request: HttpRequest) -> HttpResponse:
        """Show what models will read of the added ops of the group in the query."""
        if not diff_view.can_see_draft(request):
            raise PermissionDenied
        group = request.GET.get(GROUP, "")
        draft_review = review.review_draft(selection.choose_changes(request, Holders.load()))
        added = [change for change in draft_review.changes if _is_added(change)]
        of_group = [change for change in added if _get_group(change) == group]
        page = Paginator(of_group, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
        context = {
            "title": f"New ops in {group}",
            "can_discard": draft_review.live is not None and diff_view.can_write_draft(request),
            **diff_view.build_diff_context(page, draft_review.build_differences(list(page))),
        }
        return render(request, "console/releases/added_ops_page.html", self.admin_site.each_context(request) | context)


def _is_added(change: CopyChange) -> bool:
    return change.kind in (Kind.OP, Kind.GROUP) and change.action == Action.ADDED


def _get_group(change: CopyChange) -> str:
    """Return the group under which a change is shown: that of an op, or the group itself."""
    return change.name if change.kind == Kind.GROUP else get_parent_path(change.name)
