"""Searches that also look outside the project that the user looks at."""

from collections.abc import Generator

from chat.scripted_model.outcomes import Outcome
from chat.scripted_model.plans import Call, run
from chat.scripted_model.rows import Row, read_rows

MAX_PROJECTS = 8
NOT_IN_PROJECTS = ("onto.project.search", "cal.event.list")  # ops that have no project, or that search none

Outcomes = Generator[list[Call], list[Outcome], list[Outcome]]


def search_other_projects(op: str, query: str, project: Row) -> Outcomes:
    """Search each of the user's other projects, in one round.

    A search without a project is of the one that the user looks at: the gateway takes it from the place. Where that
    finds nothing, the row may be in another one. An outcome that the chat shortened says that the row may be in it.
    """
    projects = yield from run("onto.project.list", limit=MAX_PROJECTS)
    others = [row for row in read_rows(projects) if row.id != project.id]
    if not others:
        # If the chat shortened the list, these searches were made in an earlier round of this turn.
        return [Outcome(op, ok=True, is_cut=True)] if projects.is_cut else []
    return (yield [Call(op, {"query": query, "project_id": row.id, "limit": 5}) for row in others])
