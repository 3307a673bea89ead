"""Rules of alerts, and the alerts that they opened."""

from fnmatch import fnmatchcase
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.text import get_text_list

from analytics.alerts.metrics import DAY, METRICS, AlertMetric, AlertScope, MetricDeclaration, Unit

_AUDITED_FIELDS = (
    "name", "metric", "scope", "pattern", "threshold", "minutes", "min_count", "is_on", "notify", "note"
)  # fmt: skip


class AlertRule(models.Model):
    """When to open an alert: a metric of an op, a connection, … is above a threshold over the last minutes."""

    # Shipped rules have a key. They can be edited and switched off, but not deleted: an upgrade would add them again.
    key = models.CharField(max_length=40, blank=True, editable=False)
    name = models.CharField(max_length=80, unique=True, help_text="The title of its alerts, such as An op fails.")
    metric = models.CharField("what to watch", max_length=20, choices=AlertMetric)
    scope = models.CharField("for", max_length=20, choices=AlertScope, default=AlertScope.OVERALL)
    pattern = models.CharField(
        "only names like", max_length=200, blank=True, help_text="* matches any characters, such as shop.*. Empty: all."
    )
    threshold = models.FloatField("more than", validators=[MinValueValidator(0)])
    minutes = models.PositiveIntegerField(
        "in the last (minutes)",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(DAY)],
        help_text="The shorter, the sooner an alert opens and closes.",
    )
    min_count = models.PositiveIntegerField(
        "at least",
        default=1,
        validators=[MinValueValidator(1)],
        help_text="Calls, searches or turns. Fewer say little.",
    )
    is_on = models.BooleanField("on", default=True, help_text="If off, its open alerts close.")
    notify = models.BooleanField(
        "send messages",
        default=True,
        help_text="When an alert opens: by e-mail and webhook. When it closes: by webhook.",
    )
    note = models.CharField(
        max_length=300, blank=True, help_text="Shown with its alerts, such as who to call, or the address of a runbook."
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(metric__in=list(AlertMetric.values)), name="alert_rule_metric_known"),
            models.CheckConstraint(condition=Q(scope__in=list(AlertScope.values)), name="alert_rule_scope_known"),
            # A period or a minimum of nothing would compare nothing.
            models.CheckConstraint(
                condition=Q(threshold__gte=0, minutes__gte=1, min_count__gte=1), name="alert_rule_limits_positive"
            ),
            # An upgrade adds a shipped rule once.
            models.UniqueConstraint(fields=["key"], condition=~Q(key=""), name="alert_rule_shipped_once"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def declaration(self) -> MetricDeclaration:
        """What is known about its metric."""
        return METRICS[AlertMetric(self.metric)]

    def matches(self, scope_value: str) -> bool:
        """Return whether the rule looks at an op, a connection, … with this name."""
        return not self.pattern or fnmatchcase(scope_value, self.pattern)

    def list_audit_values(self) -> dict[str, Any]:
        """Return what the audit log compares."""
        return {name: getattr(self, name) for name in _AUDITED_FIELDS}

    def clean(self) -> None:
        """Raise ValidationError for a rule that could not be checked, or would never open an alert."""
        if self.metric not in AlertMetric.values:
            return  # the field has its own error
        errors: dict[str, str] = {}
        declared = self.declaration
        if self.scope not in declared.scopes:
            labels = [str(scope.label) for scope in declared.scopes]
            errors["scope"] = f"{AlertMetric(self.metric).label} can be watched for {get_text_list(labels, 'or')}."
        if self.scope == AlertScope.OVERALL and self.pattern:
            errors["pattern"] = "Leave this empty: the rule looks at everything together."
        if declared.unit == Unit.PERCENT and self.threshold is not None and self.threshold >= 100:
            errors["threshold"] = "A share is never more than 100%. Enter a lower one."
        if declared.max_minutes and self.minutes is not None and self.minutes > declared.max_minutes:
            errors["minutes"] = f"At most {declared.max_minutes:,} minutes: each check reads what happened in them."
        if errors:
            raise ValidationError(errors)


class Alert(models.Model):
    """A rule whose condition holds, or held, for one op, connection, client, cohort or release, or for everything."""

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="alerts")
    scope_value = models.CharField(max_length=200, blank=True, help_text="The op, the client, …; empty for everything.")
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    exceeded_at = models.DateTimeField(help_text="When the value was last above the threshold.")
    value = models.FloatField(help_text="When it was last measured, in the unit of the metric.")
    count = models.PositiveIntegerField(help_text="Calls, searches or turns of this value.")
    worst_value = models.FloatField()
    worst_count = models.PositiveIntegerField(help_text="Calls, searches or turns of the worst value.")
    # True for rows of a process of the previous version, which announces what it opens.
    is_announced = models.BooleanField(
        default=False,
        db_default=True,
        help_text="Whether a message said that it is open, so that one says that it closed.",
    )
    silenced_until = models.DateTimeField(null=True, blank=True)
    silence_reason = models.CharField(max_length=300, blank=True)
    silenced_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ["-opened_at", "-id"]
        indexes = [
            models.Index(fields=["closed_at"], name="alert_by_end"),  # recently closed, and those to delete
        ]
        constraints = [
            # An alert opens once. Its index also finds the open ones.
            models.UniqueConstraint(
                fields=["rule", "scope_value"], condition=Q(closed_at=None), name="alert_open_once"
            ),
            # Whoever reads that an alert is silent wants to know why.
            models.CheckConstraint(
                condition=Q(silenced_until=None, silence_reason="", silenced_by="")
                | Q(silenced_until__isnull=False) & ~Q(silence_reason="") & ~Q(silenced_by=""),
                name="alert_silence_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.scope_value}" if self.scope_value else str(self.rule)

    @property
    def is_silenced(self) -> bool:
        """Whether somebody silenced it. The job ends the silence at its time."""
        return self.silenced_until is not None
