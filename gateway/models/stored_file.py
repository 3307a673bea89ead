"""Files that ops return or take."""

from uuid import uuid4

from django.db import models

from gateway.models.client import Client


class StoredFile(models.Model):
    """A file of one subject of one client. Nobody else can read it, and it is deleted when it expires."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200, blank=True)
    name = models.CharField(max_length=255)
    content_type = models.CharField(max_length=200)
    content = models.BinaryField()
    size = models.PositiveIntegerField(help_text="Bytes.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)  # serves the clean-up

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            # For the quota: what a caller has, without reading the rows, which hold the contents.
            models.Index(fields=["client", "subject", "expires_at", "size"], name="stored_file_quota"),
        ]

    def __str__(self) -> str:
        return self.name
