"""How long a poll takes in a process that has verified many keys, while nothing changes and after a change."""

import secrets
import time
from statistics import median
from typing import Any

from benchmarks.run_size import shrink
from core.background import poller
from core.manifest import PollerThread
from gateway.access import key_verification
from gateway.models import ApiKey, Client, all_scopes

ROUNDS = 200
CHANGES = 9


def measure_polls(keys: int) -> dict[str, Any]:
    """Verify this many new keys in this process, and time polls. Return {keys, unchanged_ms: […], after_change_ms}."""
    for plaintext in _create_keys(keys):
        key_verification.verify(plaintext)
    _poll_ms()
    unchanged = [_poll_ms() for _ in range(shrink(ROUNDS, least=10))]
    changed = []
    for number in range(CHANGES):
        Client.objects.create(name=f"polls {number}")
        changed.append(_poll_ms())
    return {"keys": keys, "unchanged_ms": unchanged, "after_change_ms": median(changed)}


def _create_keys(number: int) -> list[str]:
    client = Client.objects.create(name="polls")
    plaintexts = [
        key_verification.build_plaintext(key_verification.PREFIX + secrets.token_hex(4), secrets.token_urlsafe(32))
        for _ in range(number)
    ]
    ApiKey.objects.bulk_create(
        (
            ApiKey(
                client=client,
                prefix=plaintext[: key_verification.PREFIX_LENGTH],
                secret_hash=key_verification.hash_secret(plaintext),
                scopes=all_scopes(),
                created_by="benchmarks",
            )
            for plaintext in plaintexts
        ),
        batch_size=1_000,
    )
    return plaintexts


def _poll_ms() -> float:
    started = time.perf_counter()
    poller.poll(PollerThread.MEMORY)
    return (time.perf_counter() - started) * 1000
