"""Vectors of op texts from the embeddings endpoint, so that each text is sent once."""

from django.db import models


class OpEmbedding(models.Model):
    """The vector of one text from one model. Without a vector it waits to be sent, unless the endpoint refused it."""

    text_hash = models.CharField(
        max_length=64, primary_key=True, help_text="SHA-256 of the endpoint's address, the model's name and the text."
    )
    text = models.TextField(help_text="Empty once the vector is there.")
    vector = models.BinaryField(null=True, help_text="Unit vector as float16 numbers, little-endian.")
    claimed_at = models.DateTimeField(null=True, help_text="When a process last sent the text.")
    refused_at = models.DateTimeField(
        null=True, help_text="When the endpoint refused the text. It is sent again in a week."
    )
    used_at = models.DateTimeField(db_index=True, help_text="When a process last loaded it, to the day.")

    class Meta:
        ordering = ["-used_at", "text_hash"]

    def __str__(self) -> str:
        return self.text_hash[:12]
