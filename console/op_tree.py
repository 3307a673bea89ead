"""Ops as a tree of services and groups, for pages on which a line for each op would be too much."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from registry.models import ROOT, Group, Op, get_parent_path

GROUP = "group"  # query parameter
OpTree = dict[str, dict[str, list[str]]]  # service -> group -> paths of its ops


def get_service(path: str) -> str:
    """Return the top-level group of an op: onto for onto.task.get."""
    service, dot, _ = path.partition(".")
    return service if dot else ROOT


def build_tree(paths: Iterable[str], groups: Iterable[str] = ()) -> OpTree:
    """Return ops by service and by the group that lists them, all sorted by name. `groups` may have no ops."""
    tree: OpTree = defaultdict(lambda: defaultdict(list))
    for path in sorted(paths):
        tree[get_service(path)][get_parent_path(path)].append(path)
    for group in groups:
        tree[group.partition(".")[0]][group]  # an empty list, if there is none
    return {service: dict(sorted(tree[service].items())) for service in sorted(tree)}


class GroupLink(NamedTuple):
    """A service or a group with the number of its ops, in the list as it is filtered otherwise."""

    path: str
    op_count: int
    url: str
    is_current: bool
    groups: list["GroupLink"]

    @property
    def is_open(self) -> bool:
        return self.is_current or any(each.is_current for each in self.groups)


class OpGroupFilter(SimpleListFilter):
    """Filter ops by a group and everything below it. The tree sets it."""

    title, parameter_name = "service", GROUP

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        services = Group.objects.exclude(path__contains=".").exclude(path="root")
        return [(path, path) for path in services.values_list("path", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Op]) -> QuerySet[Op]:
        return queryset.filter(op__startswith=f"{self.value()}.") if self.value() else queryset


def build_links(changelist: Any, request: HttpRequest) -> list[GroupLink]:
    """Return the services of a list of ops, which its other filters and its search have found. One query."""
    found = changelist.get_queryset(request, exclude_parameters=[GROUP])
    current = request.GET.get(GROUP, "")

    def link(path: str, count: int, groups: list[GroupLink]) -> GroupLink:
        url = changelist.get_query_string({GROUP: path}, ["p", "all"])
        return GroupLink(path, count, url, path == current, groups)

    links = []
    for service, groups in build_tree(found.order_by().values_list("op", flat=True)).items():
        inner = [link(path, len(names), []) for path, names in groups.items() if path != service]
        links.append(link(service, sum(map(len, groups.values())), inner))
    return links
