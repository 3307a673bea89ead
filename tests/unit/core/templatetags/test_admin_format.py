"""Formats of the console's templates."""

import pytest
from django.utils.safestring import mark_safe

from core.templatetags.admin_format import breakable, readable


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["onto.*", "cal.*"], "onto.*, cal.*"),
        ([], ""),
        ({}, ""),
        (None, ""),
        ({"Accept": "text/plain"}, '{\n  "Accept": "text/plain"\n}'),
        ([1, "a"], '[1, "a"]'),
        (False, "false"),
    ],
)
def test_stored_json_is_readable_for_people_who_cannot_edit_it(value: object, text: str) -> None:
    assert "".join(readable(value).split()) == "".join(text.split())
