"""Markdown as models send it."""

import re

# A line break that was escaped once too often. In a code span it is meant as it stands, and so it is after another
# backslash.
_ESCAPED = re.compile(r"(?<!`)(?P<code>`[^`]+`)(?!`)|(?<!\\)(?:\\r)?\\n")
# A backslash that neither JSON nor markdown writes, as in the pattern \d or in C:\docs, says that none was escaped.
_PLAIN_BACKSLASH = re.compile(r"\\(?![nrtu])[^\W_]|\b[A-Za-z]:\\")


def unescaped(text: str) -> str:
    r"""Return a text whose line breaks all came as the two characters \n with real ones; any other text as it is."""
    if "\n" in text or "\\n" not in text or _PLAIN_BACKSLASH.search(text):
        return text
    return _ESCAPED.sub(lambda found: found["code"] or "\n", text)
