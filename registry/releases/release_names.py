"""Names of releases for people, by version."""

from collections.abc import Iterable

from registry.models import Release

SHORT_VERSION = 12  # characters of a version on pages


def map_short_names(versions: Iterable[str]) -> dict[str, str]:
    """Return the short name of each version, such as "r12 Clearer summaries".

    Of a version that is no release any more, these are the first characters.
    """
    names = {version: version[:SHORT_VERSION] for version in versions}
    rows = Release.objects.filter(pk__in=list(names)).only("number", "name")
    return names | {row.pk: row.short_name for row in rows}
