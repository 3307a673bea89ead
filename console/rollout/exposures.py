"""Exposures, assignments of subjects, and variants."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from analytics.flags import FLAGS, FlagKey
from analytics.rollout.models import Assignment, Cohort, Subject
from console.log_pages import TIME_FILTER, KnownValuesFilter
from core.admin import base
from registry.models import Release
from registry.releases.stored_releases import SHORT_VERSION, map_short_names

MAX_RELEASE_CHOICES = 50  # releases in the list of variants
VERSION_LENGTH = 64  # characters of a release's version


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


def title_flag(key: str) -> str:
    """Return the title of a flag; the key of one that is no longer declared."""
    return FLAGS[FlagKey(key)].title if key in set(FlagKey) else key


def name_variants(variants: Iterable[str]) -> dict[str, str]:
    """Return each variant as pages show it: a release by its number and name, such as "r12 Clearer summaries"."""
    variants = set(variants)
    names = map_short_names(variant for variant in variants if len(variant) == VERSION_LENGTH)
    return {variant: names.get(variant, variant) for variant in variants}


def annotate_releases(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Add the number and the name of the release that is the variant of each row, for `name_annotated_variant`."""
    releases = Release.objects.filter(version=OuterRef("variant"))
    annotated: QuerySet[Any] = rows.annotate(
        release_number=Subquery(releases.values("number")), release_name=Subquery(releases.values("name"))
    )
    return annotated


def name_annotated_variant(row: Any) -> str:
    """Return the variant of a row, as `name_variants` does, without a query."""
    if row.release_number is None:
        return str(row.variant[:SHORT_VERSION] if len(row.variant) == VERSION_LENGTH else row.variant)
    return f"r{row.release_number} {row.release_name}".rstrip()


def _label_release(release: Release) -> str:
    note = release.activations.order_by("activated_at", "id").values_list("note", flat=True).first() or ""
    withdrawn_suffix = ", withdrawn" if release.withdrawn_at else ""
    return f"{release.short_name}{withdrawn_suffix}: {note[:60]}".rstrip(": ")


class FlagFilter(KnownValuesFilter):
    title, parameter_name, values = "flag", "flag", tuple(FLAGS)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(key, title_flag(key)) for key in self.values]


class CohortNameFilter(KnownValuesFilter):
    """Filter by a cohort that exists, or by that of a link."""

    title, parameter_name = "cohort", "cohort"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = {*Cohort.objects.values_list("name", flat=True), *filter(None, [self.value()])}
        return [(name, name) for name in sorted(names)]


class VariantFilter(KnownValuesFilter):
    """Filter by the variants that flags declare, and the releases that cohorts are on."""

    title, parameter_name = "variant", "variant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        declared = [variant for flag in FLAGS.values() for variant in flag.variants]
        used = Cohort.objects.order_by("variant").values_list("variant", flat=True).distinct()
        return list(name_variants([*declared, *used, *filter(None, [self.value()])]).items())


@admin.register(Assignment)
class AssignmentAdmin(base.ReadOnlyMixin, base.ModelAdmin[Assignment]):
    empty = "No exposures yet. docs/rollout-guide.md shows how a chat service asks for a variant."
    list_display = ["subject", "flag_title", "variant_label", "cohort", "time"]
    list_filter = [FlagFilter, VariantFilter, CohortNameFilter, TIME_FILTER]
    search_fields = ["subject"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assignment]:
        return annotate_releases(super().get_queryset(request))

    @admin.display(description="flag", ordering="flag")
    def flag_title(self, row: Assignment) -> str:
        return title_flag(row.flag)

    @admin.display(description="variant", ordering="variant")
    def variant_label(self, row: Assignment) -> str:
        return name_annotated_variant(row)
