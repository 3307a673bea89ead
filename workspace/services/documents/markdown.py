"""Repair of Markdown as models send it."""

import re

# A line break that was escaped once too often. In a code span, and after another backslash, \n is literal.
_ESCAPED = re.compile(r"(?<!`)(?P<code>`[^`]+`)(?!`)|(?<!\\)(?:\\r)?\\n")
# A backslash that neither JSON nor Markdown uses, as in \d or C:\docs, shows that the text was not escaped.
_PLAIN_BACKSLASH = re.compile(r"\\(?![nrtu])[^\W_]|\b[A-Za-z]:\\")


def unescape_line_breaks(text: str) -> str:
    r"""Return the text with real line breaks if it has only the two characters \n instead; else return it unchanged."""
    if "\n" in text or "\\n" not in text or _PLAIN_BACKSLASH.search(text):
        return text
    return _ESCAPED.sub(lambda found: found["code"] or "\n", text)
