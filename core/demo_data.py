"""Demo rows of the installed apps: which users they belong to, and the functions that add them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

DEFAULT_SUBJECT = "demo-user"


@dataclass(frozen=True, slots=True)
class DemoData:
    """The demo rows of an app: their users, and a function that adds missing rows and says what it added."""

    subjects: tuple[str, ...]
    load: Callable[[datetime], str]


_installed: tuple[DemoData, ...] = ()


def set_demo_data(data: Sequence[DemoData]) -> None:
    """Set the demo rows of the installed apps."""
    global _installed
    _installed = tuple(data)


def load_demo_data(at: datetime) -> list[str]:
    """Add the missing demo rows of all apps. Return a sentence for each app."""
    return [each.load(at) for each in _installed]


def list_demo_subjects() -> list[str]:
    """Return the users of the demo. Local keys, demo cohorts and evals with a model act for the first."""
    subjects = dict.fromkeys(subject for each in _installed for subject in each.subjects)
    return list(subjects) or [DEFAULT_SUBJECT]


def get_demo_subject() -> str:
    """Return the user that local keys, demo cohorts and evals with a model act for."""
    return list_demo_subjects()[0]
