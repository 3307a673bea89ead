"""Admin pages of the rollout: flags, cohorts, assignments (exposures) and subjects."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import unquote
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminSelectWidget

from analytics.admin import AuditedAdmin
from analytics.models import Assignment, AuditEntry, Cohort, CohortRule, Flag, Subject
from analytics.reports.report_filter import NO_COHORT
from analytics.rollout import impact as rollouts
from analytics.rollout.evaluation import Rollout
from analytics.rollout.flags import FLAGS, FlagKey
from analytics.rollout.models import MAX_VALUE_LENGTH
from core.admin import base
from core.admin.form_fields import LinesField
from gateway.admin import rollout_impact
from gateway.admin.impact_preview import ImpactPreviewMixin
from registry.models import Release

MAX_RELEASE_CHOICES = 50  # releases in the list of variants
AUDITED_COHORT_FIELDS = ("name", "position", "is_on", "variant", "listed", "note")


class LineListMixin(base.FormFieldMixin[Any]):
    """Edits the column `in_lines`, a list of strings, as one value per line."""

    line_list_field: str

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == self.line_list_field:
            kwargs |= {"form_class": LinesField, "longest": MAX_VALUE_LENGTH, "widget": base.LINES_WIDGET}
            kwargs["help_text"] = f"{db_field.help_text} One per line.".strip()
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class CohortRuleInline(LineListMixin, base.TabularInline[CohortRule, Cohort]):
    model = CohortRule
    line_list_field = "values"


@admin.register(Cohort)
class CohortAdmin(LineListMixin, ImpactPreviewMixin, AuditedAdmin):
    line_list_field = "listed"
    empty = "Everyone gets each flag's default. Add a cohort to give some users another variant."
    audit_kind = AuditEntry.Kind.COHORT
    list_display = ["name", "flag", "position", "members", "share", "variant_label", "exposed", "is_on"]
    list_filter = ["flag", "is_on"]
    list_select_related = ["flag"]
    search_fields = ["name", "note", "variant"]
    inlines = [CohortRuleInline]
    actions = ["delete_selected"]

    def get_readonly_fields(self, request: HttpRequest, obj: Cohort | None = None) -> list[str]:
        """Lock the flag after creation: a move would change two flags, but the audit entry names one."""
        return ["flag"] if obj else []

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the variants of all flags; releases among them only if they can still be served."""
        if db_field.name == "variant":
            widget = UnfoldAdminSelectWidget()
            field = forms.ChoiceField(
                choices=build_variant_choices, widget=widget, help_text=db_field.help_text, required=True
            )
            field.error_messages["invalid_choice"] = "%(value)s is not a variant of this flag. Choose one that is."
            return field
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_form(self, request: HttpRequest, obj: Cohort | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Offer an existing cohort the variants of its own flag only."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        if obj is not None and "variant" in form.base_fields:
            form.base_fields["variant"].choices = partial(build_variant_choices, obj.flag_id)
        return form

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cohort]:
        exposures = Assignment.objects.filter(cohort=OuterRef("name")).order_by().values("cohort")
        count = exposures.annotate(count=Count("subject", distinct=True)).values("count")
        rows: QuerySet[Cohort] = super().get_queryset(request)
        return rows.prefetch_related("rules").annotate(exposed=Coalesce(Subquery(count), 0))

    @admin.display(description="who")
    def members(self, cohort: Cohort) -> str:
        """Describe who is in a cohort."""
        rules = " and ".join(str(rule) for rule in cohort.rules.all())
        listed = len(cohort.listed)
        listed_text = f"{listed:,} listed" if listed else ""
        if not cohort.percentage:
            return f"only {listed_text}" if listed else "nobody"
        rule_text = f"where {rules}" if rules else "everyone else"
        return f"{rule_text}, and {listed_text}" if listed else rule_text

    @admin.display(description="share", ordering="percentage")
    def share(self, cohort: Cohort) -> str:
        percentage = f"{cohort.percentage:f}".rstrip("0").rstrip(".") if cohort.percentage else "0"
        return format_html(
            '<span class="desk-share"><progress value="{0}" max="100" aria-hidden="true"></progress>{0}%</span>',
            percentage,
        )

    @admin.display(description="variant", ordering="variant")
    def variant_label(self, cohort: Cohort) -> str:
        return _shorten_variant(cohort.variant)

    @admin.display(description="exposed", ordering="exposed")
    def exposed(self, cohort: Any) -> str:
        """Link to the users who were exposed to it."""
        changelist_url = reverse("admin:analytics_assignment_changelist")
        return format_html('<a href="{}?cohort={}">{}</a>', changelist_url, cohort.name, f"{cohort.exposed:,}")

    def build_rollout_from_form(self, request: HttpRequest, row: Cohort | None) -> tuple[FlagKey, Rollout] | None:
        form = self.bind_form(request, row)
        if not form.is_valid():
            return None
        cohort = form.instance
        rules: list[CohortRule] = []
        for formset, inline in self.get_formsets_with_inlines(request, row):
            bound = formset(data=request.POST, instance=cohort, queryset=inline.get_queryset(request))
            if not bound.is_valid():
                return None
            filled_forms = [each for each in bound.forms if each.cleaned_data and each not in bound.deleted_forms]
            rules += [each.instance for each in filled_forms]
        return FlagKey(cohort.flag_id), rollouts.apply_cohort(cohort, rules)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add links to the cohort's results and exposures."""
        if cohort := kwargs.get("obj"):
            query, comparison_query = (
                urlencode({"cohort": cohort.name}),
                urlencode({"first": NO_COHORT, "second": cohort.name}),
            )
            context["related"] = [
                ("Results", f"{reverse('admin:report_overview')}?{query}"),
                ("Compare with everyone else", f"{reverse('admin:report_comparison')}?{comparison_query}"),
                ("Exposures", f"{reverse('admin:analytics_assignment_changelist')}?{query}"),
            ]
        return super().render_change_form(request, context, *args, **kwargs)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show on the confirmation page what deleting the cohort means for its users."""
        cohort = self.get_object(request, unquote(object_id))
        if request.method == "GET" and cohort is not None and self.has_delete_permission(request, cohort):
            _add_removal_messages(request, [cohort])
        return super().delete_view(request, object_id, extra_context)

    @admin.action(permissions=["delete"], description="Delete selected cohorts")
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Cohort]) -> HttpResponse | None:
        """Show on the confirmation page what deleting the cohorts means for their users."""
        if not request.POST.get("post"):
            _add_removal_messages(request, list(queryset))
        return delete_selected(self, request, queryset)

    def get_audit_values(self, row: Cohort) -> dict[str, Any]:
        fields: dict[str, Any] = {name: getattr(row, name) for name in AUDITED_COHORT_FIELDS}
        rules = [str(rule) for rule in row.rules.all()]
        return fields | {"flag": row.flag_id, "percentage": float(row.percentage), "rules": rules}


def build_variant_choices(only_flag: str = "") -> list[tuple[str, Any]]:
    """Return the variants of all flags, or of one, as grouped choices of a select.

    Releases: the newest that can be served first, then those that cohorts use.
    """
    used_versions = Cohort.objects.filter(flag=FlagKey.RELEASE).values("variant")
    servable_releases = Release.objects.filter(withdrawn_at=None).defer("content", "tokens").order_by("-created_at")
    used_releases = Release.objects.filter(version__in=used_versions).defer("content", "tokens")
    release_labels = {
        release.version: _label_release(release)
        for release in (*servable_releases[:MAX_RELEASE_CHOICES], *used_releases)
    }
    groups = []
    for flag, declaration in FLAGS.items():
        if only_flag not in ("", flag):
            continue
        choices = [(variant, variant) for variant in declaration.variants]
        groups.append((declaration.title, choices + (list(release_labels.items()) if flag == FlagKey.RELEASE else [])))
    return [("", "Choose a variant"), *groups]


def _shorten_variant(variant: str) -> str:
    """Return a variant as lists show it: a release version is cut to 12 characters."""
    return variant[:12] if len(variant) == 64 else variant


def _label_release(release: Release) -> str:
    note = release.activations.order_by("activated_at", "id").values_list("note", flat=True).first() or ""
    withdrawn_suffix = ", withdrawn" if release.withdrawn_at else ""
    return f"release {release}, {release.created_at:%Y-%m-%d}{withdrawn_suffix}: {note[:60]}".rstrip(": ")


def _add_removal_messages(request: HttpRequest, cohorts: list[Cohort]) -> None:
    """Add messages that describe the effect of removing cohorts, for each flag."""
    after = rollouts.remove_cohorts(cohorts)
    for flag in sorted({FlagKey(cohort.flag_id) for cohort in cohorts}):
        for line in rollout_impact.describe_impact(rollout_impact.compute_impact(flag, after, at=timezone.now())):
            messages.info(request, line)


@admin.register(Flag)
class FlagAdmin(ImpactPreviewMixin, AuditedAdmin):
    """Flags are declared in the code, so they cannot be added or deleted here."""

    empty = "Flags are declared in the code. Run manage.py migrate to create their rows."
    audit_kind = AuditEntry.Kind.FLAG

    list_display = ["__str__", "flag_key", "default", "cohort_counts", "is_on"]
    fields = ["is_on", "flag_key", "default", "cohort_counts"]
    readonly_fields = ["flag_key", "default", "cohort_counts"]
    ordering = ["key"]
    search_fields = ["key"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Flag]:
        rows: QuerySet[Flag] = super().get_queryset(request)
        return rows.annotate(all=Count("cohorts"), on=Count("cohorts", filter=Q(cohorts__is_on=True)))

    @admin.display(description="key", ordering="key")
    def flag_key(self, row: Flag) -> str:
        """Return the key that OpenFeature clients send."""
        return row.key

    @admin.display(description="default")
    def default(self, row: Flag) -> str:
        """Return the variant of users in no cohort."""
        return FLAGS[FlagKey(row.key)].default if row.key in set(FlagKey) else "–"

    @admin.display(description="cohorts")
    def cohort_counts(self, row: Any) -> str:
        """Link to the flag's cohorts."""
        cohorts_url = f"{reverse('admin:analytics_cohort_changelist')}?{urlencode({'flag__key__exact': row.key})}"
        return format_html('<a href="{}">{}</a>', cohorts_url, f"{row.on} of {row.all} on") if row.all else "none"

    def get_audit_values(self, row: Flag) -> dict[str, Any]:
        return {"is_on": row.is_on}

    def build_rollout_from_form(self, request: HttpRequest, row: Flag | None) -> tuple[FlagKey, Rollout] | None:
        form = self.bind_form(request, row)
        if not form.is_valid() or form.instance.key not in set(FlagKey):
            return None
        return FlagKey(form.instance.key), rollouts.apply_flag(form.instance)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Assignment)
