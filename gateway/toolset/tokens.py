"""The id of a toolset: a signed token that holds a turn to one surface and one release for a quarter of an hour."""

import secrets
from dataclasses import dataclass

from django.core import signing

from gateway.errors import Denied, Invalid
from gateway.keys import VerifiedKey
from gateway.serving import Served
from registry import catalogs

SALT = "gateway.toolset"
MAX_AGE = 15 * 60  # seconds in which calls are served under it
TOLD_WITHIN = 24 * 3600  # seconds in which its turn may be told of
LONGEST = 1_000  # characters

ASK = "Ask POST /api/v1/toolset for one, and send its id."


@dataclass(frozen=True, slots=True)
class Toolset:
    """What a token says: its own short name, what is served under it, and for whom."""

    name: str
    served: Served
    subject: str


def issue(served: Served, *, key: VerifiedKey, subject: str) -> str:
    """Return a token for a client and a subject; `served` names a release."""
    said = [secrets.token_hex(8), served.surface, served.release, served.cohort, key.client_id, subject]
    return signing.dumps(said, salt=SALT)


def read(token: str, *, key: VerifiedKey, subject: str) -> Toolset:
    """Return what a call may be served under. No query, but for a release that is not in memory.

    Raises Invalid for what is no token, for one that is too old and one whose release was withdrawn, Denied for one of
    another client or subject.
    """
    found = _read(token, key, max_age=MAX_AGE)
    if found.subject != subject:
        raise Denied("The toolset is for another subject. " + ASK, reason="toolset_of_another")
    if not catalogs.is_served(found.served.release):
        raise Invalid("The toolset's release was withdrawn. " + ASK, reason="toolset_withdrawn")
    return found


def told(token: str, *, key: VerifiedKey) -> Toolset:
    """Return what a turn was served under that is told of, also when that is over. Raises Invalid, Denied."""
    found = _read(token, key, max_age=TOLD_WITHIN)
    if found.subject and not key.may_speak_for(found.subject):
        raise Denied("The toolset is for another subject. " + ASK, reason="toolset_of_another")
    return found


def _read(token: str, key: VerifiedKey, *, max_age: int) -> Toolset:
    try:
        if len(token) > LONGEST:
            raise signing.BadSignature
        name, surface, release, cohort, client, subject = signing.loads(token, salt=SALT, max_age=max_age)
    except signing.SignatureExpired:
        raise Invalid("The toolset's time is over. " + ASK, reason="toolset_expired") from None
    except signing.BadSignature:
        raise Invalid("That is no toolset of this gateway. " + ASK, reason="unknown_toolset") from None
    if client != key.client_id:
        raise Denied("The toolset is of another client. " + ASK, reason="toolset_of_another")
    return Toolset(name, Served(surface, release, cohort), subject)
