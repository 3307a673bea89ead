"""The pages of connections: the list, the form, tests, and what changed upstream."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.core.exceptions import PermissionDenied
from django.db.models import prefetch_related_objects
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from unfold.widgets import UnfoldAdminTextareaWidget

from console import chat_links
from console.access.switches import SwitchableMixin
from console.connections import connection_fields, end_users, figures, import_pages
from console.connections.connection_test import run_test
from console.connections.end_users import ConnectionForm
from console.connections.import_pages import ImportPagesMixin
from console.connections.secrets import ConnectionSecretInline, describe_secrets
from console.log_pages import AuditedAdmin
from gateway.executors.remote import connection_guards
from registry.catalog import switches
from registry.imports import definitions, drift
from registry.models import Connection, Switch

if TYPE_CHECKING:  # unfold ships no types; what it derives from has them
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList

HEADERS_WIDGET = UnfoldAdminTextareaWidget(attrs={"class": "ui-code", "rows": 2, "spellcheck": "false"})


class ConnectionChangeList(ChangeList):
    """A page of the list. Sets the figures of each row, and the secrets that it lacks."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        prefetch_related_objects(rows, "secrets")
        figures_by_row = figures.list_figures(rows, at=timezone.now())
        for row in rows:
            row.figures, row.needed_secrets = figures_by_row[row.pk], describe_secrets(row)
        self.result_list = rows