class AssignmentAdmin(base.ReadOnlyMixin, base.ModelAdmin[Assignment]):
    empty = "No exposures yet. docs/rollout-guide.md shows how a chat service asks for a variant."
    date_hierarchy = "time"
    list_display = ["subject", "flag", "variant_label", "cohort", "time"]
    list_filter = ["flag", "variant", "cohort"]
    search_fields = ["subject"]
    show_full_result_count = False

    @admin.display(description="variant", ordering="variant")
    def variant_label(self, row: Assignment) -> str:
        return _shorten_variant(row.variant)


@admin.register(Subject)
class SubjectAdmin(base.ReadOnlyMixin, base.ModelAdmin[Subject]):
    empty = "No users seen yet. A user appears once a chat service asks for a toolset or makes a call for them."
    list_display = ["subject", "seen_at", "client", "environment", "context", "model", "variants_link"]
    list_filter = ["client", "environment", "context"]
    search_fields = ["subject"]
    show_full_result_count = False

    @admin.display(description="variants")
    def variants_link(self, row: Subject) -> str:
        """Link to the page that explains the user's variants."""
        explainer_url = f"{reverse('admin:rollout_who')}?{urlencode({'subject': row.subject})}"
        return format_html('<a href="{}">Who gets this?</a>', explainer_url)
