"""How pages show times, people, browsers, and nothing at all. Templates have these as filters of admin_format."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime

DASH = mark_safe('<span class="ui-dash">–</span>')  # of an empty value
# Marks in a user agent. A browser also has those of the ones below it.
BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
SETUP = "set-up"  # the name of whoever ran one of these commands
SETUP_COMMANDS = ("load_demo", "load_catalog", "start")


def or_dash(value: Any) -> Any:
    """Return a value, or the grey dash that stands for nothing."""
    return DASH if value in (None, "") else value


def with_hash(name: str, version: str) -> SafeString:
    """Return the name of a release, with its hash on hover; another variant as it is."""
    return format_html("{}", name) if name == version else format_html('<span title="{}">{}</span>', version, name)


def format_time(time: datetime) -> str:
    """Return a day and a time in the reader's time zone, with its name: "28 Nov, 13:00 CET"."""
    return date_format(localtime(time), "j M, H:i e")


def format_seconds(time: datetime) -> str:
    """Return a time as `format_time` does, to the second."""
    return date_format(localtime(time), "j M, H:i:s e")


def format_time_with_utc(time: datetime) -> str:
    """Return a time as `format_time` does, and in UTC if the reader's time zone is another."""
    text = format_time(time)
    if localtime(time).utcoffset() == timedelta():
        return text
    return f"{text} ({date_format(localtime(time, UTC), 'j M, H:i')} UTC)"


def describe_actor(name: str) -> str:
    """Return who did something: a command that sets up the gateway is nobody's name."""
    return SETUP if name in SETUP_COMMANDS else name


def describe_browser(user_agent: str) -> str:
    """Return the browser and the system of a user agent: "Chrome on Linux". Without either, return the user agent."""
    browser, system = (next((name for mark, name in marks if mark in user_agent), "") for marks in (BROWSERS, SYSTEMS))
    return " on ".join(filter(None, [browser, system])) or user_agent
