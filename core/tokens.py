"""Token counts, by the o200k_base vocabulary that ships inside the tokenizer's wheel."""

from functools import cache

import splintr


@cache
def _tokenizer() -> splintr.AnyTokenizer:
    # Loaded at first use: 32 ms and 32 MB, which a process that serves no toolsets never pays.
    return splintr.Tokenizer.from_pretrained("o200k_base")


def count(text: str) -> int:
    """Return the number of o200k_base tokens in a text; special-token names count as ordinary text."""
    return len(_tokenizer().encode_ordinary(text))
