"""Releases in templates."""

from django import template

from registry.releases.stored_releases import map_short_names

register = template.Library()


@register.filter
def release_name(version: str) -> str:
    """Return the number and the name of a release by its version. Takes a query."""
    return map_short_names([version])[version]
