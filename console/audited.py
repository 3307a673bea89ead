"""Base classes of admin pages whose changes are in the audit log."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from analytics import audit
from analytics.models import AuditEntry
from core.admin import base


class AuditHistoryAdmin(base.ModelAdmin[Any]):
    """Admin page whose history is the audit log, which has old and new values; Django's log has none."""

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        """Return the kind and name of a row in the audit log."""
        raise NotImplementedError

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the audit log of a row."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404("This row does not exist.")
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        kind, name = self.get_audit_key(row)
        changelist = reverse("admin:analytics_auditentry_changelist")
        return redirect(f"{changelist}?{urlencode({'kind': kind, 'name': name})}")


class AuditedAdmin(AuditHistoryAdmin):
    """Admin page that records changes in the audit log. For rows other than copy, which records its own."""

    audit_kind: AuditEntry.Kind

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        return self.audit_kind, self.get_audit_name(row)

    def get_audit_name(self, row: Any) -> str:
        """Return the name of a row in the audit log."""
        return str(row)

    def get_audit_values(self, row: Any) -> dict[str, Any] | None:
        """Return the audited fields of a row as JSON values."""
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        saved_row = type(obj)._default_manager.filter(pk=obj.pk).first() if change else None
        vars(request)["audited_before"] = self.get_audit_values(saved_row) if saved_row else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        row = type(form.instance)._default_manager.get(pk=form.instance.pk)
        self.record_change(request, row, vars(request).pop("audited_before"), self.get_audit_values(row))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.record_change(request, obj, self.get_audit_values(obj), None)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.record_change(request, row, self.get_audit_values(row), None)
        super().delete_queryset(request, queryset)

    def record_change(
        self, request: HttpRequest, row: Any, before: audit.AuditValues | None, after: audit.AuditValues | None
    ) -> None:
        """Record what a user changed. `before` is None for an added row, `after` for a removed one."""
        audit.record_change(
            self.audit_kind, self.get_audit_name(row), before, after, by=str(request.user), at=timezone.now()
        )
