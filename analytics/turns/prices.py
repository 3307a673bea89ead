"""What tokens cost: by the price of each model family, from a table that admins keep."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Case, F, FloatField, Sum, Value, When

from analytics.turns.models import ToolSelection

MEAN_DAYS = 7  # whose reported tokens weigh the prices


class ModelPrice(models.Model):
    """What a million tokens of a model family cost. Families without a row cost what the setting says."""

    family = models.CharField(max_length=40, unique=True, help_text="Such as claude, as in the list of turns.")
    dollars_per_million = models.DecimalField(
        "dollars per million tokens", max_digits=8, decimal_places=3, validators=[MinValueValidator(0)]
    )

    class Meta:
        ordering = ["family"]

    def __str__(self) -> str:
        return self.family


def build_dollars() -> Sum:
    """Return the dollars of the reported tokens of turns, by the price of each model family."""
    prices = ModelPrice.objects.values_list("family", "dollars_per_million")
    cases = [When(model=family, then=Value(float(price))) for family, price in prices]
    price = Case(*cases, default=Value(_get_default()), output_field=FloatField())
    return Sum(F("tokens") * price / 1_000_000, output_field=FloatField())


def get_mean_price(at: datetime) -> float:
    """Return the dollars per million tokens of whatever models read: the mean of last week's reported tokens."""
    if not ModelPrice.objects.exists():
        return _get_default()
    reported = ToolSelection.objects.filter(time__gt=at - timedelta(days=MEAN_DAYS), time__lte=at).order_by()
    sums = reported.aggregate(dollars=build_dollars(), tokens=Sum("tokens"))
    return float(sums["dollars"] * 1_000_000 / sums["tokens"]) if sums["tokens"] else _get_default()


def _get_default() -> float:
    return float(settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS)
