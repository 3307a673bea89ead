"""Connections to upstreams."""

from django.db import models

from registry.models.fields import name_validator


class Connection(models.Model):
    """An upstream that runs ops."""

    class Kind(models.TextChoices):
        EMBEDDED = "embedded", "embedded"
        EXAMPLE = "example", "example"

    name = models.CharField(max_length=60, unique=True, validators=[name_validator])
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.EMBEDDED)

    def __str__(self) -> str:
        return self.name
