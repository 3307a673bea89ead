"""The pages of eval cases: list, form, their result on the draft and on releases, and files."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.filters import SimpleListFilter
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from console.evals import op_edit, results
from console.evals.op_edit import OpPathField
from console.forms import CompareEvalsForm, ImportFilesForm
from console.log_pages import AuditedAdmin
from core.admin import base
from core.admin.form_fields import StrictJSONField
from registry.evals import case_store, comparison, evaluation
from registry.evals.comparison import EvalRun
from registry.files import loader, yaml_format
from registry.models import EvalCase, Release, get_parent_path
from registry.models.eval_case import MAX_REQUEST_LENGTH
from registry.releases import stored_releases

LISTS = {"also_accepted": 200, "tags": 60}  # fields edited as one text per line, and the longest line


class OptionalJSONField(StrictJSONField):
    """JSON that may be left out. No value is shown as an empty input."""

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)


class GroupFilter(SimpleListFilter):
    """Filter cases by the group of the expected op."""

    title, parameter_name = "group of the op", "group"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        ops = EvalCase.objects.order_by("op").values_list("op", flat=True).distinct()
        return [(group, group) for group in dict.fromkeys(get_parent_path(op) for op in ops)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[EvalCase]) -> QuerySet[EvalCase]:
        group = self.value()
        if not group:
            return queryset
        ops = [op for op in queryset.values_list("op", flat=True).distinct() if get_parent_path(op) == group]
        return queryset.filter(op__in=ops)


class TagFilter(SimpleListFilter):
    """Filter cases by a tag."""

    title, parameter_name = "tag", "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tags = {str(tag) for tags in EvalCase.objects.values_list("tags", flat=True) for tag in tags}
        return [(tag, tag) for tag in sorted(tags)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[EvalCase]) -> QuerySet[EvalCase]:
        tag = self.value()
        if not tag:
            return queryset
        # Compared here, because SQLite cannot search a JSON list.
        return queryset.filter(pk__in=[pk for pk, tags in queryset.values_list("pk", "tags") if tag in tags])


@admin.register(EvalCase)
class EvalCaseAdmin(AuditedAdmin):
    empty = "Eval cases are requests with the op that should be found. Load the shipped ones, import files, or add one."
    audit_kind = "eval_case"
    line_lists = LISTS
    change_list_template = "console/evals/eval_case_list.html"
    list_display = ["request", "op", "case_set", "listed_tags", "is_active", "updated_at"]
    list_filter = ["case_set", GroupFilter, TagFilter, "is_active"]
    search_fields = ["request", "op", "note"]
    fieldsets = [
        (None, {"fields": ["request", "op", "also_accepted", "args"]}),
        ("Sorting", {"fields": ["case_set", "tags", "note", "is_active"]}),
    ]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("compare/", view(self.compare_view), name="registry_evalcase_compare"),
            path("files/", view(self.files_view), name="registry_evalcase_files"),
            path("files/cases.yaml", view(self.download_view), name="registry_evalcase_download"),
        ]
        return [*own, *super().get_urls()]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A deleted shipped case would come back with the next upgrade. Make it inactive instead.
        return super().has_delete_permission(request, obj) and (obj is None or obj.shipped is None)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "op":
            return OpPathField(site=self.admin_site, label="Op", help_text=db_field.help_text)
        if db_field.name == "args":
            kwargs |= {"form_class": OptionalJSONField, "widget": base.LINES_WIDGET}
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_audit_values(self, row: EvalCase) -> dict[str, Any]:
        return case_store.case_to_entry(row)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the values of a new case from the URL. `event` names a search whose stored words are the request."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        args = op_edit.read_stored_args(request)
        return initial if args is None else {**initial, "request": str(args.get("query", ""))[:MAX_REQUEST_LENGTH]}

    @admin.display(description="Tags")
    def listed_tags(self, case: EvalCase) -> str:
        return ", ".join(map(str, case.tags))

    def compare_view(self, request: HttpRequest) -> HttpResponse:
        """Run the active cases on the draft or a release, compared with another one: the live one by default."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        live = stored_releases.get_live_release()
        form = CompareEvalsForm(request.GET if "after" in request.GET else {"after": "", "before": live})
        cases = evaluation.list_active_cases()
        context: dict[str, Any] = {"title": "Evals", "form": form, "case_count": len(cases)}
        if cases and form.is_valid():
            after, before = form.cleaned_data["after"], form.cleaned_data["before"]
            run = _run_on(after, cases)
            baseline = None if after == before else _run_on(before, cases)
            context |= results.build_result_context(comparison.compare_runs(cases, run, baseline))
        return TemplateResponse(request, "console/evals/evals.html", self.admin_site.each_context(request) | context)

    def download_view(self, request: HttpRequest) -> HttpResponse:
        """Return all cases as a YAML file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        headers = {"Content-Disposition": 'attachment; filename="cases.yaml"'}
        return HttpResponse(
            case_store.dump_cases(EvalCase.objects.all()), content_type="application/yaml", headers=headers
        )

    def files_view(self, request: HttpRequest) -> HttpResponse:
        """Offer the cases as a file; on POST import files."""
        may_import = self.has_add_permission(request) and self.has_change_permission(request)
        if not (may_import if request.method == "POST" else self.has_view_permission(request)):
            raise PermissionDenied
        form = ImportFilesForm(request.POST, request.FILES) if request.method == "POST" else ImportFilesForm()
        if request.method == "POST" and form.is_valid() and self._import_files(request, form):
            return redirect("admin:registry_evalcase_changelist")
        context = {"title": "Cases as files", "form": form, "may_import": may_import}
        return TemplateResponse(
            request, "console/evals/eval_case_files.html", self.admin_site.each_context(request) | context
        )

    def _import_files(self, request: HttpRequest, form: ImportFilesForm) -> bool:
        """Import the chosen files and return whether it worked. Adds errors to the form."""
        files = [(file.name or "", file.read()) for file in form.cleaned_data["chosen"]]
        try:
            entries = case_store.parse_case_files(loader.read_yaml_files(files))
            imported = case_store.import_cases(entries, by=str(request.user), at=timezone.now())
        except loader.UnreadableUpload as error:
            form.add_error("chosen", str(error))
        except (yaml_format.InvalidCatalogFiles, case_store.CasesRefused) as error:
            problems: Iterable[Any] = error.problems[: results.MAX_LISTED]
            form.add_error("chosen", ["Nothing was imported.", *map(str, problems)])
        else:
            self.message_user(request, f"Imported: {imported}", messages.SUCCESS)
            return True
        return False


def _run_on(release: Release | None, cases: list[EvalCase]) -> EvalRun:
    """Run cases on a release, or on the draft if there is no release."""
    return evaluation.run_on_release(release, cases) if release else evaluation.run_on_draft(cases)
