"""Variants as the rollout pages show them: choices of a select, and short names."""

from collections.abc import Iterable
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from analytics.models import Cohort
from analytics.rollout.flags import FLAGS, FlagKey
from registry.models import Release
from registry.releases.stored_releases import SHORT_VERSION, map_short_names

MAX_RELEASE_CHOICES = 50  # releases in the list of variants
VERSION_LENGTH = 64  # characters of a release's version


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
    """Return the title of a flag; the key of one that is not declared any more."""
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
    return f"{release.short_name}, {release}, {release.created_at:%Y-%m-%d}{withdrawn_suffix}: {note[:60]}".rstrip(": ")
