from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.loops import for_each
from workspace.services.documents import outline


@for_each(
    "text, read",
    [
        (r"# A\n\nB\n", "# A\n\nB\n"),
        (r"one\ntwo", "one\ntwo"),
        (r"one\r\ntwo\r\n", "one\ntwo\n"),
        (r"a\n1\. not a list \* and \[ neither", "a\n1\\. not a list \\* and \\[ neither"),  # escapes of markdown
        (r"say \"hi\"\nbye", 'say \\"hi\\"\nbye'),
        (r"# A\n\nUse `\n` here", "# A\n\nUse `\\n` here"),  # intended in a code span
        (r"```\nprint(1)\n```", "```\nprint(1)\n```"),  # a fence is not a code span
    ],
)
def test_escaped_line_breaks_are_read_in_text_without_real_ones(text: str, read: str) -> None:
    assert outline.unescape_line_breaks(text) == read


@for_each(
    "text",
    [
        "",
        "one line",
        "# A\n\nUse \\n to break",  # it has real line breaks, so the escape is intended
        r"Use `\n` to break lines",
        r"C:\new\notes",  # paths
        r"\\server\new",
        r"^\d+\n$",  # patterns
        r"a literal \\n stays",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert outline.unescape_line_breaks(text) == text


@for_each("part", ["`", "``", "`a", "\\", "\\n", "`\\n", "\\r", "a:\\", "`a``"])
def test_longest_text_is_processed_fast(part: str) -> None:
    text = (r"\n" + part * 200_000)[:200_000]

    assert_cpu_seconds(1, lambda: outline.unescape_line_breaks(text))  # a quadratic pattern takes minutes
