"""Find the rows that a title means, over all projects of a subject."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from django.db.models import F

from workspace.contract import FoundRow
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EVENT, PROJECT, EntityType
from workspace.errors import ArgumentError
from workspace.services.access import profiles
from workspace.services.access.access import NamedRow
from workspace.services.search import similar_titles
from workspace.services.search.search import match_any_word
from workspace.services.search.similar_titles import MAX_CANDIDATES, MAX_ROWS, strip_title

_KINDS = {**ENTITY_TYPE_BY_NAME, EVENT.name: EVENT}


def find_rows(entity: str, title: str, subject: str, project_id: str) -> tuple[Sequence[FoundRow], bool]:
    """Return up to three rows of an entity that the subject can see, and whether they have exactly this title.

    Case, punctuation and space do not count. Rows of the preferred project hide exact matches elsewhere. Without an
    exact match, the rows are those with all its words in their titles, or else with the most similar titles.
    """
    kind = _KINDS.get(entity)
    words = similar_titles.split_title(title)
    if kind is None or not words:
        return [], False
    candidates = _list_candidates(kind, words, subject)
    exact = [row for row, _ in candidates if strip_title(row.title) == strip_title(title)]
    if exact:
        preferred = [row for row, project in candidates if row in exact and project == project_id]
        return (preferred or exact)[:MAX_ROWS], True
    rows, have_words = similar_titles.choose_similar(title, {row: row.title for row, _ in candidates})
    return [replace(row, has_words=have_words) for row in rows], False


def find_project(entity: str, id: str, subject: str) -> str | None:
    """Return the id of the project that a row is in, or is; None if the subject sees no such row, or it is in none."""
    kind = _KINDS.get(entity)
    if kind is None:
        return None
    column = "pk" if kind is PROJECT else "project_id"
    project = kind.get_rows().visible_to(subject).filter(pk=id).values_list(column, flat=True).first()
    return str(project) if project else None


def find_title(entity: str, id: str, subject: str) -> str | None:
    """Return the title or name of a row; None if the subject sees no such row."""
    kind = _KINDS.get(entity)
    if kind is None:
        return None
    title: str | None = kind.get_rows().visible_to(subject).filter(pk=id).values_list(kind.label, flat=True).first()
    return title


def find_kind(id: str, subject: str) -> str | None:
    """Return the kind of a row that an edge may join; None if the subject sees no such row."""
    kinds = ENTITY_TYPE_BY_NAME.values()
    return next((kind.name for kind in kinds if kind.get_rows().visible_to(subject).filter(pk=id).exists()), None)


def find_wrong_kinds(named: Sequence[NamedRow], *, subject: str) -> list[ArgumentError]:
    """Return an error for each row that was named with another kind than it has, such as src_kind beside src_id."""
    errors = []
    for row in named:
        kind = find_kind(str(row.id), subject)
        if kind and kind != row.kind:
            name = f"{row.argument.removesuffix('_id')}_kind"
            message = f"{row.argument} is the id of a {kind}."
            errors.append(ArgumentError(f"/{name}", "kind_mismatch", message, expected=kind, send={name: kind}))
    return errors


def find_date(entity: str, id: str, name: str, subject: str) -> date | None:
    """Return a date or date-time of a row, in the subject's zone; None if it has none or the subject sees no row."""
    kind = _KINDS.get(entity)
    if kind is None or name not in kind.columns:
        return None
    moment = kind.get_rows().visible_to(subject).filter(pk=id).values_list(name, flat=True).first()
    if isinstance(moment, datetime):
        return moment.astimezone(profiles.get_zone(subject))
    return moment if isinstance(moment, date) else None


def _list_candidates(kind: EntityType, words: list[str], subject: str) -> list[tuple[FoundRow, str]]:
    """Return the rows with one of the words in their title, each with the id of its project."""
    project = "pk" if kind is PROJECT else "project_id"
    place = F("name") if kind is PROJECT else F("project__name")
    rows = kind.get_rows().visible_to(subject).filter(match_any_word(words, columns=(kind.label,)))
    columns = rows.order_by("-updated_at", "-pk").annotate(place=place).values_list("pk", kind.label, "place", project)
    return [
        (FoundRow(str(id), title, "" if kind is PROJECT else place or ""), str(project))
        for id, title, place, project in columns[:MAX_CANDIDATES]
    ]
