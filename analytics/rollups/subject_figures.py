"""What the figures of subjects (SubjectFigures) sum."""

from analytics.rollups.models import SubjectFigures
from analytics.rollups.sums import EventSums

SUMS = EventSums(
    model=SubjectFigures,
    period="begin",
    dimensions=("subject", "release", "surface", "cohort", "model", "client"),
    conditions={
        "calls": "is_call",
        "failed": "is_call AND NOT ok",
        "invalid": "is_call AND code = 'VALIDATION_ERROR'",
        "unknown_names": "is_unknown_name",
        "helps": "is_help",
        "searches": "is_search",
        "misses": "is_search AND result_count = 0",
    },
    events="NOT subject = ''",
)
