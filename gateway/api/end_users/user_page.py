"""The page of an end user: their own keys for services and the services where they signed in. A link leads to it.

The person who opens a link lends their account to the user of the link. So the page names that user, and nothing
happens before a click. The click uses the link up, which the preview of a mail or chat program does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.admin.page_parts import PLAIN_PAGE_POLICY
from gateway.credentials import end_user_settings, user_grants, user_keys, user_links
from gateway.credentials.connection_secrets import InvalidSecret, list_origins
from gateway.credentials.user_keys import EnteredKey, UserKeyNotFound
from gateway.credentials.user_links import EndUser, LinkRefused
from gateway.models import Client, UserKey
from registry.models import Connection

COOKIE = "end_user"
# Browsers send no usable Origin with the forms of a page that has no-referrer, and the CSRF check needs one. With this
# policy no other site learns the address either.
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "Content-Security-Policy": f"{PLAIN_PAGE_POLICY}; form-action 'self'",
}
SAVED = "Your key is saved. Go back to the conversation and send your message again."
DELETED = "Your key was deleted."
DISCONNECTED = "The connection was deleted."
NOTICES = {"saved": SAVED, "deleted": DELETED, "disconnected": DISCONNECTED}


class UserKeyForm(forms.Form):
    """A key, and the user name if the service takes one. What is stored is never shown."""

    username = forms.CharField(
        label="User name", strip=True, max_length=500, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    secret = forms.CharField(
        strip=True, max_length=10_000, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def __init__(self, connection: Connection, data: object = None) -> None:
        # The page may have several forms: ids must not repeat.
        super().__init__(data, auto_id=f"{connection.name}-%s")  # type: ignore[arg-type]  # a QueryDict
        self.connection = connection
        self.fields["secret"].label = user_keys.SECRET_NAMES[connection.auth].label.capitalize().replace("Api", "API")
        if connection.auth != Connection.Auth.BASIC:
            del self.fields["username"]
        elif connection.username:
            self.fields["username"].widget.attrs["placeholder"] = f"Such as {connection.username}"

    def clean(self) -> dict[str, object]:
        """Check that the key can be stored and sent."""
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                user_keys.check_entered_key(self.connection, self.get_key())
            except InvalidSecret as error:
                self.add_error("secret", str(error))
        return cleaned

    def get_key(self) -> EnteredKey:
        """Return the key as entered."""
        return EnteredKey(self.cleaned_data["secret"], self.cleaned_data.get("username", ""))


@dataclass(frozen=True, slots=True)
class ShownService:
    """A service on the page: its form, the user's key if there is one, and whether that is sent."""

    name: str
    form: UserKeyForm
    key: UserKey | None
    is_usable: bool


@require_http_methods(["GET", "HEAD", "POST"])
def open_page(request: HttpRequest) -> HttpResponse:
    """Ask whether to open the page of the link's user; on POST, use up the link and open it."""
    token = (request.POST if request.method == "POST" else request.GET).get("token", "")
    try:
        if request.method != "POST":
            user = user_links.read_link(token)
            return _render(request, "gateway/user_link.html", {"end_user": user, "token": token})
        opened = user_links.open_link(token, at=timezone.now())
    except LinkRefused as refusal:
        return _render_refusal(request, refusal)
    response = HttpResponseRedirect(reverse("user_page"), headers=HEADERS)
    response.set_cookie(
        COOKIE,
        opened,
        max_age=user_links.MAX_AGE,
        path=user_links.PATH,
        secure=request.is_secure(),
        httponly=True,
        samesite="Strict",
    )
    return response


@require_GET
def show_page(request: HttpRequest) -> HttpResponse:
    """Show the keys and sign-ins of the user whose page the browser has opened."""
    try:
        user = _read_user(request)
    except LinkRefused as refusal:
        return _render_refusal(request, refusal)
    return _render_page(request, user, notice=NOTICES.get(request.GET.get("done", ""), ""))


