"""Switches of ops, groups and connections."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from core.text import english, notes
from registry.models.connection import Connection
from registry.models.op import ROOT, Group, Op
from registry.models.release import Release


class SwitchQuerySet(models.QuerySet["Switch"]):
    """Filters for switches."""

    def off(self) -> "SwitchQuerySet":
        """Return the switches that are off."""
        return self.filter(is_off=True)


class Switch(models.Model):
    """The state of an op, group or connection that was switched off (or on again) without a release.

    It refers to its target by name. A target that is removed and added again under that name is still off.
    """

    class Kind(models.TextChoices):
        OP = "op", "op"
        GROUP = "group", "group"
        CONNECTION = "connection", "connection"

    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=200, help_text="Path of the op or group, or name of the connection.")
    is_off = models.BooleanField(default=True, help_text="While off, it is not listed and does not run.")
    reason = models.CharField(max_length=200, blank=True, help_text="Callers see this reason.")
    changed_by = models.CharField(max_length=150, editable=False)
    changed_at = models.DateTimeField(editable=False)

    objects = SwitchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "switches"
        ordering = ["-changed_at", "-id"]
        constraints = [
            # A target has one state.
            models.UniqueConstraint(fields=["kind", "name"], name="switch_once_a_target"),
            models.CheckConstraint(condition=Q(kind__in=["op", "group", "connection"]), name="switch_kind_known"),
            # A refused caller reads the reason.
            models.CheckConstraint(condition=Q(is_off=False) | Q(reason__length__gt=0), name="switch_off_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {'off' if self.is_off else 'on'}"

    def clean(self) -> None:
        """Refuse an unknown name, and switching off without a reason."""
        errors: dict[str, str] = {}
        if self.is_off and (problem := notes.find_note_problem(self.reason, "why it is off; callers see it")):
            errors["reason"] = problem
        if self.kind in self.Kind.values and (names := self._get_valid_names()) is not None and self.name not in names:
            close_names = english.find_similar(self.name, names)
            hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
            errors["name"] = f"There is no {self.kind} {self.name}.{hint}"
        if errors:
            raise ValidationError(errors)

    def _get_valid_names(self) -> set[str] | None:
        """Return the names that can be switched off. None when switching on: the target may no longer exist."""
        if not self.is_off:
            return None
        if self.kind == self.Kind.CONNECTION:
            return set(Connection.objects.values_list("name", flat=True))
        if self.kind == self.Kind.GROUP:
            return {ROOT, *Group.objects.values_list("path", flat=True)}
        live = Release.objects.filter(activations__is_live=True).values_list("tokens", flat=True).first()
        return {*Op.objects.values_list("op", flat=True), *(live or {})}  # including live ops removed from the draft