@admin.register(Connection)
class ConnectionAdmin(AuditedAdmin, SwitchableMixin, ImportPagesMixin):
    empty = "Ops run through connections. Import a service, or load the shipped ops with load_catalog."
    form = ConnectionForm
    audit_kind = "connection"
    switch_kind, switch_name = Switch.Kind.CONNECTION, "name"
    list_display = ["name", "kind", "op_count", "calls", "failures", "p95", "imported", "credentials", "state"]
    change_list_template = "console/connections/connection_list.html"
    change_form_outer_before_template = "console/connections/state.html"
    ordering = ["name"]
    search_fields = ["name", "base_url"]
    go_to_order = 3

    class Media:
        js = [Script("console/connection.js", defer=True)]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/changes/", view(self.changes_view), name="registry_connection_changes"),
            path("<int:pk>/test/", view(self.test_view), name="registry_connection_test"),
            path("<int:pk>/check/", view(self.check_view), name="registry_connection_check"),
        ]
        return [*own, *super().get_urls()]

    def get_fieldsets(self, request: HttpRequest, obj: Connection | None = None) -> Any:
        """Return the settings of the connection's kind; for a new one, the settings of all kinds."""
        identity = (None, {"fields": ["name", "kind"]})
        fieldsets = [
            identity,
            *(connection_fields.NEW_FIELDSETS if obj is None else connection_fields.FIELDSETS.get(obj.kind, ())),
        ]
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets  # connection.js hides what the chosen options do not need
        return connection_fields.drop_unneeded_fields(fieldsets, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"may_import": self.has_import_permission(request)})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"kind": Connection.Kind.HTTP, **super().get_changeform_initial_data(request)}

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in ("headers", "more_keys"):
            kwargs["widget"] = HEADERS_WIDGET
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer only kinds that people add for a new connection."""
        match = request.resolver_match
        if db_field.name == "kind" and match is not None and "object_id" not in match.kwargs:
            kwargs["choices"] = [(kind.value, kind.label) for kind in (Connection.Kind.HTTP, Connection.Kind.MCP)]
        field = super().formfield_for_choice_field(db_field, request, **kwargs)
        if field is not None:
            field.widget.attrs |= connection_fields.build_attributes(db_field.name)
        return field

    def get_inlines(self, request: HttpRequest, obj: Connection | None) -> Any:
        """Return the secrets, for a saved connection that sends requests: they are bound to its address."""
        return [ConnectionSecretInline] if obj is not None and obj.is_remote and not obj.is_program else []

    def explain_off(self, row: Connection) -> str:
        reason = switches.get_switches().connections.get(row.name)
        return f"{row.name} is switched off: {reason}" if reason else ""

    @admin.display(description="Ops")
    def op_count(self, row: Any) -> int:
        return int(row.op_total)

    @admin.display(description="Calls (24 h)")
    def calls(self, row: Any) -> str:
        return _link_count(row.figures.calls_url, row.figures.calls, style="")

    @admin.display(description="Failed")
    def failures(self, row: Any) -> str:
        return _link_count(row.figures.failed_url, row.figures.failed, style="ui-text-danger")

    @admin.display(description="p95")
    def p95(self, row: Any) -> str:
        return f"{row.figures.percentiles[1]:,.0f} ms" if row.figures.percentiles else "–"

    @admin.display(description="Imported", ordering="imported_at")
    def imported(self, row: Any) -> str:
        return naturaltime(row.imported_at) if row.imported_at else "–"

    @admin.display(description="Credentials")
    def credentials(self, row: Any) -> str:
        missing = [secret.label for secret in row.needed_secrets if not secret.is_usable]
        if missing:
            return format_html('<span class="ui-tag ui-tag--removed">{} missing</span>', ", ".join(missing))
        return "set" if row.needed_secrets else "–"

    @admin.display(description="State")
    def state(self, row: Any) -> str:
        """Return whether its definitions are read and changed, and whether it is off."""
        changed = format_html('<span class="ui-tag">{} changed</span>', row.changed) if row.changed else ""
        if row.check_error:
            tag = '<span class="ui-tag ui-tag--removed" title="{}">{}</span>'
            changed = format_html(tag, row.check_error, "unread")
        return format_html_join(" ", "{}", ((mark,) for mark in (changed, self.off(row)) if mark))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ConnectionChangeList

    def get_queryset(self, request: HttpRequest) -> Any:
        return import_pages.annotate_counts(super().get_queryset(request))

    def get_audit_values(self, row: Connection) -> dict[str, Any]:
        return connection_fields.read_audit_values(row)

    def save_model(self, request: HttpRequest, obj: Connection, form: Any, change: bool) -> None:
        """Save a connection. A new name changes the entries of its ops, so mark them as updated."""
        super().save_model(request, obj, form, change)
        end_users.store_settings(obj, form.cleaned_data)
        if "name" in form.changed_data:
            obj.ops.update(updated_at=timezone.now())

    def response_add(self, request: HttpRequest, obj: Connection, post_url_continue: str | None = None) -> HttpResponse:
        """Go to the new connection's page if it needs secrets: they can be entered once it is saved."""
        missing = [secret.label for secret in describe_secrets(obj) if not secret.is_usable]
        if not missing or IS_POPUP_VAR in request.POST:
            return super().response_add(request, obj, post_url_continue)
        message = f"The connection {obj} was added. Enter its secrets now: {', '.join(missing)}."
        self.message_user(request, message, messages.WARNING)
        return redirect(f"{reverse('admin:registry_connection_change', args=[obj.pk])}#secrets-group")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row: Connection | None = kwargs.get("obj")
        if row is not None and row.pk is not None:
            context |= {
                "connection": row,
                "figures": figures.get_figures(row, at=timezone.now()),
                "changed": definitions.list_changed(row),
                "new": definitions.list_new(row),
                "secrets": describe_secrets(row),
                "circuit": connection_guards.get_guard(row.name).get_state(),
                "may_import": self.has_import_permission(request),
                "may_switch": self.has_switch_permission(request),
                **chat_links.build_context(row.ops.all()),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Run one of the connection's reads, or ask its MCP server for its tools, and say how it went. Only POST."""
        connection = self._get_changeable(request, pk)
        if request.method == "POST":
            ok, message = run_test(connection, request)
            self.message_user(request, message, messages.SUCCESS if ok else messages.ERROR)
        return redirect("admin:registry_connection_change", pk)

    def check_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Check the upstream for changes now. Only POST."""
        connection = self._get_changeable(request, pk)
        if request.method == "POST" and (connection.document_url or connection.is_watched):
            error = drift.check_connection(connection.pk)
            count, new = len(definitions.list_changed(connection)), len(definitions.list_new(connection))
            found = f"{count} changed." if count else "Nothing has changed since the import."
            found += f" {new} new." if new else ""
            self.message_user(request, error or found, messages.ERROR if error else messages.SUCCESS)
        return redirect("admin:registry_connection_change", pk)

    def changes_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what changed upstream, definition by definition. A POST approves the chosen ones."""
        connection = self._get_changeable(request, pk)
        if request.method == "POST":
            names, shown = request.POST.getlist("name"), request.POST.getlist("seen")
            if again := import_pages.find_changed_again(connection, names, shown):
                message = f"{', '.join(again)} changed again. Nothing was approved. Review the new version."
                self.message_user(request, message, messages.WARNING)
                return redirect("admin:registry_connection_changes", pk)
            report = import_pages.approve_upstream_changes(
                connection, names, by=request.user.get_username(), at=timezone.now()
            )
            if report is None:
                self.message_user(request, "Choose what to approve.", messages.WARNING)
                return redirect("admin:registry_connection_changes", pk)
            self.message_user(request, f"Approved, and merged into the draft: {report}", messages.SUCCESS)
            return redirect("admin:registry_release_review")
        return self._render(
            request,
            "console/connections/changes.html",
            {
                "title": f"Changes of {connection}",
                "connection": connection,
                "changes": import_pages.describe_upstream_changes(connection),
            },
        )

    def _get_changeable(self, request: HttpRequest, pk: int) -> Connection:
        if not self.has_import_permission(request):
            raise PermissionDenied
        return get_object_or_404(Connection, pk=pk)


def _link_count(url: str, count: int, *, style: str) -> str:
    """Return a number as a link to the calls that it counts."""
    return format_html('<a href="{}" class="{}">{}</a>', url, style, f"{count:,}") if count else "0"
