import pytest

from tests.support.cpu_budget import within
from workspace.services.documents import markdown


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"# A\n\nB\n", "# A\n\nB\n"),
        (r"one\ntwo", "one\ntwo"),
        (r"one\r\ntwo\r\n", "one\ntwo\n"),
        (r"a\n1\. not a list \* and \[ neither", "a\n1\\. not a list \\* and \\[ neither"),  # markdown's own escapes
        (r"say \"hi\"\nbye", 'say \\"hi\\"\nbye'),
        (r"# A\n\nUse `\n` here", "# A\n\nUse `\\n` here"),  # in a code span it is meant
        (r"```\nprint(1)\n```", "```\nprint(1)\n```"),  # a fence is no code span
    ],
)
def test_text_without_a_line_break_has_escaped_ones_read(text: str, read: str) -> None:
    assert markdown.unescape_line_breaks(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line",
        "# A\n\nUse \\n to break",  # it has real ones, so it knows how
        r"Use `\n` to break lines",
        r"C:\new\notes",  # paths
        r"\\server\new",
        r"^\d+\n$",  # patterns
        r"a literal \\n stays",
    ],
)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert markdown.unescape_line_breaks(text) == text


@pytest.mark.parametrize("part", ["`", "``", "`a", "\\", "\\n", "`\\n", "\\r", "a:\\", "`a``"])
def test_the_longest_text_is_read_in_no_time(part: str) -> None:
    text = (r"\n" + part * 200_000)[:200_000]

    within(1, lambda: markdown.unescape_line_breaks(text))  # a quadratic pattern takes minutes
