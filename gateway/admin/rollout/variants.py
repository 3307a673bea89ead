"""Variants as the rollout pages show them: choices of a select, and short names."""

from typing import Any

from analytics.models import Cohort
from analytics.rollout.flags import FLAGS, FlagKey
from registry.models import Release

MAX_RELEASE_CHOICES = 50  # releases in the list of variants


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


def shorten_variant(variant: str) -> str:
    """Return a variant as lists show it: a release version is cut to 12 characters."""
    return variant[:12] if len(variant) == 64 else variant


def _label_release(release: Release) -> str:
    note = release.activations.order_by("activated_at", "id").values_list("note", flat=True).first() or ""
    withdrawn_suffix = ", withdrawn" if release.withdrawn_at else ""
    return f"{release.short_name}, {release}, {release.created_at:%Y-%m-%d}{withdrawn_suffix}: {note[:60]}".rstrip(": ")
