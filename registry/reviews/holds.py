"""Which entries of the draft reviews and schedules hold: an entry belongs to one of them, with its contents."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import get_text_list

from registry.models import ReviewRequest, ScheduledPublish
from registry.releases import stored_releases, unpublished
from registry.releases.selection import DraftSelection, HashedEntry
from registry.releases.stored_releases import EntryKey
from registry.snapshot.copy_kinds import Kind

MAX_NAMED = 3  # entries that a sentence names
Holder = ReviewRequest | ScheduledPublish


class EntriesHeld(Exception):
    """Some of the selected entries belong to another review or schedule. The message says what to do."""


class HeldState(NamedTuple):
    """What became of the entries that somebody reviewed or scheduled."""

    changed: list[str]  # names of those that differ from what was seen
    is_live: bool  # whether the live release has all of them as they were seen


class Hold(NamedTuple):
    """Selected entries that a schedule holds, or a review together with others that are not selected."""

    holder: Holder
    names: list[str]
    missing: list[str]  # names of changes in the same review that are not selected

    def __str__(self) -> str:
        verb = "is" if len(self.names) == 1 else "are"
        if isinstance(self.holder, ScheduledPublish):
            when = date_format(timezone.localtime(self.holder.publish_at), "DATETIME_FORMAT")
            what = f"{join_names(self.names)} {verb} scheduled for {when} by {self.holder.created_by}."
            return f"{what} Leave {'it' if verb == 'is' else 'them'} out, or cancel the schedule."
        what = f"{join_names(self.names)} {verb} in the review that {self.holder.asked_by} asked for"
        return f"{what}, together with {join_names(self.missing)}. Select all of them or none, or withdraw that review."


def join_names(names: Sequence[str]) -> str:
    """Return the first names of some entries in words, and how many more there are."""
    left = len(names) - MAX_NAMED
    return get_text_list([*names[:MAX_NAMED], *([f"{left} more"] if left > 0 else [])], "and")


class Holders(NamedTuple):
    """What holds entries of the draft now."""

    reviews: list[ReviewRequest]
    schedules: list[ScheduledPublish]

    @classmethod
    def load(cls) -> "Holders":
        return cls(list_open_reviews(), list_waiting())


def list_open_reviews() -> list[ReviewRequest]:
    """Return the reviews that are not finished, oldest first."""
    return list(ReviewRequest.objects.filter(is_open=True).order_by("asked_at", "pk"))


def list_waiting() -> list[ScheduledPublish]:
    """Return the publishes that wait for their time, the next one first."""
    return list(ScheduledPublish.objects.filter(state=ScheduledPublish.State.WAITING).order_by("publish_at", "pk"))


def find_holds(selection: DraftSelection, holders: Holders) -> list[Hold]:
    """Return what prevents these changes from being published: schedules, and reviews of which they are a part."""
    keys, changed_keys = selection.keys, selection.all_keys
    holds = [Hold(schedule, _list_names(held), []) for schedule in holders.schedules if (held := keys & schedule.keys)]
    return holds + [
        Hold(review, _list_names(held), _list_names(missing))
        for review in holders.reviews
        if (held := keys & review.keys) and (missing := (review.keys & changed_keys) - keys)
    ]


def check_holds(selection: DraftSelection, *, own: ScheduledPublish | None = None) -> list[ReviewRequest]:
    """Return the open reviews of which all changes are selected. Raises EntriesHeld. `own` does not count."""
    holders = Holders.load()
    others = [row for row in holders.schedules if own is None or row.pk != own.pk]
    if holds := find_holds(selection, holders._replace(schedules=others)):
        raise EntriesHeld(" ".join(map(str, holds)))
    keys, is_complete = selection.keys, selection.is_complete
    return [each for each in holders.reviews if each.keys & keys or (is_complete and not each.entries)]


def find_state(holder: Holder, chosen: DraftSelection | None = None) -> HeldState:
    """Return what became of the entries of a review or a schedule since they were seen: now, or in this draft.

    A row of the version before has no entries, and counts as changed.
    """
    if not holder.entries:
        return HeldState([holder.summary], is_live=False)
    current = chosen.hash_entries(holder.keys) if chosen else _hash_current(holder.keys)
    now = {(entry.kind, entry.name): entry for entry in current}
    seen = [(HashedEntry(*entry), now[entry[0], entry[1]]) for entry in holder.entries]
    # One that is live as it was seen was published in the meantime, and has not changed.
    changed = [
        was.name for was, found in seen if found not in (was, HashedEntry(was.kind, was.name, was.after, was.after))
    ]
    return HeldState(changed, is_live=all(found.before == was.after for was, found in seen))


def _hash_current(keys: Collection[EntryKey]) -> list[HashedEntry]:
    """Return entries as they are now, by reading only these."""
    version = stored_releases.get_live_version()
    live = unpublished.hash_release_entries(version) if version else {}
    hashed = []
    for kind in {Kind(kind) for kind, _ in keys}:
        names = sorted(name for each, name in keys if each == kind)
        draft = dict(unpublished.hash_draft_entries(kind, names))
        before = live.get(kind, {})
        hashed += [HashedEntry(kind.value, name, before.get(name, ""), draft.get(name, "")) for name in names]
    return hashed


def _list_names(keys: Iterable[EntryKey]) -> list[str]:
    return sorted(name for _, name in keys)
