"""Who can publish changes of the draft if GATEWAY_REVIEW_REQUIRED asks for a second person, and publishing."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.text import get_text_list

from notifications import recipients
from registry.drafts import history
from registry.models import Release, ReviewRequest, ScheduledPublish
from registry.models.review import Person
from registry.releases import publishing, selection, stored_releases
from registry.releases.selection import DraftSelection
from registry.releases.stored_releases import EntryKey
from registry.reviews import holds, requests
from registry.snapshot import snapshot
from registry.snapshot.diff import CopyChange

State = ReviewRequest.State
MAX_APPROVERS = 3  # whose names a refusal has


class ReviewDecision(NamedTuple):
    """Whether somebody can publish the selected changes, and why not."""

    allowed: bool
    reason: str = ""


class ApprovalMissing(Exception):
    """Publishing needs a second person. The message says what to do."""


class PublishableSelection(NamedTuple):
    """What can be published: the selected entries, the version of the release that they make, and their reviews."""

    only: Collection[EntryKey] | None  # None: the whole draft
    version: str
    reviews: Sequence[ReviewRequest]
    outdated: Sequence[ReviewRequest]  # those whose entries have changed since
    audited: dict[str, list[Any]]

    def close_reviews(self, release: Release, *, by: str, at: datetime) -> None:
        """Close the reviews of what was published."""
        requests.close_as_published(self.reviews, self.outdated, release, by=by, at=at)


def decide(*, by: str, chosen: DraftSelection) -> ReviewDecision:
    """Return whether `by` can publish the selected changes.

    People who changed one of the entries since it was frozen, or asked for a review of it, need the approval of
    somebody else for exactly its contents.
    """
    if not settings.GATEWAY_REVIEW_REQUIRED:
        return ReviewDecision(True)
    reviews = [review for review in holds.list_open_reviews() if review.keys & chosen.keys]
    outdated = _find_outdated(reviews, chosen)
    person = Person.find(by)
    approvals = [review for review in reviews if review.state == State.APPROVED and not review.decider.is_same(person)]
    approved = frozenset[EntryKey]().union(*(review.keys for review in approvals if review not in outdated))
    edited = _list_edited(chosen.changes, person, approved)
    is_asker = any(review.asker.is_same(person) and not review.keys <= approved for review in reviews)
    if not edited and not is_asker:
        return ReviewDecision(True)
    if outdated_approval := next((review for review in approvals if review in outdated), None):
        return ReviewDecision(
            False,
            f"{outdated_approval.decided_by} approved an earlier draft. It has changed since, so ask for a review "
            "again.",
        )
    what = f"You changed {holds.join_names(edited)}" if edited else "You asked for the review of these changes"
    step = _suggest_step(next(iter(reviews), None), outdated, person)
    return ReviewDecision(False, f"{what}. {_name_approvers(person)} {step}")


def is_of_own_changes(review: ReviewRequest, chosen: DraftSelection) -> bool:
    """Return whether the person who approved the changes also made some of them."""
    if review.state != State.APPROVED:
        return False
    changes = [change for change in chosen.changes if selection.get_key(change) in review.keys]
    return bool(_list_edited(changes, review.decider, ()))


def _name_approvers(person: Person) -> str:
    """Return who can approve or publish what this person changed."""
    names = recipients.list_names("registry.add_release", but=person.name)
    if not names:
        return "Nobody else can publish: give somebody the role Admin under Access, Users."
    more = len(names) - MAX_APPROVERS
    listed = [*names[:MAX_APPROVERS], *([f"{more} more"] if more > 0 else [])]
    return f"Others who can approve or publish it: {get_text_list(listed, 'and')}."


def _suggest_step(request: ReviewRequest | None, outdated: Collection[ReviewRequest], person: Person) -> str:
    if request is None:
        return "Ask for a review."
    if request in outdated:
        return "The draft has changed since the review was asked for: ask again."
    return (
        "Your own approval does not count." if request.decider.is_same(person) else "Wait for the result of the review."
    )


def _find_outdated(reviews: Iterable[ReviewRequest], chosen: DraftSelection) -> list[ReviewRequest]:
    return [review for review in reviews if holds.find_state(review, chosen).changed]


def _list_edited(changes: Iterable[CopyChange], person: Person, approved: Collection[EntryKey]) -> list[str]:
    """Return the names of the changed entries that a person has changed, even if others changed them afterwards."""
    since = stored_releases.load_freeze_times()[1]
    edited = history.list_edited_by(name=person.name, user_id=person.user_id, since=since) - set(approved)
    return [change.name for change in changes if selection.get_key(change) in edited]


def publish_reviewed(
    *,
    note: str,
    by: str,
    at: datetime,
    accepted: str = "",
    seen: str = "",
    accepted_loss: str = "",
    only: Collection[EntryKey] | None = None,
    own: ScheduledPublish | None = None,
    progress: publishing.ShowProgress = publishing.show_no_progress,
) -> Release:
    """Publish the draft or some of its entries, see `publishing.publish_draft`.

    `own` is the schedule that is due. Also raises ApprovalMissing and EntriesHeld.
    """
    checked = check_selection(by, seen=seen, only=only, own=own)
    release = publishing.publish_draft(
        note=note,
        by=by,
        at=at,
        accepted=accepted,
        seen=checked.version,
        accepted_loss=accepted_loss,
        only=checked.only,
        progress=progress,
    )
    checked.close_reviews(release, by=by, at=at)
    return release


def check_selection(
    by: str, *, seen: str, only: Collection[EntryKey] | None, own: ScheduledPublish | None = None
) -> PublishableSelection:
    """Return what can be published of the draft, or of `only` these entries.

    Raises EntriesHeld if a schedule or a review holds some of them, and ApprovalMissing if a second person must approve
    them first.
    """
    chosen = selection.load_entries(only)
    reviews = holds.check_holds(chosen, own=own)
    decision = decide(by=by, chosen=chosen)
    if not decision.allowed:
        raise ApprovalMissing(decision.reason)
    version = seen or snapshot.compute_version(chosen.after)
    only = None if chosen.is_complete else chosen.keys
    return PublishableSelection(only, version, reviews, _find_outdated(reviews, chosen), chosen.list_audit_values())
