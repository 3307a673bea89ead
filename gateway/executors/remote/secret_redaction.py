"""Remove the credentials of a connection from answers that repeat the request, as debugging services do.

Answers are redacted after they were parsed: every text and every name, in each form in which services write what they
got. Files are redacted before they are stored.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote_plus, urlsplit

from gateway.executors.remote.credentials import BuiltRequest
from registry.text import cleanup

MIN_LENGTH = 6  # shorter texts would also be found where they are not secret
REPLACEMENT = "***"
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ENCODING_SIGNS = re.compile(r"[%\\&+]")  # of texts that may hold an encoded secret
_SCHEMES = frozenset({"bearer", "basic", "digest", "apikey", "api-key", "token"})
_UTF_16 = ("utf-16-le", "utf-16-be")


@dataclass(frozen=True, slots=True, repr=False)  # no repr: secrets must not end up in logs
class Redactor:
    """Removes some secrets from what an upstream answered, the longest first: one may contain another."""

    secrets: tuple[str, ...] = ()

    def redact_text(self, text: str) -> str:
        """Return a text without the secrets: each is replaced in its place, or everything if it is there only decoded.

        Invisible characters do not split a secret: stripping them later would put it together again.
        """
        if not self.secrets:
            return text
        visible = redacted = cleanup.strip_hidden_characters(text)
        for form in self._forms:
            redacted = redacted.replace(form, REPLACEMENT)
        if _ENCODING_SIGNS.search(redacted):
            decoded = (unquote_plus(redacted), _unescape(redacted), html.unescape(redacted))
            if any(secret in each for secret in self.secrets for each in decoded):
                return REPLACEMENT
        return text if redacted == visible else redacted

    def redact_value(self, value: Any) -> Any:
        """Return a JSON value without the secrets in its texts and names."""
        # Most answers have none, and one look at all their texts is faster than one at each.
        if not self.secrets or self.redact_text(text := "\n".join(cleanup.iterate_strings(value))) == text:
            return value
        return self._redact_parts(value)

    def _redact_parts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, list):
            return [self._redact_parts(item) for item in value]
        if isinstance(value, dict):
            return {self.redact_text(name): self._redact_parts(item) for name, item in value.items()}
        return value

    def redact_bytes(self, content: bytes) -> bytes:
        """Return the content of a file without the secrets."""
        forms = [form.encode() for form in self._forms]
        forms += [secret.encode(encoding) for secret in self.secrets for encoding in _UTF_16]
        for form in forms:
            content = content.replace(form, REPLACEMENT.encode())
        return content

    @property
    def _forms(self) -> tuple[str, ...]:
        return _list_forms(self.secrets)


NO_SECRETS = Redactor()


def build_redactor(built: BuiltRequest, sent: BuiltRequest) -> Redactor:
    """Return what removes the credentials that `sent` has and `built`, the request without credentials, has not."""
    values = [value for name, value in sent.headers.items() if built.headers.get(name) != value]
    if sent.url != built.url:
        known_pairs = parse_qsl(urlsplit(built.url).query)
        values += [value for name, value in parse_qsl(urlsplit(sent.url).query) if (name, value) not in known_pairs]
    parts = {part for value in values for part in _iterate_parts(value) if len(part) >= MIN_LENGTH}
    return Redactor(tuple(sorted(parts)))


def _iterate_parts(value: str) -> Iterator[str]:
    """Yield the words of a header or query value, and what Basic has encoded: name and password, the password."""
    scheme, _, rest = value.partition(" ")
    secret = rest if scheme.lower() in _SCHEMES else value
    yield secret
    for word in secret.replace(";", " ").split():
        yield word
        yield word.partition("=")[2]  # of a cookie
    if value[:6].lower() == "basic " and (decoded := _decode_basic(value[6:])):
        yield decoded
        yield decoded.partition(":")[2]  # the password; the name is not a secret, and may occur in addresses


def _decode_basic(text: str) -> str:
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


@lru_cache(maxsize=256)
def _list_forms(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Return the secrets and their usual encodings, the longest first."""
    return tuple(sorted({form for each in secrets for form in _iterate_forms(each)}, key=len, reverse=True))


def _iterate_forms(secret: str) -> Iterator[str]:
    content = secret.encode()
    yield from (secret, quote(secret, safe=""), quote(secret, safe="").lower(), quote_plus(secret))
    yield from (html.escape(secret), content.hex(), content.hex().upper())
    yield from _iterate_base64(content)
    for encoding in _UTF_16:
        yield from _iterate_base64(secret.encode(encoding))


def _iterate_base64(content: bytes) -> Iterator[str]:
    """Yield the characters of base64 that are the same whatever precedes and follows the content."""
    for before in range(3):
        padded = b"\0" * before + content
        encoded = base64.b64encode(padded)
        first = (before * 8 + 5) // 6  # the first character without bits of the preceding content
        last = len(padded) * 8 // 6  # the characters after it have bits of what follows
        form = encoded[first:last].decode()
        if len(form) >= MIN_LENGTH:
            yield form
            yield form.replace("+", "-").replace("/", "_")


def _unescape(text: str) -> str:
    """Return a text with the escapes of JSON and JavaScript decoded."""
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)) if match[1] or match[2] else match[3], text)
