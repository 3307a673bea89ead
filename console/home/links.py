"""Links that several parts of the home page show."""

from collections.abc import Iterable
from typing import NamedTuple

from django.urls import reverse

from registry.models import Op


class NamedLink(NamedTuple):
    """A name and the URL of its page; "" if it has none."""

    name: str
    link: str


def map_op_urls(names: Iterable[str]) -> dict[str, str]:
    """Return the URL of each op's page by op name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}
