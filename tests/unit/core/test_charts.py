"""Charts are well-formed SVG, name their values and stay inside their area."""

import re
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from core import charts

VALUES = st.one_of(st.none(), st.floats(0, 1e9, allow_nan=False))


def format_value(value: float) -> str:
    return f"{value:,.1f} <calls>"


def parse_svg(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own SVG


def draw_line(*values: float | None) -> ElementTree.Element:
    return parse_svg(charts.draw_line("Calls & more", [(f"day {n}", v) for n, v in enumerate(values)], format_value))


@given(values=st.lists(VALUES, max_size=100))
@example(values=[5e-324])
def test_line_stays_inside_its_area(values: list[float | None]) -> None:
    svg = draw_line(*values)

    present = [value for value in values if value is not None]
    points = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in svg.iter("circle")]
    assert len(points) == len(present)
    assert all(0 <= x <= charts.WIDTH and 0 <= y <= charts.HEIGHT for x, y in points)
    assert sum(path.get("d", "").count("M") + path.get("d", "").count("L") for path in svg.iter("path")) == len(present)


def test_line_has_a_gap_where_a_value_is_missing() -> None:
    assert len(list(draw_line(1, 2, None, 4, None, None, 5).iter("path"))) == 3


def test_line_names_its_points_as_text() -> None:
    svg = draw_line(1, 2, 4)

    assert svg.get("aria-label") == "Calls & more from day 0 to day 2: 1.0 <calls> to 4.0 <calls>"
    assert [title.text for title in svg.iter("title")] == [f"day {n}: {v}.0 <calls>" for n, v in enumerate((1, 2, 4))]
    texts = [text.text for text in svg.iter("text")]
    assert texts == ["5.0 <calls>", "4.0 <calls>", "day 0", "day 2"]


def test_line_without_values_says_so() -> None:
    assert draw_line(None, None).get("aria-label") == "Calls & more: no data from day 0 to day 1"
    assert draw_line().get("aria-label") == "Calls & more"


def test_top_is_rounded_up() -> None:
    tops = {0.042: 0.05, 0.2: 0.2, 1: 1, 1.1: 2, 499: 500, 501: 1_000, 0: 1}

    assert {value: round(charts._round_up(value), 9) for value in tops} == tops


@given(share=st.floats(0, 1))
def test_bar_width_is_its_share(share: float) -> None:
    background, bar = parse_svg(charts.draw_bar(share)).iter("rect")

    assert abs(float(bar.get("width", "")) - share * float(background.get("width", ""))) <= 0.05


@given(low=st.floats(-1, 1), width_share=st.floats(0, 1), maximum=st.floats(0.001, 2))
def test_interval_is_on_the_right_side_of_zero(low: float, width_share: float, maximum: float) -> None:
    bar, zero_line = parse_svg(charts.draw_interval(low, low + width_share, maximum)).iter("rect")
    left, width = (float(bar.get(name, "")) for name in ("x", "width"))

    middle = charts.BAR / 2
    assert 0 <= left <= charts.BAR
    assert width >= 1.5
    assert left >= middle - 0.2 or low < 0
    assert left <= middle + 0.2 or low > 0
    assert zero_line.get("x") == "99.25"


def test_labels_are_escaped() -> None:
    assert not re.search("<calls>", charts.draw_line("<b>", [("<i>", 1)], format_value))


def test_markers_are_lines_with_labels_and_part_of_the_description() -> None:
    points = [("1 May", 1.0), ("2 May", 2.0), ("3 May", 3.0)]
    svg = parse_svg(charts.draw_line("Calls", points, format_value, {1: "r12", 2: "<r13>"}))

    labels = [each.text for each in svg.iter("text") if each.get("class") == "chart-marker-label"]
    assert labels == ["r12", "<r13>"]
    assert len([each for each in svg.iter("line") if each.get("class") == "chart-marker"]) == 2
    assert svg.get("aria-label").endswith("; r12 went live on 2 May; <r13> went live on 3 May")  # type: ignore[union-attr]
