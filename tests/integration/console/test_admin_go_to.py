""" "Go to" in the console's sidebar finds lists, ops, groups, cohorts, releases and clients by name."""

import pytest
from django.contrib.auth.models import User
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, Subject
from core import manifest
from core.admin.site import MAX_ROWS
from gateway.models import Client
from registry.models import Op, Release
from tests.support.clients.api import Api
from tests.support.console.staff import create_staff, sign_in

URL = "/admin/search/"


def find_links(client: HttpClient, query: str, **parameters: str) -> list[str]:
    response = client.get(URL, {"s": query, **parameters})
    assert response.status_code == 200
    return [item.link for item in response.context["results"]]


def test_go_to_finds_lists_and_ops_by_name(api: Api, admin_client: HttpClient) -> None:
    op = Op.objects.get(op="onto.task.update")

    assert find_links(admin_client, "RELEASES")[0] == reverse("admin:registry_release_changelist")
    assert find_links(admin_client, "onto.task.update")[0] == reverse("admin:registry_op_change", args=[op.pk])
    assert "No matches." in admin_client.get(URL, {"s": "zzz"}).content.decode()


def test_go_to_ranks_by_name_and_ops_before_groups(api: Api, admin_client: HttpClient) -> None:
    titles = [item.title for item in admin_client.get(URL, {"s": "onto.task"}).context["results"]]

    assert titles[0] == "onto.task"  # the whole name
    assert titles.index("onto.task.update") < titles.index("onto.task.docs")  # an op, a group
    assert titles.index("onto.task.docs") < min(at for at, title in enumerate(titles) if ": " in title)  # a rule


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
    assert find_links(admin_client, "pilot")[0] == cohort_url
    assert find_links(admin_client, "platinum") == [cohort_url]
    assert cohort_url in find_links(admin_client, "tier")


@pytest.mark.both_databases  # it looks into JSON
def test_go_to_finds_the_ops_of_an_argument_before_rules_that_name_it(api: Api, admin_client: HttpClient) -> None:
    op = Op.objects.get(op="onto.task.update")
    rule = op.rules.create(kind="do", text="Send state_key to close a task.", position=99)

    results = admin_client.get(URL, {"s": "state_key"}).context["results"]

    links = [each.link for each in results]
    at_op, at_rule = (
        links.index(reverse(f"admin:registry_{row._meta.model_name}_change", args=[row.pk])) for row in (op, rule)
    )
    assert at_op < at_rule
    assert {each.description for each in results[: at_op + 1]} == {"op with the argument state_key"}
    assert results[at_rule].description == "rule of onto.task.update"


def test_go_to_finds_users_events_settings_and_words_of_guides(api: Api, admin_client: HttpClient) -> None:
    user = create_staff("wilhelmina")
    event = OperationEvent.objects.create(
        time=timezone.now(), type="exec", op="onto.task.get", ok=True, status=200, latency_ms=1, trace_id="tr_1"
    )
    event_url = reverse("admin:analytics_operationevent_change", args=[event.pk])
    settings_url = reverse("admin:guide", args=["reference/settings"])

    assert find_links(admin_client, "wilhelm")[0] == reverse("admin:auth_user_change", args=[user.pk])
    assert find_links(admin_client, str(event.pk))[0] == event_url
    assert find_links(admin_client, "gateway_event_days")[0].startswith(f"{settings_url}#")
    assert any(
        "rollout-guide/#is-one-better" in link for link in find_links(admin_client, "beyond the chance of so many ops")
    )
    assert find_links(admin_client, "9" * 30) == []


