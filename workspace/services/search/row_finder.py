"""Find the row that a name means, and rows with similar titles."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TypeVar

from django.db.models import F
from rapidfuzz import fuzz, process

from core.handler_contract import ArgumentError, FoundRow
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EVENT, PROJECT, EntityType
from workspace.services import access
from workspace.services.access import NamedRow
from workspace.services.search.search import fold_case, leave_out_stop_words, match_any_word, split_words

T = TypeVar("T", bound=Hashable)
MAX_ROWS = 3
MAX_CANDIDATES = 500  # rows whose titles are compared, newest first
MIN_SIMILARITY = 60  # of 100
MIN_LETTERS = 3  # of a text that can be a part of a title; shorter ones begin too many words
MAX_WORDS = 12
_NOT_LETTERS = re.compile(r"[\W_]+")
_KINDS = {**ENTITY_TYPE_BY_NAME, EVENT.name: EVENT}


def split_title(title: str) -> list[str]:
    """Return the words of a title by which rows are looked up; none if it has neither letters nor digits."""
    return leave_out_stop_words(split_words(_NOT_LETTERS.sub(" ", title)))[:MAX_WORDS]


def strip_title(title: str) -> str:
    """Return the letters and digits of a title, to compare it with others."""
    return _NOT_LETTERS.sub("", fold_case(title))


def choose_similar(title: str, titles: Mapping[T, str]) -> tuple[list[T], bool]:
    """Return up to three of the rows {row: its title}, the most similar first, and whether they have all the words.

    Rows with all words of the sent title, each in full or the beginning of one, hide those that are only similar.
    """
    words = [fold_case(word) for word in split_title(title)]
    has_letters = len(strip_title(title)) >= MIN_LETTERS
    with_words = {row: each for row, each in titles.items() if has_letters and words and _has_words(each, words)}
    matches = process.extract(
        title,
        with_words or titles,
        scorer=fuzz.token_sort_ratio,
        processor=str.casefold,
        limit=MAX_ROWS,
        score_cutoff=0 if with_words else MIN_SIMILARITY,
    )
    return [row for _, _, row in matches], bool(with_words)


def _has_words(title: str, words: list[str]) -> bool:
    title_words = _NOT_LETTERS.sub(" ", fold_case(title)).split()
    return all(any(each.startswith(word) for each in title_words) for word in words)


def find_rows(entity: str, title: str, subject: str, project_id: str) -> tuple[Sequence[FoundRow], bool]:
    """Return up to three rows of an entity that the subject can see, and whether they have exactly this title.

    Case, punctuation and space do not count. Rows of the preferred project hide exact matches elsewhere. Without an
    exact match, the rows are those with all its words in their titles, or else with the most similar titles.
    """
    kind = _KINDS.get(entity)
    words = split_title(title)
    if kind is None or not words:
        return [], False
    candidates = _list_candidates(kind, words, subject)
    exact = [row for row, _ in candidates if strip_title(row.title) == strip_title(title)]
    if exact:
        preferred = [row for row, project in candidates if row in exact and project == project_id]
        return (preferred or exact)[:MAX_ROWS], True
    rows, have_words = choose_similar(title, {row: row.title for row, _ in candidates})
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
    """Return the kind of a row; None if the subject sees no such row."""
    return next(
        (kind.name for kind in _KINDS.values() if kind.get_rows().visible_to(subject).filter(pk=id).exists()), None
    )


def find_wrong_kinds(named: Sequence[NamedRow], *, subject: str) -> list[ArgumentError]:
    """Return an error for each row that was named with another kind than it has, such as src_kind with src_id."""
    errors = []
    for row in named:
        kind = find_kind(str(row.id), subject)
        if kind in ENTITY_TYPE_BY_NAME and kind != row.kind:
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
        return moment.astimezone(access.get_zone(subject))
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
