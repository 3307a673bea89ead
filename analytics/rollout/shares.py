"""Who is within a percentage: a hash, so that every process says the same for ever and nothing is looked up."""

import hashlib

PARTS = 10_000  # of all subjects: percentages have two decimals


def part_of(salt: str, subject: str) -> int:
    """Return the part, 0 to 9,999, of all subjects that one lies in.

    The first eight bytes of SHA-256 over "salt/subject" (UTF-8) as an unsigned big-endian number, times 10,000, over
    2**64, rounded down. A salt of its own makes one cohort's parts tell nothing of another's.
    """
    number = int.from_bytes(hashlib.sha256(f"{salt}/{subject}".encode()).digest()[:8], "big")
    return number * PARTS >> 64


def is_within(salt: str, subject: str, parts: int) -> bool:
    """Whether a subject is among so many of the 10,000 parts. Who is in stays in when there are more."""
    return part_of(salt, subject) < parts
