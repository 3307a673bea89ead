"""Select changes on the review page, with tick boxes. What is not selected stays in the draft."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from console.forms import PublishForm
from registry.models import ReviewRequest, get_parent_path
from registry.releases import selection
from registry.releases.review import DraftReview
from registry.releases.selection import ChooseChanges, DraftSelection
from registry.releases.stored_releases import EntryKey
from registry.reviews import holds
from registry.reviews.holds import Holders
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import CopyChange

SELECT, ADD_MISSING, LEAVE_HELD = "select", "add_missing", "leave_held"  # buttons
STEPS = (SELECT, ADD_MISSING, LEAVE_HELD)
SESSION_KEY = "selected_changes"
MAX_TICKS = 400  # changes with a tick box of their own; of more, only groups have one


class ChangeTick(NamedTuple):
    """The tick box of one change."""

    value: str
    change: CopyChange
    is_selected: bool
    held: str  # who holds its entry; "" if nobody does


class TickGroup(NamedTuple):
    """The changes of one group of ops, or of one other kind."""

    name: str
    ticks: list[ChangeTick]

    @property
    def selected_count(self) -> int:
        return sum(tick.is_selected for tick in self.ticks)

    @property
    def is_selected(self) -> bool:
        return self.selected_count == len(self.ticks)


def choose_changes(request: HttpRequest, holders: Holders) -> ChooseChanges:
    """Return what picks the changes that the page is about.

    These are the changes that the address names, by the id of a review or by patterns of names, such as those of an
    import; else those that the user ticked last; else all that no schedule holds.
    """
    patterns = request.GET.getlist("only")

    def choose(changes: Sequence[CopyChange]) -> Collection[EntryKey]:
        keys = frozenset(map(selection.get_key, changes))
        stored = frozenset((kind, name) for kind, name in request.session.get(SESSION_KEY, ()))
        review = find_linked_review(request, holders)
        named = frozenset(key for key in keys if any(fnmatchcase(key[1], pattern) for pattern in patterns))
        linked = keys & review.keys if review else named
        return linked or keys & stored or _select_by_default(keys, holders)

    return choose


def take_step(request: HttpRequest, step: str, draft_review: DraftReview, holders: Holders) -> HttpResponseRedirect:
    """Change what is selected, and show the review of it."""
    chosen = draft_review.selection
    if step == SELECT:
        keys = frozenset(_iterate_ticked(request, chosen))
    elif step == ADD_MISSING:
        keys = chosen.keys | {selection.get_key(change) for each in draft_review.missing for change in each.needed}
    else:
        held = (hold.holder.keys for hold in holds.find_holds(chosen, holders))
        keys = chosen.keys - frozenset[EntryKey]().union(*held)
    if keys == _select_by_default(chosen.all_keys, holders):
        forget_selection(request)  # so that later changes are selected as well
    elif keys:
        request.session[SESSION_KEY] = sorted(keys)
    else:
        messages.warning(request, "Select at least one change.")
    return redirect(reverse("admin:registry_release_review"))


def build_release_arguments(request: HttpRequest, draft_review: DraftReview, form: PublishForm) -> dict[str, Any]:
    """Return what releasing the selected changes needs to know, to whomever they go."""
    reviewed = {"seen": draft_review.version, "only": draft_review.selection.keys, **form.get_reasons()}
    return {"by": str(request.user), "at": timezone.now(), **reviewed}


def finish_release(request: HttpRequest, text: str) -> None:
    """Say to whom the selected changes were released, and select everything again."""
    messages.success(request, f"{text} All others stay on the live release.")
    forget_selection(request)


def forget_selection(request: HttpRequest) -> None:
    """Select everything again, after the selected changes were published or scheduled."""
    request.session.pop(SESSION_KEY, None)


def build_selection_context(draft_review: DraftReview, holders: Holders) -> dict[str, Any]:
    """Return the context of console/releases/selection.html."""
    chosen = draft_review.selection
    groups = _group_ticks(chosen, holders)
    held = holds.find_holds(chosen, holders)
    scheduled = frozenset[EntryKey]().union(*(row.keys for row in holders.schedules))
    return {
        "selected_count": len(chosen.changes),
        "all_count": len(chosen.all_changes),
        "is_partial": not chosen.is_complete,
        "tick_groups": groups,
        "has_ticks": len(chosen.all_changes) <= MAX_TICKS,
        "holds": held,
        "can_leave_out": bool(held) and bool(chosen.keys.difference(*(hold.holder.keys for hold in held))),
        "all_scheduled": bool(chosen.changes) and chosen.all_keys <= scheduled,
        "missing": draft_review.missing,
    }


def _select_by_default(keys: frozenset[EntryKey], holders: Holders) -> frozenset[EntryKey]:
    """Return all changes that no schedule holds: these go live by themselves."""
    return keys.difference(*(row.keys for row in holders.schedules)) or keys


def find_linked_review(request: HttpRequest, holders: Holders) -> ReviewRequest | None:
    """Return the open review that the address of the page names, or None."""
    linked = request.GET.get("review", "")
    return next((review for review in holders.reviews if str(review.pk) == linked), None)


def _iterate_ticked(request: HttpRequest, chosen: DraftSelection) -> Iterator[EntryKey]:
    ticked, sections = set(request.POST.getlist("change")), set(request.POST.getlist("section"))
    for change in chosen.all_changes:
        if _format_value(change) in ticked or _get_section(change) in sections:
            yield selection.get_key(change)


def _format_value(change: CopyChange) -> str:
    return f"{change.kind.value}:{change.name}"


def _get_section(change: CopyChange) -> str:
    if change.kind == Kind.OP:
        return get_parent_path(change.name)
    return change.name if change.kind == Kind.GROUP else COPY_KINDS[change.kind].plural.capitalize()


def _group_ticks(chosen: DraftSelection, holders: Holders) -> list[TickGroup]:
    keys, described = chosen.keys, _describe_holders(holders)
    groups: dict[str, list[ChangeTick]] = {}
    for change in sorted(chosen.all_changes, key=lambda each: (_get_section(each), each.kind == Kind.OP, each.name)):
        key = selection.get_key(change)
        tick = ChangeTick(_format_value(change), change, key in keys, described.get(key, ""))
        groups.setdefault(_get_section(change), []).append(tick)
    return [TickGroup(name, ticks) for name, ticks in groups.items()]


def _describe_holders(holders: Holders) -> Mapping[EntryKey, str]:
    reviews = ((row.keys, f"in the review that {row.asked_by} asked for") for row in holders.reviews)
    schedules = ((row.keys, f"scheduled by {row.created_by}") for row in holders.schedules)
    described: Iterable[tuple[frozenset[EntryKey], str]] = (*reviews, *schedules)
    return {key: text for keys, text in described for key in keys}
