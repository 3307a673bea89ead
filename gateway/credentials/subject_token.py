"""Signed tokens that tell an upstream for which end user a call is: JSON Web Tokens (RFC 7519) with HS256."""

import hmac
import time
from base64 import urlsafe_b64encode

import orjson

LIFETIME = 60  # seconds
ISSUER = "tool-gateway"


def sign_subject(subject: str, *, audience: str, key: str) -> str:
    """Return a token that names a subject, valid for a minute at the upstream with the origin `audience`."""
    now = int(time.time())
    claims = {"iss": ISSUER, "sub": subject, "aud": audience, "iat": now, "exp": now + LIFETIME}
    signed = f"{_encode(orjson.dumps({'alg': 'HS256', 'typ': 'JWT'}))}.{_encode(orjson.dumps(claims))}"
    signature = hmac.digest(key.encode(), signed.encode(), "sha256")
    return f"{signed}.{_encode(signature)}"


def _encode(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()
