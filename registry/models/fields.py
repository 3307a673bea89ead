"""Validators, fields and lookups that several models use."""

import json
import re
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Length

from core.text.english import to_snake_case
from registry import request_mapping

# Check constraints use title__length__gt and the like.
models.TextField.register_lookup(Length, "length")
models.CharField.register_lookup(Length, "length")

KEY_PLACES = ("header", "query", "cookie")
MAX_KEYS, MAX_KEY_NAME = 8, 100
_KEY_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z\[\]-]+")
MAX_WORDS, MAX_WORD = 100, 60  # words of a vocabulary entry, characters of a word


class ReadableJSONEncoder(json.JSONEncoder):
    """Stores letters as they are, because on SQLite a search looks for them in the stored text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"ensure_ascii": False})


path_validator = RegexValidator(
    r"\A[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z",
    "A path is lower-case words joined by dots, such as onto.task.update.",
)
name_validator = RegexValidator(
    r"\A[A-Za-z0-9_.-]{1,128}\Z", "A name has letters, digits, dots, dashes and underscores; at most 128."
)
discovery_name_validator = RegexValidator(
    r"\Adiscover_[a-z0-9_]{1,54}\Z", "discover_ and lower-case letters, digits and underscores: discover_crm_tools."
)
word_validator = RegexValidator(r"\A[a-z][a-z0-9_]*\Z", "Lower-case letters, digits and underscores, such as overview.")


def validate_text_list(value: object) -> None:
    """Refuse anything but a list of non-empty strings."""
    if not isinstance(value, list) or any(not isinstance(item, str) or not item.strip() for item in value):
        raise ValidationError('Send a list of non-empty strings, such as ["project", "global"].')


def validate_words(value: object) -> None:
    """Refuse anything but a list of different words in snake_case, within the limits."""
    validate_text_list(value)
    seen: set[str] = set()
    words = cast("list[str]", value)
    if len(words) > MAX_WORDS:
        raise ValidationError(f"{len(words):,} words; the limit is {MAX_WORDS}.")
    for word in words:
        if len(word) > MAX_WORD:
            raise ValidationError(f"{word[:MAX_WORD]}… has {len(word):,} characters; the limit is {MAX_WORD}.")
        if word != to_snake_case(word) or word in seen or not word.isprintable():
            raise ValidationError(f"Write each word once, in lower case with underscores, such as to_do: {word[:100]}.")
        seen.add(word)


def validate_meaning(value: object) -> None:
    """Refuse text that no name or value has: with spaces around it, or with characters that cannot be seen."""
    if str(value) != str(value).strip() or not str(value).isprintable():
        raise ValidationError("Write it in one line, without spaces around it.")


def validate_text_map(value: object) -> None:
    """Refuse anything but an object whose values are non-empty strings."""
    if not isinstance(value, dict) or any(not isinstance(item, str) or not item for item in value.values()):
        raise ValidationError('Send an object of strings, such as {"search": "query"}.')


def validate_more_keys(value: object) -> None:
    """Refuse anything but an object of a few names, each with the place in a request where a key is sent."""
    validate_text_map(value)
    keys = cast("dict[str, str]", value)
    if len(keys) > MAX_KEYS:
        raise ValidationError(f"{len(keys)} keys; the limit is {MAX_KEYS}.")
    for name, place in keys.items():
        if place not in KEY_PLACES:
            raise ValidationError(f"{name[:100]}: send header, query or cookie as its place.")
        is_allowed = request_mapping.is_header_allowed(name) if place == "header" else _KEY_NAME.fullmatch(name)
        if len(name) > MAX_KEY_NAME or not is_allowed:
            raise ValidationError(f"{name[:100]} cannot be the name of a {place}. Use letters, digits and dashes.")


def validate_headers(value: object) -> None:
    """Refuse anything but an object of header values whose names an op may set."""
    validate_text_map(value)
    for name, text in cast("dict[str, str]", value).items():
        if not request_mapping.is_header_allowed(name):
            raise ValidationError(f"{name} cannot be set here. Credentials and framing have their own settings.")
        if not text.isascii() or not text.isprintable():
            raise ValidationError(f"The value of {name} must be printable ASCII.")


def build_source_field() -> "models.CharField[str, str]":
    """Return the field that says which import a row came from."""
    # A database default, because processes of the previous version insert rows without this column.
    return models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Group of the import it came from. Empty for shipped rows and rows added by admins.",
    )
