"""Help requests while releases change: no response may mix two releases, and none may fail.

Every summary in a release contains its edition number, so that a response shows which releases it was built from.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import httpx2
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone

from registry import releases
from registry.models import ROOT, Group, Op, parent_of

READERS = 4
KEPT_FOR = 50  # requests per connection; a connection stays with one worker
EVERY = 0.5  # seconds between changes: each second, one edition is published and one rolled back
BY = "benchmarks"

_EDITION = re.compile(r"Edition (\d+)\b")


@dataclass(slots=True)
class Seen:
    """The responses while releases changed. `mixed` and `failed` describe the wrong ones."""

    answers: int = 0
    changes: int = 0
    editions: set[int] = field(default_factory=set)
    mixed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return {answers, changes, editions, mixed, failed}: three counts and the first ten of each error."""
        shown = {"mixed": self.mixed[:10], "failed": self.failed[:10]}
        return {"answers": self.answers, "changes": self.changes, "editions": len(self.editions), **shown}


class _Editions:
    """Publishes numbered editions. Records each release's number before the release goes live."""

    def __init__(self) -> None:
        # Help also returns these texts; they would hide or fake edition numbers.
        Op.objects.update(description="", notes="")
        self.of: dict[str, int] = {}
        self._order: list[str] = []

    def publish(self) -> None:
        """Publish the next edition."""
        number = len(self._order) + 1
        Op.objects.update(summary=Concat(Value(f"Edition {number} of "), F("op")))
        Group.objects.update(summary=Concat(Value(f"Edition {number} of "), F("path")))
        release = releases.freeze(by=BY, at=timezone.now(), accepted="Benchmark data, never shown to a model")
        self.of[release.version] = number
        self._order.append(release.version)
        self._activate(release.version)

    def roll_back(self) -> None:
        """Make the edition before the last one live."""
        self._activate(self._order[-2])

    def _activate(self, version: str) -> None:
        releases.activate(version=version, note="Benchmark", by=BY, at=timezone.now())


def run(url: str, headers: dict[str, str], seconds: float) -> Seen:
    """Send help requests to a server while changing releases in this process's database; return the results.

    Overwrites the copy in the draft.
    """
    editions, seen, ended = _Editions(), Seen(), threading.Event()
    for _ in range(2):
        editions.publish()
    time.sleep(3)  # every worker refreshes within two seconds; from here on, only editions are live
    paths = list(Op.objects.values_list("op", flat=True).order_by("?")[:40])
    asked = [{"path": ROOT}, *({"path": path} for path in sorted({parent_of(path) for path in paths}))]
    asked += [{"path": path, "format": form} for path in paths for form in ("short", "full")]
    asked += [{"query": path.replace(".", " ").replace("_", " ")} for path in paths[:10]]
    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(_read, url, headers, asked[at:] + asked[:at], editions, ended) for at in range(READERS)]
        try:
            _change(editions, seen, seconds)
        finally:
            ended.set()
        for reader in readers:
            found = reader.result()
            seen.answers += found.answers
            seen.editions |= found.editions
            seen.mixed += found.mixed
            seen.failed += found.failed
    return seen


def _change(editions: _Editions, seen: Seen, seconds: float) -> None:
    started = time.monotonic()
    for number in range(int(seconds / EVERY)):
        editions.publish() if number % 2 == 0 else editions.roll_back()
        seen.changes += 1
        time.sleep(max(0.0, started + (number + 1) * EVERY - time.monotonic()))


def _read(
    url: str, headers: dict[str, str], asked: list[dict[str, str]], editions: _Editions, ended: threading.Event
) -> Seen:
    seen, etags = Seen(), dict[tuple[str, str], str]()
    queries: Iterator[dict[str, str]] = cycle(asked)
    while not ended.is_set():
        with httpx2.Client(base_url=url, headers=headers, timeout=20, trust_env=False) as http:
            for query in islice(queries, KEPT_FOR):
                try:
                    answer = http.get("/api/v1/help", params=query)
                except httpx2.TransportError as error:
                    seen.failed.append(f"{query}: {error!r}")
                    break
                _look(query, answer, editions, etags, seen)
    return seen


def _look(
    query: dict[str, str],
    answer: httpx2.Response,
    editions: _Editions,
    etags: dict[tuple[str, str], str],
    seen: Seen,
) -> None:
    """Count a response and record what is wrong with it."""
    seen.answers += 1
    if answer.status_code != 200:
        seen.failed.append(f"{query}: {answer.status_code} {answer.text[:300]}")
        return
    release = answer.headers["Gateway-Release"]
    said = {int(number) for number in _EDITION.findall(answer.text)}
    etag = etags.setdefault((release, json.dumps(query)), answer.headers["ETag"])
    if said != {editions.of.get(release)} or etag != answer.headers["ETag"]:
        seen.mixed.append(f"{query}: release {release[:12]}, editions {sorted(said)}, ETag {answer.headers['ETag']}")
    seen.editions |= said
