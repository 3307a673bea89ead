""" "Go to" in the console's sidebar finds lists, ops, groups, cohorts, releases and clients by name."""

from django.test import Client as HttpClient
from django.urls import reverse

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from core.admin.site import MAX_ROWS
from gateway.models import Client
from registry.models import Op, Release
from tests.support.clients.api import Api
from tests.support.console.staff import sign_in

URL = "/admin/search/"


def find_links(client: HttpClient, query: str, **parameters: str) -> list[str]:
    response = client.get(URL, {"s": query, **parameters})
    assert response.status_code == 200
    return [item.link for item in response.context["results"]]


def test_go_to_finds_lists_and_ops_by_name(api: Api, admin_client: HttpClient) -> None:
    op = Op.objects.get(op="onto.task.update")

    assert find_links(admin_client, "RELEASES")[0] == reverse("admin:registry_release_changelist")
    assert find_links(admin_client, "onto.task.update")[0] == reverse("admin:registry_op_change", args=[op.pk])
    assert "No matching names." in admin_client.get(URL, {"s": "zzz"}).content.decode()


def test_go_to_ranks_by_name_and_ops_before_groups(api: Api, admin_client: HttpClient) -> None:
    titles = [item.title for item in admin_client.get(URL, {"s": "onto.task"}).context["results"]]

    assert titles[0] == "onto.task"  # the whole name
    assert titles.index("onto.task.update") < titles.index("onto.task.docs")  # an op, a group
    assert ": " in titles[-1]  # a rule that names it


def test_go_to_finds_cohorts_clients_and_releases(api: Api, admin_client: HttpClient) -> None:
    cohort = Cohort.objects.create(flag_id=FlagKey.SURFACE, name="pilot", variant="gateway")
    cohort.rules.create(attribute="trait", trait="tier", values=["platinum"])
    client, release = Client.objects.all()[0], Release.objects.all()[0]
    cohort_url = reverse("admin:analytics_cohort_change", args=[cohort.pk])
    release_url = reverse("admin:registry_release_change", args=[release.pk])

    [numbered] = admin_client.get(URL, {"s": f"R{release.number}"}).context["results"]

    assert (numbered.title, numbered.link) == (f"r{release.number} ({release})", release_url)
    assert find_links(admin_client, str(release)) == [release_url]
    assert reverse("admin:gateway_client_change", args=[client.pk]) in find_links(admin_client, client.name)
    assert find_links(admin_client, "pilot") == find_links(admin_client, "platinum") == [cohort_url]
    assert find_links(admin_client, "tier")[0] == cohort_url


def test_go_to_accepts_any_short_text_and_refuses_long_and_invalid_text(api: Api, admin_client: HttpClient) -> None:
    for query in ("", "  ", "%", "\\", "'\"", "é" * 5_000):
        find_links(admin_client, query, page="x", extended="1")
    for query in ("\x00", "a" * 60_000, "a " * 100):
        response = admin_client.get(URL, {"s": query})
        assert (response.status_code, response.content[-1:]) == (400, b".")


def test_go_to_omits_pages_without_permission(api: Api) -> None:
    client = sign_in("reader", permissions=["view_group"])

    assert len(find_links(client, "onto")) == MAX_ROWS
    assert find_links(client, "Switches") == []
    client.logout()
    assert client.get(URL, {"s": "onto"}).status_code == 302
