"""The admin's first page: what needs somebody today, and what to do where nothing does."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.models import OpDaily
from registry import releases, switching, watching
from registry.models import Activation, Op
from tests.conftest import Api


def text(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())


def home(client: HttpClient) -> str:
    return text(client.get(reverse("admin:index")))


def change(path: str, **fields: Any) -> Op:
    op = Op.objects.get(op=path)
    with watching.recorded([op], by="ann", at=timezone.now()):
        for name, value in fields.items():
            setattr(op, name, value)
        op.save()
    return op


def test_a_quiet_day_says_so_and_what_to_do_next(api: Api, admin_client: HttpClient) -> None:
    page = home(admin_client)

    assert "None: the draft is what is live." in page
    assert str(releases.live()) in page
    assert "No other release was live before" in page
    assert "Nobody called an op yet." in page
    assert "Nothing is." in page


def test_what_is_not_live_leads_to_the_review(api: Api, admin_client: HttpClient) -> None:
    op = change("onto.task.get", summary="Get one task, whole")

    page = home(admin_client)

    assert '<p class="desk-figure">1 op</p>' in page
    assert f'<a href="{reverse("admin:registry_op_change", args=[op.pk])}">onto.task.get</a>' in page
    assert f'href="{reverse("admin:registry_release_review")}">Review</a>' in page


def test_what_is_live_can_be_compared_and_rolled_back_with_one_click(api: Api, admin_client: HttpClient) -> None:
    first = releases.live()
    assert first is not None
    change("onto.task.get", summary="Get one task, whole")
    second = releases.publish(note="Say that it is whole", by="ann", at=timezone.now() - timedelta(days=2))

    page = home(admin_client)

    assert str(second) in page
    assert "For 2 days, by ann, 78 ops." in page
    assert "“Say that it is whole”" in page
    assert f"?before={first.pk}&amp;after={second.pk}" in page
    back = reverse("admin:registry_release_make_live", args=[first.pk])
    assert back in page
    admin_client.post(back, {"note": "Back"})
    assert Activation.objects.get(is_live=True).release == first


def test_ops_that_fail_often_are_told_with_what_is_wrong(api: Api, admin_client: HttpClient) -> None:
    day = timezone.now().date()
    errors = [["/state_key", "enum", 90], ["/due_at", "format", 2]]
    OpDaily.objects.create(day=day, op="onto.task.update", is_settled=True, calls=812, invalid=114, field_errors=errors)
    OpDaily.objects.create(day=day, op="onto.task.get", is_settled=True, calls=500, not_found=1)

    page = home(admin_client)

    assert "<code>/state_key</code> enum" in page
    assert ">14%</a>" in page
    assert "812" in page
    assert "onto.task.get" not in page
    events = f"{reverse('admin:analytics_operationevent_changelist')}?op=onto.task.update&ok__exact=0"
    assert admin_client.get(events).status_code == 200


def test_ops_that_do_well_are_counted(api: Api, admin_client: HttpClient) -> None:
    OpDaily.objects.create(day=timezone.now().date(), op="onto.task.get", is_settled=True, calls=500)

    assert "None of 500 calls to speak of." in home(admin_client)


def test_what_is_switched_off_is_told_with_its_reason(api: Api, admin_client: HttpClient) -> None:
    switching.off(kind="op", name="onto.task.move", reason="It <loses> tasks", by="ben", at=timezone.now())

    page = home(admin_client)

    assert "op onto.task.move</a>: It &lt;loses&gt; tasks (by ben," in page


def test_before_anything_is_live_the_page_says_what_to_do(db: None, admin_client: HttpClient) -> None:
    page = home(admin_client)

    assert "None, so no op can be found or run." in page


@pytest.mark.parametrize(
    ("permissions", "shown"),
    [
        ([], []),
        (["view_op", "view_group", "view_promptsection"], ["Unpublished changes"]),
        (["view_release"], ["Live release"]),
        (["view_opdaily", "view_operationevent"], ["Failing ops"]),
        (["view_switch"], ["Switched off"]),
    ],
)
def test_each_part_is_for_whoever_may_see_its_rows(
    api: Api, client: HttpClient, django_user_model: type[User], permissions: list[str], shown: list[str]
) -> None:
    person = django_user_model.objects.create_user("person", is_staff=True)
    person.user_permissions.set(
        Permission.objects.filter(codename__in=permissions).exclude(content_type__app_label="auth")
    )
    client.force_login(person)

    page = home(client)

    parts = ["Unpublished changes", "Live release", "Failing ops", "Switched off"]
    assert [part for part in parts if f">{part}" in page] == shown
    assert ("You may not see anything here yet." in page) == (not shown)


def test_the_page_costs_few_queries(api: Api, admin_client: HttpClient, django_assert_max_num_queries: Any) -> None:
    change("onto.task.get", summary="Get one task, whole")
    home(admin_client)

    with django_assert_max_num_queries(16):
        home(admin_client)
