"""Bars are well-formed SVG and stay inside their area."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from core.admin import charts


def parse_svg(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own SVG


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


@given(start=st.floats(0, 1), length=st.floats(0, 1))
def test_span_stays_inside_its_area_and_can_be_seen(start: float, length: float) -> None:
    _, span = parse_svg(charts.draw_span(start, length, is_failed=True)).iter("rect")
    left, width = (float(span.get(name, "")) for name in ("x", "width"))

    assert left >= 0
    assert width >= 3
    assert left + width <= charts.BAR + 0.2
    assert span.get("class") == "chart-failed"


def test_interval_beyond_the_axis_is_a_mark_at_its_edge() -> None:
    bar, _ = parse_svg(charts.draw_interval(2.0, 6.0, 1.0, kind="worse")).iter("rect")

    assert (float(bar.attrib["x"]), float(bar.attrib["width"])) == (charts.BAR - 3, 3)
