"""Shipped cases are merged into the rows without touching edits; imported ones replace those with the same request."""

from typing import Any

import pytest

from audit.models import AuditEntry
from registry.evals import case_store
from registry.files.yaml_format import InvalidCatalogFiles
from registry.models import EvalCase
from tests.support.rows.copy_rows import AT, make_op

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


def parse(*cases: dict[str, Any]) -> list[case_store.CaseEntry]:
    return case_store.parse_case_files({"cases.yaml": case_store.export.dump_yaml({"cases": list(cases)}).encode()})


def ship(**fields: Any) -> case_store.MergeReport:
    return case_store.merge_shipped_cases(parse({"request": "Ring Bo", "op": "a.b", **fields}))


def test_shipped_changes_apply_and_edits_stay() -> None:
    added = ship(tags=["terse"], note="First")
    EvalCase.objects.update(note="Mine")

    changed = ship(tags=["short"], note="Second")
    again = ship(tags=["short"], note="Second")

    case = EvalCase.objects.get()
    assert (case.tags, case.note) == (["short"], "Mine")
    assert (added.added, changed.updated, again.unchanged) == (["Ring Bo"], ["Ring Bo"], 1)
    assert changed.kept_edits == ["Ring Bo note"]


def test_a_case_of_an_admin_is_left_alone_and_one_no_longer_shipped_stays() -> None:
    EvalCase.objects.create(request="Ring Bo", op="mine.op")
    ship()
    case_store.merge_shipped_cases(parse({"request": "Ring Cy", "op": "a.b"}))

    report = ship()

    assert EvalCase.objects.get(request="Ring Bo").op == "mine.op"
    assert report.no_longer_shipped == ["Ring Cy"]
    assert EvalCase.objects.count() == 2


def test_import_adds_and_replaces_and_the_history_has_both() -> None:
    make_op("onto.task.add")
    EvalCase.objects.create(request="Ring Bo", op="onto.task.add", note="Old")
    entries = parse({"request": "Ring Bo", "op": "onto.task.add"}, {"request": " Ring\n Cy ", "op": "onto.task.add"})

    first = case_store.import_cases(entries, by="ann", at=AT)
    second = case_store.import_cases(entries, by="ann", at=AT)

    assert (str(first), str(second)) == ("1 added, 1 changed, 0 unchanged.", "0 added, 0 changed, 2 unchanged.")
    assert set(EvalCase.objects.values_list("request", "note")) == {("Ring Bo", ""), ("Ring Cy", "")}
    changed = AuditEntry.objects.get(kind="eval_case", name="Ring Bo")
    assert (changed.by, changed.changes) == ("ann", {"note": ["Old", ""]})


def test_import_writes_nothing_if_a_case_names_an_op_or_args_that_do_not_exist() -> None:
    make_op("onto.task.add")
    entries = parse(
        {"request": "Fine", "op": "onto.task.add", "args": {"title": "x"}},
        {"request": "Gone", "op": "onto.task.ad"},
        {"request": "Also gone", "op": "onto.task.add", "also_accepted": ["onto.nothing"]},
        {"request": "Bad args", "op": "onto.task.add", "args": {"titel": "x"}},
    )

    with pytest.raises(case_store.CasesRefused) as refusal:
        case_store.import_cases(entries, by="ann", at=AT)

    gone, also, args = refusal.value.problems
    assert gone == "Gone: There is no op onto.task.ad. Did you mean onto.task.add?"
    assert "onto.nothing" in also
    assert "onto.task.add does not take these args" in args
    assert not EvalCase.objects.exists()


def test_cases_survive_export_and_import() -> None:
    full = {"request": "Ring: Bo", "op": "a.b", "also_accepted": ["a.c"], "args": {"x": [1, None]}}
    entries = parse({**full, "set": "held_back", "tags": ["no"], "note": "1e3", "active": False})
    case_store.merge_shipped_cases(entries)

    text = case_store.dump_cases(EvalCase.objects.all())

    assert case_store.parse_case_files({"a.yaml": text.encode()}) == entries


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cases: [{request: a}]", "op"),
        ("cases: [{request: ' ', op: a.b}]", "request"),
        ("cases: [{request: a, op: a.b, set: other}]", "other"),
        ("cases: [{request: a, op: a.b}, {request: a, op: a.c}]", "more than once"),
        ("ops: []", "only contain lists named cases"),
        ("cases: {", "YAML"),
    ],
)
def test_files_that_are_not_cases_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidCatalogFiles) as refusal:
        case_store.parse_case_files({"cases.yaml": text.encode()})

    assert problem in str(refusal.value)
