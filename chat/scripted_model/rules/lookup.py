"""Find the row that a message means: among the rows shown, by search, or by asking the user."""

import re
from collections.abc import Generator
from dataclasses import replace

from chat.scripted_model.dates import Days
from chat.scripted_model.outcomes import ScriptedOutcome, build_op
from chat.scripted_model.plans import ScriptedCall, run
from chat.scripted_model.rows import NOT_IN_PROJECTS, Row, describe_row, read_rows, search_other_projects
from chat.scripted_model.rules.request import Request

MAX_CANDIDATES = 3
_MAX_QUERY = 200  # characters, as search ops allow
_WORD = re.compile(r"\w+")

RowLookup = Generator[list[ScriptedCall], list[ScriptedOutcome], Row]


class Finished(Exception):
    """The lookup ends the turn with this text: a question, or that there is no such row."""


def find_row(request: Request, days: Days, *, default_kind: str = "") -> RowLookup:
    """Return the row that a request means, by one search, or two more rounds in other projects. Raises Finished."""
    if request.row and request.row.id:
        return request.row
    intent = replace(request.intent, title=request.row.title) if request.row else request.intent
    kind = intent.kind or default_kind
    if not intent.query:
        raise Finished((yield from _list_candidates(kind or "task", days)))
    rows, is_cut = yield from _search_rows(kind, intent.query[:_MAX_QUERY], request.place)
    matches = select_rows(rows, intent.query)
    if not matches and is_cut:
        return Row(kind or "task", "", intent.query, {})  # it has been used before: the later calls have its id
    if not matches:
        raise Finished(f"I found {f'no {kind}' if kind else 'nothing'} named “{intent.query}”.")
    is_guess = not has_words(matches[0], intent.query)
    if len(matches) > 1:
        count = "Nothing is" if is_guess else f"{len(matches)} {kind or 'row'}s are"
        raise Finished(
            f"{count} named “{intent.query}”. Which of these do you mean?\n\n{describe_candidates(matches, days)}"
        )
    if is_guess and intent.action != "details":
        raise Finished(f"I found nothing named “{intent.query}”. Do you mean **{matches[0].title}**?")
    return matches[0]


def _search_rows(
    kind: str, query: str, place: Row | None
) -> Generator[list[ScriptedCall], list[ScriptedOutcome], tuple[list[Row], bool]]:
    """Return the rows that a search finds, and whether the chat left out a result."""
    op = build_op(kind, "search") if kind else "onto.search"
    outcomes = [(yield from run(op, query=query, limit=5))]
    is_found = outcomes[0].is_cut or any(has_words(row, query) for row in read_rows(outcomes[0]))
    if place is not None and not is_found and op not in NOT_IN_PROJECTS:
        outcomes += yield from search_other_projects(op, query, place)
    return [row for outcome in outcomes for row in read_rows(outcome)], any(each.is_cut for each in outcomes)


def find_project(name: str) -> Generator[list[ScriptedCall], list[ScriptedOutcome], Row | None]:
    """Return the project of a name, or None if there is none or more than one."""
    outcome = yield from run("onto.project.search", query=name[:_MAX_QUERY], limit=5)
    matches = select_rows(read_rows(outcome), name)
    if not matches and outcome.is_cut:
        return Row("project", "", name, {})
    return matches[0] if len(matches) == 1 and has_words(matches[0], name) else None


def select_rows(rows: list[Row], query: str) -> list[Row]:
    """Return the rows with exactly this title, else those with all its words in the title, else all rows."""
    exact = [row for row in rows if row.title.casefold() == query.casefold()]
    return exact or [row for row in rows if has_words(row, query)] or rows


def has_words(row: Row, query: str) -> bool:
    """Return whether the title of a row contains all words of a query, at least as the beginnings of its own."""
    words = _WORD.findall(row.title.lower())
    return all(any(word.startswith(wanted) for word in words) for wanted in _WORD.findall(query.lower()))


def describe_candidates(rows: list[Row], days: Days) -> str:
    """Return at most three rows to choose from, numbered."""
    return "\n".join(f"{at}. {describe_row(row, days)}" for at, row in enumerate(rows[:MAX_CANDIDATES], start=1))


def _list_candidates(kind: str, days: Days) -> Generator[list[ScriptedCall], list[ScriptedOutcome], str]:
    outcome = yield from run(build_op(kind, "list"), limit=MAX_CANDIDATES)
    rows = read_rows(outcome)
    if not rows:
        return f"There is no {kind} yet."
    question = f"Which {kind} do you mean, and what should I do with it? These were changed last:"
    return f"{question}\n\n{describe_candidates(rows, days)}"
