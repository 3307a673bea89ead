"""Charts: SVG that is well formed, tells its values and stays within its place."""

import re
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from core import charts

VALUES = st.one_of(st.none(), st.floats(0, 1e9, allow_nan=False))


def told(value: float) -> str:
    return f"{value:,.1f} <calls>"


def read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - drawn here


def drawn(*values: float | None) -> ElementTree.Element:
    return read(charts.draw_line("Calls & more", [(f"day {n}", v) for n, v in enumerate(values)], told))


@given(values=st.lists(VALUES, max_size=100))
@example(values=[5e-324])
def test_line_is_drawn_within_its_place(values: list[float | None]) -> None:
    found = drawn(*values)

    there = [value for value in values if value is not None]
    points = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in found.iter("circle")]
    assert len(points) == len(there)
    assert all(0 <= x <= charts.WIDTH and 0 <= y <= charts.HEIGHT for x, y in points)
    assert sum(path.get("d", "").count("M") + path.get("d", "").count("L") for path in found.iter("path")) == len(there)


def test_line_is_broken_where_there_is_no_value() -> None:
    assert len(list(drawn(1, 2, None, 4, None, None, 5).iter("path"))) == 3


def test_line_tells_its_points_and_its_end_without_colours() -> None:
    found = drawn(1, 2, 4)

    assert found.get("aria-label") == "Calls & more from day 0 to day 2: 1.0 <calls> to 4.0 <calls>"
    assert [title.text for title in found.iter("title")] == [f"day {n}: {v}.0 <calls>" for n, v in enumerate((1, 2, 4))]
    texts = [text.text for text in found.iter("text")]
    assert texts == ["5.0 <calls>", "4.0 <calls>", "day 0", "day 2"]


def test_line_over_nothing_says_so() -> None:
    assert drawn(None, None).get("aria-label") == "Calls & more: no data from day 0 to day 1"
    assert drawn().get("aria-label") == "Calls & more"


def test_top_is_the_next_round_number() -> None:
    tops = {0.042: 0.05, 0.2: 0.2, 1: 1, 1.1: 2, 499: 500, 501: 1_000, 0: 1}

    assert {value: round(charts._round_up(value), 9) for value in tops} == tops


@given(share=st.floats(0, 1))
def test_bar_fills_a_share(share: float) -> None:
    rest, part = read(charts.draw_bar(share)).iter("rect")

    assert abs(float(part.get("width", "")) - share * float(rest.get("width", ""))) <= 0.05


@given(low=st.floats(-1, 1), wide=st.floats(0, 1), most=st.floats(0.001, 2))
def test_interval_lies_on_its_side_of_nought(low: float, wide: float, most: float) -> None:
    part, nought = read(charts.draw_interval(low, low + wide, most)).iter("rect")
    left, width = (float(part.get(name, "")) for name in ("x", "width"))

    middle = charts.BAR / 2
    assert 0 <= left <= charts.BAR
    assert width >= 1.5
    assert left >= middle - 0.2 or low < 0
    assert left <= middle + 0.2 or low > 0
    assert nought.get("x") == "99.25"


def test_labels_are_escaped() -> None:
    assert not re.search("<calls>", charts.draw_line("<b>", [("<i>", 1)], told))
