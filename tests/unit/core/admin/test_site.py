"""The request checks of the console, rule by rule. tests/integration/console/test_admin_hostile.py tests the pages."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DataError
from django.http import HttpResponse, QueryDict
from django.test import RequestFactory

from core.admin import site
from tests.support.loops import for_each
from workspace.models import Task


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", ""),
        ("q=one+two&p=2", ""),
        ("q=" + "+".join(["a"] * 20), ""),
        ("q=" + "+".join(["a"] * 21), "Search for at most 20 words."),
        ("term=" + "+".join(["a"] * 21), "Search for at most 20 words."),
        ("other=" + "+".join(["a"] * 21), ""),
        ("q=" + "a" * 10_001, "The URL is too long."),
        ("&".join(["a=1"] * 100), ""),
        ("&".join(["a=1"] * 101), "The URL is too long."),
        ("a=1%00", "The URL contains a NUL character."),
        ("title__regex=a", "Lists cannot be filtered by regular expressions."),
    ],
)
def test_query_problem_is_reported(query: str, message: str) -> None:
    problem = site.find_query_problem(QueryDict(query))

    assert problem.startswith(message)
    assert bool(problem) == bool(message)


@for_each(
    "model, data, is_problem",
    [
        (User, "_selected_action=1&_selected_action=2", False),
        (User, "_selected_action=abc", True),
        (User, "_selected_action=1&_selected_action=" + "9" * 30, True),
        (User, "groups=1&groups=x", True),
        (User, "username=x", False),
        (Task, "_selected_action=0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01", False),
        (Task, "_selected_action=zz", True),
        (Task, "project=", False),
        (Task, "project=zz", True),
    ],
)
def test_row_problem_is_reported(db: None, model: type, data: str, is_problem: bool) -> None:
    assert site.find_row_problem(QueryDict(data), model).startswith(
        "A selected row does not exist" if is_problem else ""
    )
    assert bool(site.find_row_problem(QueryDict(data), model)) is is_problem


def test_preset_problem_is_reported() -> None:
    assert site.find_preset_problem(QueryDict("due_at=2026-03-01"), Task).startswith("The URL cannot prefill due_at.")
    assert site.find_preset_problem(QueryDict("title=x"), Task) == ""


@pytest.mark.parametrize("error", [ValidationError("x"), DataError("x"), OverflowError("x")])
def test_reject_malformed_requests_turns_value_errors_into_400(rf: RequestFactory, error: Exception) -> None:
    def view(request: object) -> HttpResponse:
        raise error

    response = site.reject_malformed_requests(view)(rf.get("/"))

    assert response.status_code == 400
    assert response.content.decode().startswith("A value in the request is not valid")


def test_reject_malformed_requests_does_not_hide_bugs(rf: RequestFactory) -> None:
    def view(request: object) -> HttpResponse:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        site.reject_malformed_requests(view)(rf.get("/"))
