"""Retention of calls, and of what is stored about sign-ins."""

from datetime import datetime, timedelta

from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from oauth2_provider.models import clear_expired

from core.background.retention import Expiring, Retention
from core.sign_in.throttle import KNOWN_ADDRESS_AGE
from gateway.models import (
    Batch,
    IdempotencyRecord,
    OpenedLink,
    PendingInput,
    SignIn,
    StoredFile,
    TurnLabel,
    UsedConfirmation,
)

CONFIRMATIONS_KEPT = timedelta(hours=1)  # tokens are valid for five minutes
USER_SIGN_INS_KEPT = timedelta(hours=1)  # their states are valid for ten minutes
TURN_LABELS_KEPT = timedelta(hours=24)  # longer than any turn
OPENED_LINKS_KEPT = timedelta(hours=1)  # links are valid for ten minutes


def _get_session_age() -> timedelta:
    return timedelta(seconds=settings.SESSION_COOKIE_AGE)


def _get_cooloff_time() -> timedelta:
    time: timedelta = settings.AXES_COOLOFF_TIME
    return time


delete_idempotency_records = Retention(
    "Delete expired records, except those whose outcome is unknown.",
    Expiring(IdempotencyRecord.objects.filter(state=IdempotencyRecord.State.DONE), "expires_at"),
)
delete_used_confirmations = Retention(
    "Delete used confirmations whose tokens have expired long ago.",
    Expiring(UsedConfirmation.objects.all(), "used_at", CONFIRMATIONS_KEPT),
)
delete_pending_inputs = Retention(
    "Delete questions to end users that have expired.",
    Expiring(PendingInput.objects.all(), "expires_at"),
)
delete_turn_labels = Retention(
    "Delete the labels of data flow of turns that have ended long ago.",
    Expiring(TurnLabel.objects.all(), "brought_at", TURN_LABELS_KEPT),
)
delete_batches = Retention(
    "Delete expired batches with their results.",
    Expiring(Batch.objects.all(), "expires_at"),
)
delete_stored_files = Retention(
    "Delete expired files.",
    Expiring(StoredFile.objects.all(), "expires_at"),
)
delete_sessions = Retention(
    "Delete expired sessions, and what is shown of them to their users.",
    Expiring(Session.objects.all(), "expire_date"),
    Expiring(
        UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")),
        "created_at",
        _get_session_age,
    ),
)
delete_sign_ins = Retention(
    "Delete failed sign-ins that no longer lock anything, and sign-ins from addresses that are no longer known.",
    Expiring(AccessAttempt.objects.all(), "attempt_time", _get_cooloff_time),
    Expiring(AccessLog.objects.all(), "attempt_time", KNOWN_ADDRESS_AGE),
)
delete_user_sign_ins = Retention(
    "Delete sign-ins of end users whose states have expired long ago.",
    Expiring(SignIn.objects.all(), "created_at", USER_SIGN_INS_KEPT),
)
delete_opened_links = Retention(
    "Delete what is stored of opened links to the pages of end users, which have expired long ago.",
    Expiring(OpenedLink.objects.all(), "opened_at", OPENED_LINKS_KEPT),
)


def delete_oauth_tokens(_: datetime) -> bool:
    """Delete expired access tokens, refresh tokens and authorization codes. Returns False: it deletes all of them."""
    clear_expired()
    return False
