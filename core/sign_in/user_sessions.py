"""Ending what a user is signed in with: sessions, second factors, and the link to a provider."""

import logging

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User

log = logging.getLogger(__name__)


def end_sessions(user: User, *, by: str) -> int:
    """End all sessions of a user. Return how many there were."""
    sessions = UserSession.objects.purge_and_list(user)
    for session in sessions:
        session.end()
    log.info("sign_in.sessions_ended user=%s sessions=%d by=%s", user.pk, len(sessions), by)
    return len(sessions)


def remove_second_factors(user: User, *, by: str) -> int:
    """Remove the second factors and recovery codes of a user, who lost them. Return how many there were."""
    count: int = Authenticator.objects.filter(user=user).delete()[0]
    log.info("sign_in.second_factors_removed user=%s count=%d by=%s", user.pk, count, by)
    return count


def unlink_identities(user: User, *, by: str) -> int:
    """Unlink a user from the identities at the provider of single sign-on. Return how many there were."""
    from allauth.socialaccount.models import SocialAccount  # installed only if GATEWAY_SSO_ISSUER is set

    count: int = SocialAccount.objects.filter(user=user).delete()[0]
    log.info("sign_in.identities_unlinked user=%s count=%d by=%s", user.pk, count, by)
    return count
