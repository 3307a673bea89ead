"""The id of a toolset: a signed token that keeps a turn on one surface and one release for 15 minutes."""

import secrets
from dataclasses import dataclass

from django.core import signing

from gateway.errors import Denied, Invalid
from gateway.keys import VerifiedKey
from gateway.serving import Served
from registry import catalogs

SALT = "gateway.toolset"
MAX_AGE = 15 * 60  # seconds; calls
TOLD_WITHIN = 24 * 3600  # seconds; telemetry about its turn
LONGEST = 1_000  # characters

ASK = "Get one from POST /api/v1/toolset and send its id."


@dataclass(frozen=True, slots=True)
class Toolset:
    """The content of a token: its short name, what it serves, and for which subject."""

    name: str
    served: Served
    subject: str


def issue(served: Served, *, key: VerifiedKey, subject: str) -> str:
    """Return a token for a client and a subject. `served` must name a release."""
    said = [secrets.token_hex(8), served.surface, served.release, served.cohort, key.client_id, subject]
    return signing.dumps(said, salt=SALT)


def read(token: str, *, key: VerifiedKey, subject: str) -> Toolset:
    """Return the toolset of a token that a call sends. Queries only for a release that is not in memory.

    Raises Invalid if it is no token, has expired or its release was withdrawn; Denied if it belongs to another client
    or subject.
    """
    found = _read(token, key, max_age=MAX_AGE)
    if found.subject != subject:
        raise Denied("The toolset belongs to another subject. " + ASK, reason="toolset_of_another")
    if not catalogs.is_served(found.served.release):
        raise Invalid("The toolset's release was withdrawn. " + ASK, reason="toolset_withdrawn")
    return found


def told(token: str, *, key: VerifiedKey) -> Toolset:
    """Return the toolset of a reported turn, up to 24 hours after it was issued. Raises Invalid, Denied."""
    found = _read(token, key, max_age=TOLD_WITHIN)
    if found.subject and not key.may_speak_for(found.subject):
        raise Denied("The toolset belongs to another subject. " + ASK, reason="toolset_of_another")
    return found


def _read(token: str, key: VerifiedKey, *, max_age: int) -> Toolset:
    try:
        if len(token) > LONGEST:
            raise signing.BadSignature
        name, surface, release, cohort, client, subject = signing.loads(token, salt=SALT, max_age=max_age)
    except signing.SignatureExpired:
        raise Invalid("The toolset has expired. " + ASK, reason="toolset_expired") from None
    except signing.BadSignature:
        raise Invalid("Unknown toolset. " + ASK, reason="unknown_toolset") from None
    if client != key.client_id:
        raise Denied("The toolset belongs to another client. " + ASK, reason="toolset_of_another")
    return Toolset(name, Served(surface, release, cohort), subject)
