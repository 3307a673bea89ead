import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import MembershipFactory, ProjectFactory, TaskFactory
from workspace.models import Project
from workspace.services.search.row_finder import MAX_ROWS, find_project, find_rows

pytestmark = pytest.mark.both_databases

HEDGE = "Order a beech hedge for the roof of the shed"


@pytest.fixture
def project(db: None) -> Project:
    project: Project = ProjectFactory(name="Roof garden")
    return project


def list_titles(
    title: str, *, entity: str = "task", subject: str = "owner", project_id: str = ""
) -> tuple[list[str], bool]:
    rows, is_exact = find_rows(entity, title, subject, project_id)
    return [row.title for row in rows], is_exact


@for_each("title", ["Order beech", "order BEECH", " Order  beech! ", "“Order beech”", "order-beech"], undone=True)
def test_row_is_found_by_its_exact_title_in_any_spelling(project: Project, title: str) -> None:
    TaskFactory(project=project, title="Order beech")
    TaskFactory(project=project, title="Order beech and oak")

    assert list_titles(title) == (["Order beech"], True)


def test_row_of_the_preferred_project_hides_the_same_title_elsewhere(project: Project) -> None:
    other = ProjectFactory(name="Kitchen")
    rows = [TaskFactory(project=each, title="Order beech") for each in (project, other)]

    found, is_exact = find_rows("task", "Order beech", "owner", str(other.pk))

    assert ([row.id for row in found], is_exact) == ([str(rows[1].pk)], True)
    assert found[0].place == "Kitchen"
    assert len(find_rows("task", "Order beech", "owner", "")[0]) == len(rows)


def test_similar_titles_are_found_if_none_is_the_same(project: Project) -> None:
    for number in range(MAX_ROWS + 2):
        TaskFactory(project=project, title=f"Order beech for step {number}")
    TaskFactory(project=project, title="Paint the step")

    titles, is_exact = list_titles("Order beech for the steps")

    assert not is_exact
    assert len(titles) == MAX_ROWS
    assert all(title.startswith("Order beech") for title in titles)


@for_each(
    "title, found",
    [
        *((title, [(HEDGE, True)]) for title in ("beech", "the BEECH", "roof beech", "beech order")),
        # A part of a word or one word of several is not enough.
        *((title, []) for title in ("or", "eech", "beech oak", "", "!?")),
        ("Order a beech hedges for the roof of the shed", [(HEDGE, False)]),  # a similar title
    ],
    undone=True,
)
def test_row_is_found_by_some_words_of_its_title(project: Project, title: str, found: list[tuple[str, bool]]) -> None:
    TaskFactory(project=project, title=HEDGE)
    TaskFactory(project=project, title="Order the roof")

    rows, is_exact = find_rows("task", title, "owner", "")

    assert [(row.title, row.has_words) for row in rows] == found
    assert not is_exact
    assert find_rows("profile", title, "owner", "") == find_rows("nothing", title, "owner", "") == ([], False)


def test_rows_and_projects_that_the_subject_cannot_see_are_not_found(project: Project) -> None:
    row = TaskFactory(project=project, title="Order beech")
    MembershipFactory(project=ProjectFactory(name="Elsewhere"), subject="stranger")

    assert list_titles("roof garden", entity="project") == (["Roof garden"], True)
    assert list_titles("Order beech", subject="stranger") == ([], False)
    for entity, id in (("task", row.pk), ("project", project.pk)):
        assert find_project(entity, str(id), "stranger") is None
        assert find_project(entity, str(id), "owner") == str(project.pk)
