"""Selected changes: the release is the live one with the selected entries put in; the others stay in the draft."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.utils import timezone

from audit.models import AuditEntry
from registry.drafts import draft
from registry.models import Agent, Group, Op, OpAlias, Release, Vocabulary
from registry.releases import lifecycle, publishing, review, selection, stored_releases, unpublished
from registry.releases.stored_releases import EntryKey
from registry.snapshot.copy_kinds import Kind
from tests.support.rows.copy_rows import change_row, make_op

pytestmark = pytest.mark.django_db

ADD, GET, COPY = "onto.task.add", "onto.task.get", "onto.task.copy"


def publish(only: Iterable[EntryKey] | None = None, **options: Any) -> Release:
    chosen = None if only is None else frozenset(only)
    return publishing.publish_draft(
        note="Test", by="tests", at=timezone.now(), accepted="Tested", only=chosen, **options
    )


def read_summaries() -> dict[str, str]:
    live = stored_releases.get_live_release()
    assert live is not None
    return {op["op"]: op["summary"] for op in stored_releases.load_content(live)["ops"]}


def find_needed(*names: str) -> dict[str, list[str]]:
    """Return which changes each selected entry needs besides: {entry of the finding: names}."""
    missing = review.review_draft(lambda changes: selection.match_changes(changes, names)).missing
    return {each.finding.op: [change.name for change in each.needed] for each in missing}


@pytest.fixture(autouse=True)
def live(db: None) -> Release:
    make_op(ADD)
    make_op(GET)
    return publish()


def change(path: str, **fields: Any) -> None:
    change_row(Op.objects.get(op=path), **fields)


@pytest.mark.both_databases
def test_selected_entries_go_live_and_the_others_stay_in_the_draft(live: Release) -> None:
    change(ADD, summary="New words for add")
    change(GET, summary="New words for get")
    Op.objects.filter(op=ADD).update(notes="More")

    release = publish([("op", ADD)])

    assert read_summaries() == {ADD: "New words for add", GET: f"Add {GET}"}
    assert (release.base, release.selected_entries) == (live.version, [["op", ADD]])
    assert unpublished.find_unpublished_names()[Kind.OP] == {GET}
    entry = AuditEntry.objects.filter(kind="release").latest("id")
    assert entry.changes["selected"] == [None, "1 of 2 changes"]
    assert entry.changes["entries"] == [None, [ADD]]
    whole = publish()
    assert read_summaries()[GET] == "New words for get"
    assert (whole.base, whole.selected_entries) == ("", None)


def test_all_entries_make_the_release_of_the_whole_draft() -> None:
    change(ADD, summary="New words")
    make_op(COPY)
    Op.objects.get(op=GET).delete()
    keys = selection.load_selection().keys

    assert publish(keys).version == publishing.compute_draft_version()
    assert stored_releases.get_live_release().selected_entries is None  # type: ignore[union-attr]


def test_added_and_removed_entries_are_selected_by_themselves() -> None:
    make_op(COPY)
    Op.objects.get(op=GET).delete()

    publish([("op", COPY)])
    assert set(read_summaries()) == {ADD, COPY, GET}
    publish([("op", GET)])
    assert set(read_summaries()) == {ADD, COPY}


def test_checks_judge_the_release_that_results() -> None:
    change(ADD, summary="New words")
    change(GET, parameters_schema={"type": "object", "properties": {"a": {"type": "nonsense"}}})

    whole, part = review.review_draft(), review.review_draft(lambda _: [("op", ADD)])

    assert [finding.op for finding in whole.verdict.problems] == [GET]
    assert (part.verdict.problems, part.missing) == ([], [])
    assert [each.name for each in part.changes] == [ADD]
    assert list(part.verdict.tokens_by_op) == [ADD]
    publish([("op", ADD)])
    with pytest.raises(publishing.NotPublishable):
        publish([("op", GET)])


def test_release_made_live_meanwhile_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    change(ADD, summary="New words for add")
    change(GET, summary="New words for get")
    activate = lifecycle.activate_release

    def activate_later(**options: Any) -> Any:
        monkeypatch.setattr(lifecycle, "activate_release", activate)
        publish([("op", GET)])
        return activate(**options)

    monkeypatch.setattr(lifecycle, "activate_release", activate_later)

    with pytest.raises(lifecycle.LiveChanged):
        publish([("op", ADD)])

    assert read_summaries() == {ADD: f"Add {ADD}", GET: "New words for get"}


def test_seen_version_is_that_of_the_release_that_results() -> None:
    change(ADD, summary="New words")
    seen = review.review_draft(lambda _: [("op", ADD)]).version
    make_op(COPY)  # an import of another op

    assert publish([("op", ADD)], seen=seen).version == seen
    change(ADD, summary="Newer words")
    with pytest.raises(draft.DraftChanged):
        publish([("op", ADD)], seen=review.review_draft(lambda _: [("op", COPY)]).version)


def test_edits_of_entries_that_were_left_stay_after_the_release() -> None:
    """The editors of an entry are those since it was frozen, not since the live release was."""
    change(ADD, by="ada", summary="New words for add")
    change(GET, by="ben", summary="New words for get")
    publish([("op", ADD)])

    differences = review.review_draft()
    assert [each.editors for each in differences.build_differences(differences.changes)] == [("ben",)]


@pytest.mark.parametrize("is_chosen", [False, True])
def test_new_groups_of_a_selected_op_are_needed(is_chosen: bool) -> None:
    Group.objects.create(path="crm", summary="Customers")
    Group.objects.create(path="crm.lead", summary="Leads")
    make_op("crm.lead.add")

    if is_chosen:
        assert find_needed("crm", "crm.*") == {}
    else:
        assert find_needed("crm.lead.add") == {"crm.lead.add": ["crm.lead"], "crm.lead": ["crm"]}


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        (ADD, lambda: change(ADD, status=Op.Status.RETIRED, successor=COPY)),
        (ADD, lambda: Op.objects.get(op=ADD).rules.filter(kind="do").update(text=f"Call {COPY} to copy one.")),
        ("agents.a", lambda: Agent.objects.create(name="a", summary="A", ops=["onto.task.co*"], system_prompt="A")),
    ],
    ids=["successor", "rule", "agent"],
)
def test_new_op_that_an_entry_names_is_needed(name: str, edit: Any) -> None:
    make_op(COPY)
    edit()
    Op.objects.update(updated_at=timezone.now())

    assert find_needed(name) == {name: [COPY]}
    assert find_needed(name, COPY) == {}


def test_name_that_moves_from_one_op_to_another_needs_both() -> None:
    change(GET, tool_name="read_task")
    change(ADD, tool_name="onto_task_get")

    assert find_needed(ADD) == {ADD: [GET]}
    assert find_needed(GET) == {}


def test_removed_op_needs_the_changes_of_what_named_it() -> None:
    change(GET, without_id="", successor="")
    change(ADD, status=Op.Status.RETIRED, successor=GET)
    publish()
    change(ADD, successor="")
    Op.objects.get(op=GET).delete()

    assert find_needed(GET) == {ADD: [ADD]}


def test_problem_that_no_other_change_resolves_needs_nothing() -> None:
    OpAlias.objects.create(op=make_op(COPY), name="onto_task_get")  # of an op that changes, and keeps its name
    change(GET, summary="New words")

    chosen = review.review_draft(lambda _: [("op", COPY)])

    assert [finding.rule for finding in chosen.verdict.problems] == ["name_taken"]
    assert chosen.missing == []


def test_first_word_of_a_vocabulary_keeps_the_shipped_ones() -> None:
    draft.add_shipped_words(by="tests", at=timezone.now())
    Vocabulary.objects.create(kind="entity", meaning="starship", words=["enterprise"])
    change(ADD, summary="New words")
    words = Vocabulary.objects.count()

    publish([("vocabulary", "entity/starship")])

    content = stored_releases.load_content(stored_releases.get_live_release())  # type: ignore[arg-type]
    assert len(content["vocabulary"]) == words
    assert read_summaries()[ADD] == f"Add {ADD}"


def test_pattern_that_matches_no_change_is_refused() -> None:
    change(ADD, summary="New words")
    changes = selection.load_selection().all_changes

    assert selection.match_changes(changes, ["onto.task.*"]) == {("op", ADD)}
    with pytest.raises(selection.NothingSelected, match=r"No unpublished change matches crm\.\*\."):
        selection.match_changes(changes, ["onto.*", "crm.*"])
