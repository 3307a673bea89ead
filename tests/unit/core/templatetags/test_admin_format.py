"""Formats of the console's templates."""

import pytest
from django.utils.safestring import mark_safe

from core.templatetags.admin_format import breakable


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("onto.task.docs.create_or_attach", "onto.<wbr>task.<wbr>docs.<wbr>create_<wbr>or_<wbr>attach"),
        ("<b>a.b</b>", "&lt;b&gt;a.<wbr>b&lt;/b&gt;"),
        ("12.5%, 3 of 4.", "12.5%, 3 of 4."),
        (mark_safe("<svg>a.b</svg>"), "<svg>a.b</svg>"),
    ],
)
def test_breakable_breaks_names_at_their_separators(text: str, html: str) -> None:
    assert breakable(text) == html
