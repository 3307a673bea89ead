"""Which release went live on which day, for the charts of reports."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from registry.models import Activation

MAX_MARKERS = 12  # of a chart; more would hide the line


def list_markers(days: Sequence[date]) -> dict[int, str]:
    """Return the last release that went live on each of some consecutive days, as {index of the day: "r12"}."""
    begin, end = (datetime.combine(day, time(), UTC) for day in (days[0], days[-1] + timedelta(days=1)))
    activations = Activation.objects.filter(activated_at__gte=begin, activated_at__lt=end)
    rows = activations.order_by("activated_at", "id").values_list("activated_at", "release__number", "release_id")
    markers = {
        (at.astimezone(UTC).date() - days[0]).days: f"r{number}" if number else version[:6]
        for at, number, version in rows
    }
    return dict(sorted(markers.items())[-MAX_MARKERS:])
