"""Review the draft before publishing: what changes for models, and what the checks find."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from core import canonical, garbage
from registry import changes, checks, comparison, history, releases, snapshot
from registry.changes import Change, Kind
from registry.checks import Finding
from registry.comparison import Difference, Tokens
from registry.models import Release

NOTHING: dict[str, Any] = {"format": 1, "groups": [], "ops": []}


@dataclass(frozen=True)
class Verdict:
    """The findings in a draft, and how many tokens its short and full help gain over the live release."""

    problems: list[Finding]  # these block publishing
    warnings: list[Finding]  # warnings that the live release does not have
    tokens: Tokens
    kept: dict[str, Tokens]  # the same for each op that is live and stays; only these have reading statistics


@dataclass(frozen=True)
class Review:
    """The draft compared with the live release."""

    version: str  # the version that publishing would create
    live: Release | None
    again: Release | None  # an existing release with the draft's content; its warnings are accepted already
    changes: list[Change]
    verdict: Verdict
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def seen(self) -> str:
        """A stamp that changes whenever the draft or the live release changes."""
        return f"{self.version}.{self.live.version if self.live else ''}"

    def differences(self, found: Sequence[Change]) -> list[Difference]:
        """Return some of the changes word by word, with their editors."""
        editors = history.editors(since=self.live.created_at if self.live else None)
        return comparison.read(found, self.before, self.after, editors=editors)


@garbage.uncollected()  # thousands of ops make a million objects; collecting garbage would double the time
def of_draft() -> Review:
    """Return the current draft compared with the live release."""
    global _kept
    after, live = snapshot.draft(), releases.live()
    before = releases.content(live) if live else NOTHING
    form = canonical.dumps(after)
    version = canonical.hashed(form)
    found = changes.between(before, after)
    again = Release.objects.filter(version=version).first()
    stamp = version, live.version if live else ""
    if _kept is None or _kept[0] != stamp:
        _kept = stamp, _verdict(after, found, live, frozen=form.decode(), is_known=again is not None)
    return Review(version, live, again, found, _kept[1], before, after)


# Cache of the last verdict: a large draft is reviewed page by page, and checking takes longer than comparing.
_kept: tuple[tuple[str, str], Verdict] | None = None


def _verdict(
    content: dict[str, Any], found: list[Change], live: Release | None, *, frozen: str, is_known: bool
) -> Verdict:
    names = {change.name for change in found if change.kind == Kind.OP}
    changed = [op for op in content["ops"] if op["op"] in names]
    counts = releases.tokens_of({"groups": [], "ops": changed})
    problems = _problems(content, frozen)
    warnings = [] if problems or is_known else releases.new_warnings(content, counts)
    before = live.tokens if live else {}
    kept = {name: _more(counts, before, {name}) for name in sorted(names) if name in counts and name in before}
    return Verdict(problems, warnings, _more(counts, before, names), kept)


def _problems(content: dict[str, Any], frozen: str) -> list[Finding]:
    """Return what blocks publishing. An op without problems is checked by itself again only after it has changed."""
    global _sound
    now = {op["op"]: canonical.hashed(orjson.dumps(op, option=orjson.OPT_SORT_KEYS)) for op in content["ops"]}
    sound = {name for name, digest in now.items() if _sound.get(name) == digest}
    found = checks.problems(content, frozen=frozen, sound=sound)
    blocked = {finding.op for finding in found}
    _sound = {name: digest for name, digest in now.items() if name not in blocked}
    return found


_sound: dict[str, str] = {}  # op -> hash of its entry when nothing blocked it


def _more(counts: checks.Counts, before: checks.Counts, names: set[str]) -> Tokens:
    none = (0, 0)
    short, full = (
        sum(counts.get(name, none)[form] - before.get(name, none)[form] for name in names) for form in (0, 1)
    )
    return short, full
