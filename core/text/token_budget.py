"""Token counts with the o200k_base vocabulary, which ships in the tokenizer's wheel (works offline)."""

from functools import cache

import splintr


@cache
def _tokenizer() -> splintr.AnyTokenizer:
    # Loaded on first use (32 ms, 32 MB), so that processes that serve no toolsets do not pay for it.
    return splintr.Tokenizer.from_pretrained("o200k_base")


def count(text: str) -> int:
    """Return the number of o200k_base tokens in a text. Names of special tokens count as ordinary text."""
    return len(_tokenizer().encode_ordinary(text))
