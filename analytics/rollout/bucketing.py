"""Percentage bucketing by hash: every process gets the same result at any time, without a lookup."""

import hashlib

BUCKETS = 10_000  # buckets of all subjects; percentages have two decimals


def bucket_of(salt: str, subject: str) -> int:
    """Return a subject's bucket, 0 to 9,999.

    The bucket is the first eight bytes of SHA-256("salt/subject" in UTF-8) as an unsigned big-endian number, times
    10,000, divided by 2**64 and rounded down. Each cohort has its own salt, so that its buckets are independent of
    those of other cohorts.
    """
    number = int.from_bytes(hashlib.sha256(f"{salt}/{subject}".encode()).digest()[:8], "big")
    return number * BUCKETS >> 64


def is_within(salt: str, subject: str, buckets: int) -> bool:
    """Return whether a subject is in the first `buckets` of 10,000. Raising the number keeps all who are in."""
    return bucket_of(salt, subject) < buckets
