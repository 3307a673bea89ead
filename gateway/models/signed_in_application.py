"""Applications that users let in over OAuth. Their tokens are rows of django-oauth-toolkit."""

from django.conf import settings
from django.db import models

from gateway.models.client import ApiKey


class SignedInApplication(models.Model):
    """An application that a user lets use the tools. It has the rights of an API key that nobody knows."""

    application = models.ForeignKey("oauth2_provider.Application", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.OneToOneField(
        ApiKey,
        on_delete=models.CASCADE,
        related_name="signed_in_application",
        verbose_name="API key",
        help_text="Its scopes, rate limit and expiry apply. Revoking it ends the access.",
    )
    created_at = models.DateTimeField("since", auto_now_add=True)

    class Meta:
        verbose_name = "signed-in application"
        ordering = ["-created_at"]
        constraints = [
            # Another sign-in of the same user and application uses the same key.
            models.UniqueConstraint(fields=["application", "user"], name="signed_in_application_once"),
        ]

    def __str__(self) -> str:
        return f"{self.application} for {self.user}"
