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

from registry.models import ROOT, Group, Op, get_parent_path
from registry.releases import lifecycle, publishing

READERS = 4
REQUESTS_PER_CONNECTION = 50  # requests per connection; a connection stays with one worker
CHANGE_SECONDS = 0.5  # seconds between changes: each second, one edition is published and one rolled back
ACTOR = "benchmarks"

_EDITION = re.compile(r"Edition (\d+)\b")


@dataclass(slots=True)
class MixingResult:
    """The responses while releases changed. `mixed` and `failed` describe the wrong ones."""

    answers: int = 0
    changes: int = 0
    editions: set[int] = field(default_factory=set)
    mixed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return {answers, changes, editions, mixed, failed}: three counts and the first ten of each error."""
        shown = {"mixed": self.mixed[:10], "failed": self.failed[:10]}
        return {"answers": self.answers, "changes": self.changes, "editions": len(self.editions), **shown}


class _EditionPublisher:
    """Publishes numbered editions. Records each release's number before the release goes live."""

    def __init__(self) -> None:
        # Help also returns these texts; they would hide or fake edition numbers.
        Op.objects.update(description="", notes="")
        self.numbers_by_version: dict[str, int] = {}
        self._order: list[str] = []

    def publish(self) -> None:
        """Publish the next edition."""
        number = len(self._order) + 1
        Op.objects.update(summary=Concat(Value(f"Edition {number} of "), F("op")))
        Group.objects.update(summary=Concat(Value(f"Edition {number} of "), F("path")))
        release = publishing.freeze_draft(
            by=ACTOR, at=timezone.now(), accepted="Benchmark data, never shown to a model"
        )
        self.numbers_by_version[release.version] = number
        self._order.append(release.version)
        self._activate(release.version)

    def roll_back(self) -> None:
        """Make the edition before the last one live."""
        self._activate(self._order[-2])

    def _activate(self, version: str) -> None:
        lifecycle.activate_release(version=version, note="Benchmark", by=ACTOR, at=timezone.now())


def check_release_mixing(url: str, headers: dict[str, str], seconds: float) -> MixingResult:
    """Send help requests to a server while changing releases in this process's database; return the results.

    Overwrites the copy in the draft.
    """
    editions, result, stop = _EditionPublisher(), MixingResult(), threading.Event()
    for _ in range(2):
        editions.publish()
    time.sleep(3)  # every worker refreshes within two seconds; from here on, only editions are live
    paths = list(Op.objects.values_list("op", flat=True).order_by("?")[:40])
    queries = [{"path": ROOT}, *({"path": path} for path in sorted({get_parent_path(path) for path in paths}))]
    queries += [{"path": path, "format": form} for path in paths for form in ("short", "full")]
    queries += [{"query": path.replace(".", " ").replace("_", " ")} for path in paths[:10]]
    with ThreadPoolExecutor(READERS) as pool:
        readers = [
            pool.submit(_read_help, url, headers, queries[at:] + queries[:at], editions, stop) for at in range(READERS)
        ]
        try:
            _change_releases(editions, result, seconds)
        finally:
            stop.set()
        for reader in readers:
            reader_result = reader.result()
            result.answers += reader_result.answers
            result.editions |= reader_result.editions
            result.mixed += reader_result.mixed
            result.failed += reader_result.failed
    return result


def _change_releases(editions: _EditionPublisher, result: MixingResult, seconds: float) -> None:
    started = time.monotonic()
    for number in range(int(seconds / CHANGE_SECONDS)):
        editions.publish() if number % 2 == 0 else editions.roll_back()
        result.changes += 1
        time.sleep(max(0.0, started + (number + 1) * CHANGE_SECONDS - time.monotonic()))


def _read_help(
    url: str,
    headers: dict[str, str],
    help_queries: list[dict[str, str]],
    editions: _EditionPublisher,
    stop: threading.Event,
) -> MixingResult:
    result, etags = MixingResult(), dict[tuple[str, str], str]()
    queries: Iterator[dict[str, str]] = cycle(help_queries)
    while not stop.is_set():
        with httpx2.Client(base_url=url, headers=headers, timeout=20, trust_env=False, verify=False) as http:
            for query in islice(queries, REQUESTS_PER_CONNECTION):
                try:
                    response = http.get("/api/v1/help", params=query)
                except httpx2.TransportError as error:
                    result.failed.append(f"{query}: {error!r}")
                    break
                _check_response(query, response, editions, etags, result)
    return result


def _check_response(
    query: dict[str, str],
    response: httpx2.Response,
    editions: _EditionPublisher,
    etags: dict[tuple[str, str], str],
    result: MixingResult,
) -> None:
    """Count a response and record what is wrong with it."""
    result.answers += 1
    if response.status_code != 200:
        result.failed.append(f"{query}: {response.status_code} {response.text[:300]}")
        return
    release = response.headers["Gateway-Release"]
    numbers = {int(number) for number in _EDITION.findall(response.text)}
    etag = etags.setdefault((release, json.dumps(query)), response.headers["ETag"])
    if numbers != {editions.numbers_by_version.get(release)} or etag != response.headers["ETag"]:
        result.mixed.append(
            f"{query}: release {release[:12]}, editions {sorted(numbers)}, ETag {response.headers['ETag']}"
        )
    result.editions |= numbers