@require_POST
def save_key(request: HttpRequest, name: str) -> HttpResponse:
    """Store the user's key for a service."""
    try:
        user = _read_user(request)
        connection = next((each for each in _list_connections(user) if each.name == name), None)
        if connection is None:
            raise LinkRefused("This service does not take your own key.")
    except LinkRefused as refusal:
        return _render_refusal(request, refusal)
    form = UserKeyForm(connection, request.POST)
    if not form.is_valid():
        return _render_page(request, user, invalid=form, status=400)
    user_keys.store_key(
        connection, client_id=user.client_id, subject=user.subject, key=form.get_key(), at=timezone.now()
    )
    return _redirect("saved")


@require_POST
def delete_key(request: HttpRequest, name: str) -> HttpResponse:
    """Delete the user's key for a service."""
    try:
        user = _read_user(request)
        user_keys.delete_key(name, client_id=user.client_id, subject=user.subject, at=timezone.now())
    except LinkRefused as refusal:
        return _render_refusal(request, refusal)
    except UserKeyNotFound:
        pass  # deleted in another tab
    return _redirect("deleted")


@require_POST
def delete_grant(request: HttpRequest, name: str) -> HttpResponse:
    """Delete the tokens with which the gateway calls a service for the user."""
    try:
        user_grants.delete_grant(name, subject=_read_user(request).subject)
    except LinkRefused as refusal:
        return _render_refusal(request, refusal)
    return _redirect("disconnected")


def _read_user(request: HttpRequest) -> EndUser:
    """Return whose page the browser has opened. Raises LinkRefused."""
    if COOKIE not in request.COOKIES:
        raise LinkRefused("This page is open for 10 minutes after you open a link to it.")
    user = user_links.read_page_token(request.COOKIES[COOKIE])
    if not Client.objects.filter(pk=user.client_id, is_active=True).exists():
        raise LinkRefused("The service that sent you here is not active.")
    return user


def _list_connections(user: EndUser) -> list[Connection]:
    """Return the connections that the user can enter a key for: those of their keys, and the one of the link."""
    keys = user_keys.list_keys(client_id=user.client_id, subject=user.subject)
    names = {user.connection, *(key.connection.name for key in keys)}
    rows = Connection.objects.filter(name__in=names).order_by("name")
    return [row for row in rows if end_user_settings.uses_own_keys(row)]


def _list_services(user: EndUser, invalid: UserKeyForm | None) -> list[ShownService]:
    keys = {row.connection_id: row for row in user_keys.list_keys(client_id=user.client_id, subject=user.subject)}
    services = []
    for connection in _list_connections(user):
        key = keys.get(connection.pk)
        form = invalid if invalid and invalid.connection == connection else UserKeyForm(connection)
        is_usable = key is not None and key.refused_at is None and key.origin == list_origins(connection)
        services.append(ShownService(connection.name, form, key, is_usable))
    return sorted(services, key=lambda each: each.name != user.connection)


def _render_page(
    request: HttpRequest, user: EndUser, *, notice: str = "", invalid: UserKeyForm | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "end_user": user,
        "services": _list_services(user, invalid),
        "grants": user_grants.list_grants(user.subject),
        "notice": notice,
        "invalid": invalid,
    }
    return _render(request, "gateway/user_page.html", context, status=status)


def _render_refusal(request: HttpRequest, refusal: LinkRefused) -> HttpResponse:
    message = f"{refusal} Go back to the conversation and ask for a new link."
    return _render(request, "gateway/oauth/message.html", {"title": "This page is closed", "message": message}, 400)


def _render(request: HttpRequest, template: str, context: Mapping[str, object], status: int = 200) -> HttpResponse:
    return HttpResponse(render_to_string(template, dict(context), request), status=status, headers=HEADERS)


def _redirect(done: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('user_page')}?done={done}", status=303, headers=HEADERS)
