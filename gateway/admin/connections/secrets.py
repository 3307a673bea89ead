"""The secrets of a connection, for its admin page: they can be set and replaced, and are never shown."""

from datetime import timedelta
from typing import Any, NamedTuple

from django import forms
from django.utils import timezone
from django.utils.timesince import timesince
from unfold.widgets import UnfoldAdminPasswordWidget

from core.admin import base
from gateway.credentials import connection_secrets
from gateway.credentials.connection_secrets import InvalidSecret
from gateway.credentials.origins import list_origins
from gateway.models import ConnectionSecret
from registry.models import Connection


class SecretStatus(NamedTuple):
    """A secret that a connection needs, and whether it is set: "set 3 days ago", "not set"."""

    name: str
    label: str
    is_usable: bool
    status: str


class ConnectionSecretForm(forms.ModelForm[ConnectionSecret]):
    """Sets a secret. The input is always empty: what is stored never leaves the server."""

    secret = forms.CharField(
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(render_value=False, attrs={"autocomplete": "new-password"}),
        help_text="The secret, or env: and the name of a variable that begins with UPSTREAM_.",
    )

    class Meta:
        model = ConnectionSecret
        fields = ["name"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        is_stored = self.instance.pk is not None
        self.fields["name"].disabled = is_stored
        self.fields["secret"].widget.attrs["placeholder"] = _describe_status(self.instance if is_stored else None)

    def clean(self) -> dict[str, Any]:
        """Require a secret for a new row. An empty input keeps the stored one."""
        cleaned: dict[str, Any] = super().clean() or {}
        secret = cleaned.get("secret", "")
        try:
            if secret or self.instance.pk is None:
                connection_secrets.check_secret(cleaned.get("name", ""), secret)
        except InvalidSecret as error:
            self.add_error("secret", str(error))
        return cleaned

    def save(self, commit: bool = True) -> ConnectionSecret:
        """Store the secret for the origins that the connection has now, which the same page may have changed."""
        if secret := self.cleaned_data["secret"]:
            self.instance.value = connection_secrets.encode_secret(secret)
            self.instance.origin = list_origins(self.instance.connection)
        return super().save(commit)


class ConnectionSecretInline(base.TabularInline[ConnectionSecret, Connection]):
    """The secrets of a connection, on its page."""

    model = ConnectionSecret
    form = ConnectionSecretForm
    fields = ["name", "secret"]
    verbose_name_plural = "secrets"


def describe_secrets(connection: Connection) -> list[SecretStatus]:
    """Return the secrets that a connection needs, and whether each is set. One query."""
    rows = {row.name: row for row in ConnectionSecret.objects.filter(connection=connection)}
    return [
        _describe_secret(name, rows.get(name), connection) for name in connection_secrets.iterate_needed(connection)
    ]


def _describe_secret(name: ConnectionSecret.Name, row: ConnectionSecret | None, connection: Connection) -> SecretStatus:
    is_usable = row is not None and connection_secrets.is_bound(row, connection)
    return SecretStatus(name, name.label, is_usable, _describe_status(row, connection))


def _describe_status(row: ConnectionSecret | None, connection: Connection | None = None) -> str:
    if row is None:
        return "not set"
    if not connection_secrets.is_bound(row, connection or row.connection):
        return "set for another address; enter it again"
    if row.value.startswith(connection_secrets.REFERENCE):
        return f"from {row.value.removeprefix(connection_secrets.REFERENCE)}"
    if timezone.now() - row.updated_at < timedelta(minutes=1):
        return "set just now"
    return f"set {timesince(row.updated_at, depth=1)} ago".replace("\xa0", " ")