@pytest.mark.both_databases  # each has its own index for texts that begin with another
def test_go_to_finds_end_users_by_the_beginning_of_their_id(api: Api, admin_client: HttpClient) -> None:
    Subject.objects.bulk_create(
        Subject(subject=f"demo-user-{number:03}", seen_at=timezone.now()) for number in range(100)
    )
    who_url = reverse("admin:rollout_who")

    [whole] = admin_client.get(URL, {"s": "demo-user-003"}).context["results"]

    assert (whole.title, whole.description, whole.link) == (
        "demo-user-003",
        "end user",
        f"{who_url}?subject=demo-user-003",
    )
    assert whole.title in admin_client.get(whole.link).content.decode()

    def find_users(client: HttpClient, search_text: str) -> list[str]:
        return [link for link in find_links(client, search_text) if link.startswith(f"{who_url}?")]

    first_links = [f"{who_url}?subject=demo-user-{number:03}" for number in range(MAX_ROWS)]
    assert find_users(admin_client, "demo-user-0") == first_links
    assert find_users(admin_client, "user-003") == []
    assert find_users(sign_in("pm", permissions=["view_cohort", "view_flag", "view_assignment"]), "demo-user") == []


@pytest.mark.parametrize(
    ("search_text", "title"),
    [
        ("failure rate", "Overview"),
        ("Misses", "Misses"),
        ("miss rate", "Misses"),
        ("latency", "By op"),
        ("tokens", "Turns"),
        ("cost", "Model prices"),
        ("hallucinations", "Unknown names and loops"),
        ("compare releases", "Side by side"),
        ("end users", "Users seen"),
        ("invite", "Add user"),
        ("invite user", "Add user"),
        ("new key", "Add API key"),
        ("import", "Import an OpenAPI document"),
        ("import mcp", "Import an MCP server"),
        ("new cohort", "Add cohort"),
        ("new op", "Add op"),
    ],
)
def test_go_to_finds_pages_by_the_words_people_use(admin_client: HttpClient, search_text: str, title: str) -> None:
    results = admin_client.get(URL, {"s": search_text}).context["results"]

    first = [each.title for each in results[:3]]
    assert title in first
    assert admin_client.get(results[first.index(title)].link).status_code == 200


def test_go_to_opens_each_action_for_those_who_can_do_it(admin_client: HttpClient) -> None:
    reader = sign_in("reader", permissions=["view_op"])

    for action in manifest.get().actions:
        link = reverse(f"admin:{action.name}")
        for phrase in (action.title, *action.keywords):
            assert link in find_links(admin_client, phrase)
            assert link not in find_links(reader, phrase)
        assert admin_client.get(link).status_code == 200
        assert reader.get(link).status_code == 403


def test_go_to_ranks_words_in_a_name_before_words_in_a_text(api: Api, admin_client: HttpClient) -> None:
    User.objects.create_user("m-curie", first_name="Marie", last_name="Release", is_staff=True)

    def find_titles(query: str) -> list[str]:
        return [item.title for item in admin_client.get(URL, {"s": query}).context["results"]]

    assert find_titles("marie release") == ["m-curie · Marie Release"]
    assert find_titles("event days")[0] == "GATEWAY_EVENT_DAYS"
    for query in ("release", "cohort"):
        with_word = [query in each.casefold() for each in find_titles(query)]
        assert with_word == sorted(with_word, reverse=True)


def test_go_to_accepts_any_short_text_and_refuses_long_and_invalid_text(api: Api, admin_client: HttpClient) -> None:
    for query in ("", "  ", "%", "\\", "'\"", "é" * 5_000):
        find_links(admin_client, query, page="x", extended="1")
    for query in ("\x00", "a" * 60_000, "a " * 100):
        response = admin_client.get(URL, {"s": query})
        assert (response.status_code, response.content[-1:]) == (400, b".")


def test_go_to_omits_pages_without_permission(api: Api) -> None:
    client = sign_in("reader", permissions=["view_group"])

    assert len([link for link in find_links(client, "onto") if "/group/" in link]) == MAX_ROWS
    assert not [link for link in find_links(client, "Switches") if "/switch/" in link]
    event = OperationEvent.objects.create(
        time=timezone.now(), type="exec", op="onto.task.get", ok=True, status=200, latency_ms=1, trace_id="tr_1"
    )
    for query in ("state_key", "reader", str(event.pk)):
        links = find_links(client, query)
        assert not [link for link in links if any(part in link for part in ("/op/", "/user/", "/operationevent/"))]
    client.logout()
    assert client.get(URL, {"s": "onto"}).status_code == 302
