"""What a request wants done, the part that says it, and verbs that undo each other."""

import pytest

from registry.search import intent, request_intent


@pytest.mark.parametrize(
    ("request_", "actions"),
    [
        ("create a task", {intent.CREATE}),
        ("please rename it", {intent.UPDATE}),
        ("set up a party with three tasks", {intent.CREATE}),
        ("copy a document", {intent.CREATE}),
        ("which tasks did we complete yesterday", {intent.READ}),  # a question, whatever its verbs are
        ("tasks finished in the last two weeks", {intent.READ}),  # a participle is no verb
        ("open tasks in this project", {intent.READ}),  # a state
        ("open the guide", set()),  # to read it, or to begin one
        ("give me the weather", {intent.READ}),
        ("give the project a calendar", set()),
        ("plan with the word marketing", set()),  # a noun
        ("plan the launch", set()),
        ("link between the two", set()),
        ("link the two tasks", {intent.UPDATE}),
        ("my sister wants to cancel the party", {intent.DELETE}),
        ("the note on my desk", set()),
        ("the review is two hours longer", set()),  # a statement
        ("find two free hours and book them", {intent.READ, intent.CREATE}),
        ("", set()),
    ],
)
def test_request_intent_has_the_actions_of_its_clauses(request_: str, actions: set[str]) -> None:
    assert request_intent.detect_intent(request_).actions == actions


def test_certainty_is_the_share_of_clauses_that_say_what_they_want() -> None:
    assert request_intent.detect_intent("delete the task").certainty == 1
    assert request_intent.detect_intent("delete the task, the kitchen is finished").certainty == 0.5
    assert request_intent.detect_intent("the kitchen is finished").certainty == 0


@pytest.mark.parametrize(
    ("request_", "heads"),
    [
        ("create a project with three tasks", ["create a project"]),
        ("find a page about tiles, then update the plan", ["find a page", "update the plan"]),
        ("create a project", []),  # the whole request
        ("a project with tasks", []),
        ("list of tasks", []),  # too little
    ],
)
def test_heads_end_before_what_only_describes(request_: str, heads: list[str]) -> None:
    assert request_intent.find_heads(request_) == heads


@pytest.mark.parametrize(
    ("verb", "opposites"),
    [
        ("mark", {"unmark"}),
        ("unlock", {"lock"}),
        ("start", {"stop"}),
        ("accept", {"decline", "reject"}),
        ("unit", set()),
    ],
)
def test_opposites_are_known_in_both_directions(verb: str, opposites: set[str]) -> None:
    assert opposites <= request_intent.list_opposites(verb)
    assert bool(request_intent.list_opposites(verb)) == bool(opposites)
    assert all(verb in request_intent.list_opposites(opposite) for opposite in opposites)
