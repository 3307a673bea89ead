"""Markdown of models as HTML: what is shown, what is not, and which blocks are complete."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.markdown import AnswerText, find_last_block, render_markdown
from tests.support.growth import assert_linear

# What somebody may write into a task so that a model repeats it to the next reader.
HOSTILE = [
    "[click](javascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "![pixel](https://evil.test/?secret=1)",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<a href='https://evil.test' onclick='alert(1)'>x</a>",
    "<svg/onload=alert(1)>",
    "[x]: javascript:alert(1)\n[x]",
    '<https://ok.test/"onmouseover=alert(1)>',
    "```<script>\nalert(1)\n```",
    "<style>body{display:none}</style>",
    "<iframe src=https://evil.test></iframe>",
    "[a](vbscript:x) [b](file:///etc/passwd)",
]

TEXT = """Three tasks:

1. **Draft** the copy
2. Review it

   with legal

```python
print("a")


print("b")
```

| title | due |
|---|---|
| Logo | Friday |

Done."""


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_runs_and_loads_nothing(text: str) -> None:
    for tag in re.findall(r"<[^>]*>", render_markdown(text)):
        assert re.fullmatch(r'</?(p|pre|code|em|strong)>|<a href="https://[^"<>]*" rel="[a-z ]*">|</a>', tag)


@given(st.text(max_size=300))
def test_any_text_is_safe(text: str) -> None:
    html = render_markdown(text)

    assert "<script" not in html
    assert "<img" not in html


def test_ordinary_markdown_is_shown() -> None:
    html = render_markdown(TEXT)

    for part in ("<ol>", "<strong>Draft</strong>", "<table>", "<td>Logo</td>", "<pre><code>print("):
        assert part in html
    assert 'rel="noopener noreferrer nofollow"' in render_markdown("[a](https://a.test)")


def test_text_of_any_length_and_nesting_is_rendered() -> None:
    assert "<pre>" in render_markdown("a" * 200_000)
    render_markdown(">" * 10_000 + "*" * 10_000 + "[" * 10_000)


@pytest.mark.parametrize("size", [1, 3, 7, 50, 1000])
def test_blocks_are_complete_and_in_order_however_the_text_arrives(size: int) -> None:
    answer, html, tail = AnswerText(), [], ""

    for start in range(0, len(TEXT), size):
        event = answer.add(TEXT[start : start + size])
        tail += event["delta"]
        if block := event.get("block"):
            html.append(block["html"])
            assert tail.endswith(block["rest"])
            tail = block["rest"]
    html.append((answer.close_block() or {})["block"]["html"])

    assert "".join(html) == "".join(map(render_markdown, [TEXT]))
    assert answer.text == TEXT
    assert answer.close_block() is None


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\x0c", "\r", "\r\n"])
def test_blocks_begin_where_the_parser_sees_them_begin(end: str) -> None:
    first, second = f"One{end}two{end}three{end}four\n\n", "Five"

    assert find_last_block(first + second) == len(first)


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("", "- item\n\n"),
        ("Tasks:\n\n", "1. item\n\n   more\n\n"),
        ("", "> quoted\n>\n"),
        ("Here:\n\n| a | b |\n|---|---|\n", "| x | y |\n"),
        ("```\n", "code\n\n"),
        ("", "A paragraph.\n\n"),
        ("", "- "),
    ],
)
def test_an_answer_is_rendered_in_linear_time(start: str, line: str) -> None:
    def stream(pieces: list[str]) -> None:
        answer = AnswerText()
        for piece in pieces:
            answer.add(piece)
        answer.close_block()

    assert_linear(stream, lambda count: [start, *[line] * count], size=3_000)


def test_a_block_is_complete_as_soon_as_the_next_one_begins() -> None:
    answer = AnswerText()
    events = [answer.add(piece) for _ in range(200) for piece in ("Some words of a paragraph.", "\n\n", "N")]

    assert all("block" in event for event in events[5::3])


def test_a_table_of_many_lines_is_shown_as_it_is() -> None:
    assert "<table>" in render_markdown("|a|b|\n|-|-|\n" + "|1|2|\n" * 1_000)
    assert "<pre>" in render_markdown("|a|b|\n|-|-|\n" + "|1|2|\n" * 10_000)
