"""The secrets of a connection, for its admin page: they can be set and replaced, and are never shown."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from django.utils.timesince import timesince
from unfold.widgets import UnfoldAdminPasswordWidget

from core.admin import base
from gateway.credentials import connection_secrets
from gateway.credentials.connection_secrets import InvalidSecret, SecretName, list_origins
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
        labels = {"name": "Name"}

    def __init__(self, *args: Any, used: Sequence[SecretName] = (), chosen: str = "", **kwargs: Any) -> None:
        """Offer the secrets that the connection uses before all others, and choose one of them."""
        super().__init__(*args, **kwargs)
        is_stored = self.instance.pk is not None
        self.fields["name"].disabled = is_stored
        choices = {str(name): str(name.label) for name in [*used, *ConnectionSecret.Name]}
        if is_stored:
            choices.setdefault(self.instance.name, "API key that is not used now")
        else:
            self.initial.setdefault("name", chosen or next(iter(choices)))
        self.fields["name"].choices = list(choices.items())  # type: ignore[attr-defined]  # a ChoiceField
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

    def _get_validation_exclusions(self) -> set[str]:
        """Leave out the names of further API keys: the field's choices have them, and those of the model cannot."""
        is_of_model = self.cleaned_data.get("name") in ConnectionSecret.Name.values
        return super()._get_validation_exclusions() | (set() if is_of_model else {"name"})  # type: ignore[misc,no-any-return]

    def has_changed(self) -> bool:
        """Return whether there is something to save. A row that the page offers and nobody filled in is left out."""
        if self.empty_permitted and self.instance._state.adding:
            return bool(self.data.get(self.add_prefix("secret")))
        return super().has_changed()

    def save(self, commit: bool = True) -> ConnectionSecret:
        """Store the secret for the origins that the connection has now, which the same page may have changed."""
        if secret := self.cleaned_data["secret"]:
            self.instance.value = connection_secrets.encode_secret(secret)
            self.instance.origin = list_origins(self.instance.connection)
        return super().save(commit)


class ConnectionSecretFormSet(forms.BaseInlineFormSet[ConnectionSecret, Connection, forms.ModelForm[ConnectionSecret]]):
    """The secrets of a connection. Rows to fill in name those that it uses and that are not stored."""

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        used = connection_secrets.list_used(self.instance.auth, self.instance.subject_as, self.instance.more_keys)
        missing = [name for name in used if name not in {row.name for row in self.get_queryset()}]
        row = 0 if index is None else index - self.initial_form_count()
        chosen = missing[row] if 0 <= row < len(missing) else ""
        return super().get_form_kwargs(index) | {"used": used, "chosen": chosen}


class ConnectionSecretInline(base.TabularInline[ConnectionSecret, Connection]):
    """The secrets of a connection, on its page."""

    model = ConnectionSecret
    form = ConnectionSecretForm
    formset = ConnectionSecretFormSet
    fields = ["name", "secret"]
    verbose_name, verbose_name_plural = "secret", "secrets"

    def get_extra(self, request: HttpRequest, obj: Connection | None = None, **kwargs: Any) -> int:
        """Return how many secrets are missing. One row is for the authentication that is chosen on the page now."""
        if obj is None:
            return 0
        stored = set(obj.secrets.values_list("name", flat=True))
        used = connection_secrets.list_used(obj.auth, obj.subject_as, obj.more_keys)
        return len(set(used) - stored) if used else 1


def describe_secrets(connection: Connection) -> list[SecretStatus]:
    """Return the secrets that a connection needs, and whether each is set. One query, unless they are prefetched."""
    rows = {row.name: row for row in connection.secrets.all()}
    return [
        _describe_secret(name, rows.get(name), connection) for name in connection_secrets.iterate_needed(connection)
    ]


def _describe_secret(name: SecretName, row: ConnectionSecret | None, connection: Connection) -> SecretStatus:
    is_usable = row is not None and connection_secrets.is_bound(row, connection)
    return SecretStatus(name, str(name.label), is_usable, _describe_status(row, connection))


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
