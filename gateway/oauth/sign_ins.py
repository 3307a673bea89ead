"""Give an application access, and end it."""

import logging
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from gateway.access import api_keys
from gateway.access.api_keys import SubjectNotAllowed
from gateway.models import ApiKey, Client, SignedInApplication

log = logging.getLogger(__name__)

KEY_NAME_LENGTH = 100


def _find_no_subject(_: User) -> str:
    return ""


_get_subject: Callable[[User], str] = _find_no_subject


def set_subject_finder(finder: Callable[[User], str]) -> None:
    """Set the function that returns the subject of a user, empty if the user has none."""
    global _get_subject
    _get_subject = finder


@transaction.atomic
def let_in(application: Application, user: User, *, at: datetime) -> SignedInApplication:
    """Give an application access for a user, with a key that is bound to the user's subject.

    The earlier key is used if it is still valid for the same subject. Otherwise the earlier tokens end and a new key is
    made. Raises SubjectNotAllowed if the user has no subject, or no key can be bound to it.
    """
    User.objects.select_for_update().get(pk=user.pk)  # a second click waits, and finds the row of the first one
    client, _ = Client.objects.get_or_create(name=settings.GATEWAY_OAUTH_CLIENT, defaults={"confirms": True})
    if not (subject := _get_subject(user)):
        raise SubjectNotAllowed("You have no chat profile, so the gateway does not know which user you are.")
    link = SignedInApplication.objects.select_related("key").filter(application=application, user=user).first()
    if link is not None:
        if _is_usable(link.key, client, subject, at):
            return link
        end_access(link, by=user.get_username(), at=at)
        link.delete()
    key, _ = api_keys.issue(client=client, by=user.get_username(), name=_build_key_name(application), subject=subject)
    log.info("oauth.let_in application=%s user=%s key=%s", application.pk, user.pk, key.prefix)
    return SignedInApplication.objects.create(application=application, user=user, key=key)


def may_continue(application: Application, user: User, *, at: datetime) -> bool:
    """Return whether an application still has access for a user: both exist, and the key is valid for the subject."""
    link = SignedInApplication.objects.select_related("key__client").filter(application=application, user=user).first()
    if link is None or not user.is_active or not link.key.client.is_active:
        return False
    return bool(_is_valid(link.key, at) and link.key.subject == _get_subject(user))


def mark_code_used(code: str, application: Application, *, at: datetime) -> bool:
    """Mark a code as used, and return whether it was not: its time ends when it began."""
    unused = Grant.objects.filter(code=code, application=application, expires__gt=F("created"))
    updated: int = unused.update(expires=F("created"), updated=at)
    return updated == 1


def end_reused_code(code: str, application: Application) -> None:
    """End the tokens that a code gave which was used before (RFC 6749, section 4.1.2). Does nothing for other codes."""
    used = Grant.objects.filter(code=code, application=application, expires__lte=F("created")).first()
    if used is None:
        return
    first_tokens = RefreshToken.objects.filter(
        application=application, user=used.user, created__range=(used.created, used.updated)
    )
    for family in set(first_tokens.values_list("token_family", flat=True)):
        RefreshToken.revoke_family(family)
    log.warning("oauth.code_reused application=%s user=%s", application.pk, used.user_id)


@transaction.atomic
def end_access(link: SignedInApplication, *, by: str, at: datetime) -> None:
    """Delete the tokens of an application for a user, and revoke its key."""
    for model in (RefreshToken, AccessToken, Grant):
        model.objects.filter(application_id=link.application_id, user_id=link.user_id).delete()
    api_keys.revoke(link.key, by=by, at=at)
    log.info("oauth.ended application=%s user=%s key=%s", link.application_id, link.user_id, link.key.prefix)


def _is_usable(key: ApiKey, client: Client, subject: str, at: datetime) -> bool:
    return key.client_id == client.pk and key.subject == subject and _is_valid(key, at)


def _is_valid(key: ApiKey, at: datetime) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > at)


def _build_key_name(application: Application) -> str:
    name = str(application)
    return name if len(name) <= KEY_NAME_LENGTH else f"{name[: KEY_NAME_LENGTH - 1]}…"
