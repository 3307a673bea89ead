"""The result of eval cases as rows of a page: hit rates, cases won and lost, and ops found instead of others."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.text import get_text_list

from core.templatetags.admin_format import percent, signed_points
from registry.evals.comparison import (
    HIT_RANKS,
    CaseOutcome,
    ComparedCase,
    EvalComparison,
    HitRate,
    Loss,
    LossCause,
    TakenCases,
)
from registry.models import EvalCase, Op

MAX_LISTED = 50  # cases won, cases lost, and confused ops
MAX_NAMED = 3  # ops in a sentence
_LOSS_WORDS = {
    LossCause.GONE: "whose op is gone",
    LossCause.NEW: "to new ops",
    LossCause.EDITED: "to edits",
    LossCause.NOISE: "to noise",
}


class OpLink(NamedTuple):
    """An op's path, and the URL of its page if the draft has it."""

    path: str
    url: str


class RateCell(NamedTuple):
    """A hit rate, and by how many points it rose or fell."""

    rate: str
    added: str  # "" if it is not compared with anything
    is_loss: bool


class SetRow(NamedTuple):
    """The hit rates of the cases of one set."""

    label: str
    url: str
    case_count: int
    cells: list[RateCell]


class CaseRow(NamedTuple):
    """A case with where its op was found before and after, what was found first instead, and why it was lost."""

    request: str
    url: str
    op: OpLink
    before: str
    after: str
    instead: OpLink | None
    loss: str


class TakenRow(NamedTuple):
    """The cases of one op for which another op is found first."""

    taken_by: OpLink
    case_count: int
    new_count: int
    cases: list[CaseRow]

    @property
    def is_minor(self) -> bool:
        """Whether it is about a single case that was no better before."""
        return self.case_count == 1 and not self.new_count


class ConfusedOp(NamedTuple):
    """An op with the ops that are found first instead of it."""

    op: OpLink
    taken: list[TakenRow]

    @property
    def case_count(self) -> int:
        return sum(each.case_count for each in self.taken)


def build_summary_context(compared: EvalComparison | None) -> dict[str, Any]:
    """Return the context of console/evals/eval_summary.html."""
    if compared is None:
        return {"eval_sets": [], "eval_lost": [], "eval_lost_count": 0}
    lost = compared.lost
    links = _link_ops(lost[:MAX_LISTED])
    return {
        "eval_sets": [
            SetRow(
                EvalCase.Set(each.name).label.capitalize(),
                f"{reverse('admin:registry_evalcase_changelist')}?case_set__exact={each.name}",
                each.count,
                [_build_rate_cell(rate) for rate in each.rates],
            )
            for each in compared.sets
        ],
        "eval_ranks": HIT_RANKS,
        "eval_lost": [_build_case_row(each, links) for each in lost[:MAX_LISTED]],
        "eval_lost_count": len(lost),
        "eval_change": _describe_change(len(compared.won), lost),
        "eval_won_count": len(compared.won),
        "eval_margin": settings.GATEWAY_EVAL_MARGIN,
        "eval_is_compared": bool(compared.cases) and compared.cases[0].before is not None,
        "eval_missing_ops": compared.missing_ops,
    }


def build_result_context(compared: EvalComparison | None) -> dict[str, Any]:
    """Return the context of the page of results: the summary, the cases won, and which op took which cases."""
    context = build_summary_context(compared)
    if compared is None:
        return context
    won, taken = compared.won[:MAX_LISTED], compared.taken
    links = _link_ops([*won, *(each for pair in taken for each in pair.cases)])
    rows = [(pair.op, _build_taken_row(pair, links)) for pair in taken]
    minor = [(op, row) for op, row in rows if row.is_minor]
    return context | {
        "eval_won": [_build_case_row(each, links) for each in won],
        "eval_confused": _group_by_op([(op, row) for op, row in rows if not row.is_minor], links),
        "eval_confused_once": _group_by_op(minor, links),
        "eval_once_count": len(minor),
    }


def _group_by_op(rows: Iterable[tuple[str, TakenRow]], links: dict[str, str]) -> list[ConfusedOp]:
    rows_by_op: defaultdict[str, list[TakenRow]] = defaultdict(list)
    for op, row in rows:
        rows_by_op[op].append(row)
    confused = [ConfusedOp(_get_link(op, links), taken) for op, taken in rows_by_op.items()]
    return sorted(confused, key=_count_new_and_all)[:MAX_LISTED]


def _count_new_and_all(each: ConfusedOp) -> tuple[int, int]:
    """Return a key that sorts the ops with newly lost cases first, then those with most cases."""
    return -sum(row.new_count for row in each.taken), -each.case_count


def _build_rate_cell(rate: HitRate) -> RateCell:
    points = rate.added_points
    is_loss = points is not None and -points > settings.GATEWAY_EVAL_MARGIN
    return RateCell(percent(rate.rate), "" if points is None else signed_points(points), is_loss)


def _build_case_row(each: ComparedCase, links: dict[str, str]) -> CaseRow:
    return CaseRow(
        each.case.request,
        reverse("admin:registry_evalcase_change", args=[each.case.pk]),
        _get_link(each.case.op, links),
        _format_rank(each.before) if each.before else "",
        _format_rank(each.after),
        _get_link(each.found_instead, links) if each.found_instead else None,
        _explain_loss(each.loss) if each.loss else "",
    )


def _explain_loss(loss: Loss) -> str:
    """Return why a case was lost, as a sentence."""
    left = len(loss.ops) - MAX_NAMED
    names = get_text_list([*loss.ops[:MAX_NAMED], *([f"{left} more"] if left > 0 else [])], "and")
    is_one = len(loss.ops) == 1
    if loss.cause == LossCause.GONE:
        return "The expected op is retired or no longer exists."
    if loss.cause == LossCause.NEW:
        return f"{names} {'is' if is_one else 'are'} new and ahead of it."
    if loss.cause == LossCause.EDITED:
        return f"{names} {'was' if is_one else 'were'} edited."
    return "Noise: no new or edited op is ahead. With other ops around, the same words count differently."


def _describe_change(won_count: int, lost: Collection[ComparedCase]) -> str:
    """Return what became of the cases, such as "0 cases won, 5 lost (3 to new ops, 2 to noise)"."""
    counts = Counter(each.loss.cause for each in lost if each.loss)
    causes = ", ".join(f"{counts[cause]} {_LOSS_WORDS[cause]}" for cause in LossCause if counts[cause])
    why = f" ({causes})" if causes else ""
    return f"{won_count} {'case' if won_count == 1 else 'cases'} won, {len(lost)} lost{why}"


def _build_taken_row(taken: TakenCases, links: dict[str, str]) -> TakenRow:
    return TakenRow(
        _get_link(taken.taken_by, links),
        len(taken.cases),
        taken.new_count,
        [_build_case_row(each, links) for each in taken.cases],
    )


def _format_rank(outcome: CaseOutcome) -> str:
    return "not found" if outcome.rank is None else str(outcome.rank)


def _get_link(path: str, links: dict[str, str]) -> OpLink:
    return OpLink(path, links.get(path, ""))


def _link_ops(cases: Iterable[ComparedCase]) -> dict[str, str]:
    paths = {path for each in cases for path in (each.case.op, each.found_instead) if path}
    rows = Op.objects.filter(op__in=paths).values_list("op", "pk")
    return {path: reverse("admin:registry_op_change", args=[pk]) for path, pk in rows}
