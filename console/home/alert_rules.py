"""The page of a rule of alerts, with how often it would have opened one in the last days."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.forms import Script
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from analytics.alerts import alert_job, alert_text, preview
from analytics.alerts.metrics import SLOW_SHARE, AlertScope, Unit
from analytics.alerts.models import AlertRule
from analytics.alerts.preview import RulePreview
from console.log_pages import AuditedAdmin
from core.admin.page_parts import LivePreviewAdmin
from core.text.display import DASH

# What to enter as the threshold, by the unit of the metric.
UNIT_TEXTS = {
    Unit.PERCENT: "Percent of them.",
    Unit.MILLISECONDS: f"Milliseconds. An alert opens if more than {SLOW_SHARE:g}% of the calls take longer.",
    Unit.DOLLARS: "US dollars in this period.",
    Unit.COUNT: "A number. 0: an alert opens at the first.",
}
ANY_UNIT_TEXT = "Percent; milliseconds for slow calls; US dollars for spending; a number for the last three."
INCOMPLETE_FORM = "Fill in the form to see how often the rule would have opened an alert."
MAX_NAMES = 5


class AlertRuleForm(forms.ModelForm[AlertRule]):
    """A rule's form. The threshold says its unit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "threshold" not in self.fields:
            return  # a page without permission to change
        rule, threshold = self.instance, self.fields["threshold"]
        threshold.help_text = UNIT_TEXTS[rule.declaration.unit] if rule.pk else ANY_UNIT_TEXT
        if rule.pk and rule.threshold.is_integer():
            self.initial["threshold"] = int(rule.threshold)


@admin.register(AlertRule)
class AlertRuleAdmin(AuditedAdmin, LivePreviewAdmin):
    """Rules. What a rule watches cannot be changed, because its open alerts are about it."""

    form = AlertRuleForm
    audit_kind = "alert_rule"
    preview_path = "openings"
    change_form_template = "console/home/alert_rule_form.html"
    compressed_fields = False
    empty = "Add a rule to be told when calls fail, slow down or cost too much."
    list_display = ["name", "condition", "is_on", "notify", "open_alerts"]
    list_filter = ["is_on", "metric", "scope"]
    search_fields = ["name", "pattern", "note"]

    class Media:
        css = {"all": ["console/report.css"]}
        js = [Script("console/impact.js", defer=True)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertRule]:
        rows: QuerySet[AlertRule] = super().get_queryset(request)
        return rows.annotate(open_count=Count("alerts", filter=Q(alerts__closed_at=None)))

    def get_fieldsets(self, request: HttpRequest, obj: AlertRule | None = None) -> Any:
        """Leave out what does not matter for the metric of a rule, such as the period of a state."""
        declared = obj.declaration if obj else None
        condition = [
            *(["minutes"] if declared is None or declared.max_minutes else []),
            *(["min_count"] if declared is None or declared.is_share else []),
        ]
        what = ["name", ("metric", "scope"), *(["pattern"] if obj is None or obj.scope != AlertScope.OVERALL else [])]
        return [
            (None, {"fields": what}),
            ("When to open an alert", {"fields": ["threshold", *([tuple(condition)] if condition else [])]}),
            ("What happens", {"fields": ["is_on", "notify", "note"]}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: AlertRule | None = None) -> list[str]:
        return ["metric", "scope"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: AlertRule | None = None) -> bool:
        """Shipped rules are switched off instead."""
        return super().has_delete_permission(request, obj) and not (obj and obj.key)

    @admin.display(description="when")
    def condition(self, rule: AlertRule) -> str:
        return alert_text.describe_rule(rule)

    @admin.display(description="open alerts", ordering="open_count")
    def open_alerts(self, rule: Any) -> str:
        return format_html('<a href="{}">{}</a>', reverse("admin:alerts"), rule.open_count) if rule.open_count else DASH

    def delete_model(self, request: HttpRequest, obj: AlertRule) -> None:
        alert_job.close_alerts(obj, at=timezone.now())
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[AlertRule]) -> None:
        for rule in queryset:
            alert_job.close_alerts(rule, at=timezone.now())
        super().delete_queryset(request, queryset)

    def get_audit_values(self, row: AlertRule) -> dict[str, Any]:
        return row.list_audit_values()

    def render_preview(self, request: HttpRequest, row: AlertRule | None) -> str:
        form = self.bind_form(request, row)
        lines = list_preview_lines(form.instance) if form.is_valid() else [INCOMPLETE_FORM]
        return render_to_string("console/rollout/impact.html", {"lines": lines})


def list_preview_lines(rule: AlertRule) -> list[str]:
    """Return how often the rule would have opened an alert, and for what most often."""
    at = timezone.now()
    found = preview.preview_rule(rule, at=at)
    if found is None:
        return [alert_text.describe_rule(rule), "It watches a state. How it was in the past is not known."]
    return [alert_text.describe_rule(rule), *_describe_openings(found, at)]


def _describe_openings(found: RulePreview, at: Any) -> list[str]:
    hours = (at - found.since).total_seconds() / 3600
    period = f"the last {preview.DAYS} days" if hours >= 24 * preview.DAYS else f"the last {hours:.0f} hours"
    total = found.openings.total()
    if not total:
        return [f"Would not have opened an alert in {period}."]
    lines = [f"Would have opened {total:,} alert{'' if total == 1 else 's'} in {period}."]
    return lines + [f"{name}: {count:,}" for name, count in found.openings.most_common(MAX_NAMES) if name]
