"""What waits for people: the open review. For the home page, so without a comparison of the whole draft."""

from typing import NamedTuple

from registry.models import ReviewRequest
from registry.reviews import requests

State = ReviewRequest.State


class OpenReview(NamedTuple):
    """The open review in a sentence, and whether it waits for this user."""

    sentence: str
    waits_for_me: bool


def describe_open_review(*, user: str, may_decide: bool) -> OpenReview | None:
    """Return the open review for a user, or None. It waits for those who may decide, or for who has to change it."""
    request = requests.get_open_request()
    if request is None:
        return None
    is_asker = request.asked_by == user
    if request.state == State.WAITING:
        sentence = f"{'You' if is_asker else request.asked_by} asked for a review of {request.summary}."
        return OpenReview(sentence, may_decide and not is_asker)
    decider = "You" if request.decided_by == user else request.decided_by
    if request.state == State.SENT_BACK:
        return OpenReview(f"{decider} requested changes of {request.summary}.", is_asker)
    return OpenReview(f"{decider} approved {request.summary}.", may_decide)
