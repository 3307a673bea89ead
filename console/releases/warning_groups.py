"""The warnings of the draft by check and service: each group is accepted with one tick, or fixed with one button."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from console import diff_view, op_tree
from console.diff_view import LinkedFinding
from console.releases import selection
from core.admin import base
from registry import checks
from registry.checks import Finding
from registry.drafts import draft, fixes
from registry.models import Release
from registry.releases import review
from registry.releases.review import ReviewVerdict
from registry.reviews.holds import Holders
from registry.snapshot.copy_kinds import COPY_KINDS, Kind

ACCEPTED = "accepted"  # the ticks of the form
MAX_SHOWN = 20  # findings of one group


class WarningGroup(NamedTuple):
    """The warnings of one check about one service, or about one kind of other copy."""

    key: str  # the value of its tick
    name: str
    total: int
    findings: list[LinkedFinding]  # the first of them
    fix: str  # the label of the button that fixes all of them; "" if each needs a person


class WarningsOfCheck(NamedTuple):
    """All warnings of one check."""

    problem: str
    advice: str
    total: int
    groups: list[WarningGroup]


def group_findings(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Return findings by the key of their group: `<check>:<service>`, those of the first check first."""
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda each: list(checks.RULES).index(each.rule)):
        groups[f"{finding.rule}:{_get_group_name(finding)}"].append(finding)
    return dict(groups)


def build_context(verdict: ReviewVerdict, *, may_fix: bool) -> dict[str, Any]:
    """Return the context of console/releases/warnings.html and hints.html.

    The number of queries does not depend on the number of findings.
    """
    groups = group_findings(verdict.warnings)
    shown = [finding for each in groups.values() for finding in each[:MAX_SHOWN]]
    linked = dict(zip(shown, diff_view.link_findings(shown), strict=True))
    return {
        "warning_count": len(verdict.warnings),
        "warning_checks": _build_checks(groups, linked, may_fix=may_fix),
        "hint_count": len(verdict.hints),
        "hint_checks": _build_checks(group_findings(verdict.hints), {}, may_fix=False),
    }


def _build_checks(
    groups: Mapping[str, Sequence[Finding]], linked: Mapping[Finding, LinkedFinding], *, may_fix: bool
) -> list[WarningsOfCheck]:
    by_check: dict[str, list[WarningGroup]] = defaultdict(list)
    for key, findings in groups.items():
        rule, _, name = key.partition(":")
        shown = [linked[finding] for finding in findings[:MAX_SHOWN] if finding in linked]
        fix = fixes.get_label(rule) if may_fix else ""
        by_check[rule].append(WarningGroup(key, name, len(findings), shown, fix))
    return [
        WarningsOfCheck(rule.problem, rule.fix, sum(each.total for each in by_check[rule.name]), by_check[rule.name])
        for rule in map(checks.RULES.__getitem__, by_check)
    ]


def _get_group_name(finding: Finding) -> str:
    if finding.kind == Kind.OP:
        return op_tree.get_service(finding.op)
    if finding.kind == Kind.GROUP:
        return finding.op.partition(".")[0]
    return COPY_KINDS[finding.kind].plural


class WarningFixMixin(base.ModelAdmin[Release]):
    """Adds the buttons that fix a group of warnings to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.fix_view)
        return [path("review/fix/", view, name="registry_release_fix"), *super().get_urls()]

    @method_decorator(require_POST)
    def fix_view(self, request: HttpRequest) -> HttpResponse:
        """Fix the warnings of the group `fix` in the draft, and show the review again with the ticks that were set."""
        if not diff_view.can_write_draft(request):
            raise PermissionDenied
        key = request.POST.get("fix", "")
        draft_review = review.review_draft(selection.choose_changes(request, Holders.load()))
        findings = group_findings(draft_review.verdict.warnings).get(key, [])
        if not fixes.get_label(key.partition(":")[0]):
            raise Http404("There is no such fix.")
        try:
            changes = fixes.fix_findings(findings, by=str(request.user), at=timezone.now())
        except (draft.NothingToChange, draft.DraftRefused, draft.DraftChanged) as error:
            self.message_user(request, f"Nothing was fixed. {error}", messages.ERROR)
        else:
            message = f"Fixed {diff_view.format_change_counts(changes)}. The audit log has what changed."
            self.message_user(request, message, messages.SUCCESS)
        ticks = urlencode({ACCEPTED: request.POST.getlist(ACCEPTED)}, doseq=True)
        return redirect(f"{reverse('admin:registry_release_review')}?{ticks}#publish")
