"""Which turns reports count, and as what. Used by reports, the list of turns and the links between them."""

from collections.abc import Mapping

from django.db import models
from django.db.models import F, Q


class TurnWith(models.TextChoices):
    """What a turn can contain. The list of turns can be filtered by these."""

    SEARCH = "search", "A search"
    HELP_READ = "help_read", "A help read"
    CALL = "call", "A call"
    SUCCESS = "success", "A successful call"
    UNKNOWN_NAME = "unknown_name", "An unknown name"
    LOOP = "loop", "A loop"


TURN_CONDITIONS: Mapping[TurnWith, Q] = {
    TurnWith.SEARCH: Q(searches__gt=0),
    TurnWith.HELP_READ: Q(helps__gt=0),
    TurnWith.CALL: Q(calls__gt=0),
    TurnWith.SUCCESS: Q(calls__gt=F("failed")),
    TurnWith.UNKNOWN_NAME: Q(unknown_names__gt=0),
    TurnWith.LOOP: Q(repeats__gt=0),
}
TURN_WITH_PARAMETER = "with"  # query parameter of the list of turns
