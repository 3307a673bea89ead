"""The option --only of commands: the live release with some entries of the draft put in, instead of the whole draft."""

from argparse import ArgumentParser
from collections.abc import Sequence

from django.core.management.base import CommandError

from registry.releases import selection
from registry.releases.selection import DraftSelection
from registry.text.cleanup import escape_for_terminal


def add_only_option(parser: ArgumentParser, help_text: str) -> None:
    """Add the option, which takes patterns as of fnmatch."""
    parser.add_argument("--only", nargs="+", action="extend", default=[], metavar="PATTERN", help=help_text)


def select_changes(patterns: Sequence[str]) -> DraftSelection:
    """Return the changes that the patterns match. Raises CommandError if one matches none."""
    try:
        return selection.load_selection(lambda changes: selection.match_changes(changes, patterns))
    except selection.NothingSelected as error:
        raise CommandError(escape_for_terminal(str(error)), returncode=2) from None
