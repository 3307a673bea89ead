"""Line charts have their values as data for the script and as a table, and colours that stay the same."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from core.admin.charts import ChartLine, ChartMarker, LineChart, LineColor, choose_color

VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1e9, allow_nan=False)), min_size=1, max_size=40)
FIRST_DAY = date(2026, 5, 1)


def format_value(value: float) -> str:
    return f"{value:,.1f} <calls>"


def build_chart(*lines: Sequence[float | None], markers: dict[int, list[ChartMarker]] | None = None) -> LineChart:
    return LineChart(
        name="calls",
        title="Calls & <b>more</b>",
        axis="Calls per day",
        days=[FIRST_DAY + timedelta(days=number) for number in range(len(lines[0]))],
        lines=[ChartLine(f"<i>{number}</i>", values) for number, values in enumerate(lines)],
        format_value=format_value,
        markers=markers,
    )


@given(values=VALUES)
def test_data_and_table_have_every_value(values: list[float | None]) -> None:
    chart = build_chart(values)

    data, rows = json.loads(json.dumps(chart.build_data())), chart.build_rows()
    texts = ["–" if value is None else format_value(value) for value in values]
    assert data["lines"][0]["values"] == values
    assert data["lines"][0]["texts"] == texts
    assert [row["cells"] for row in reversed(rows)] == [[{"text": text, "link": ""}] for text in texts]
    assert len(data["days"]) == len(values)


def test_table_says_that_today_is_not_over_and_what_happened() -> None:
    markers = {0: [ChartMarker("r12", "r12 went live"), ChartMarker("pilot", "pilot: 5% → 25%")]}

    rows = build_chart([1, 2], markers=markers).build_rows()

    assert [row["day"] for row in rows] == ["2 May (not over)", "1 May"]
    assert [row["events"] for row in rows] == ["", "r12 went live; pilot: 5% → 25%"]


def test_day_that_is_over_is_not_called_today() -> None:
    chart = replace(build_chart([1, 2]), is_over=True)

    assert chart.build_rows()[0]["day"] == "2 May"
    assert chart.build_data()["isOver"]
    assert "Today" not in render_to_string("console/line_chart.html", {"chart": chart})


def test_points_and_cells_link_to_the_rows_behind_them() -> None:
    chart = replace(build_chart([1, 2]), lines=[ChartLine("calls", [1, 2], links=["/a", "/b"])])

    assert chart.build_data()["lines"][0]["links"] == ["/a", "/b"]
    assert [row["cells"][0]["link"] for row in chart.build_rows()] == ["/b", "/a"]
    assert 'href="/a"' in render_to_string("console/line_chart.html", {"chart": chart})


def test_description_names_lines_and_their_span() -> None:
    chart = build_chart([1, None, 4], [None, None, None])

    assert chart.description == (
        "Line chart: Calls & <b>more</b>, 1 May to 3 May 2026. <i>0</i>, 1.0 <calls> to 4.0 <calls>; "
        "<i>1</i>, no data. The table below has all values."
    )


def test_page_shows_names_as_text_and_says_if_there_are_no_values() -> None:
    markers = {0: [ChartMarker("<u>", "</script><u>")]}

    page = render_to_string("console/line_chart.html", {"chart": build_chart([1, 2], markers=markers)})
    empty = render_to_string("console/line_chart.html", {"chart": build_chart([None, None])})

    for tag in ("<b>", "<i>", "<u>", "<calls>"):
        assert tag not in page
    assert page.count("</script>") == 1
    assert "No data in this period." in empty
    assert "<canvas" not in empty


@given(name=st.text(), other=st.text())
def test_color_stays_the_same_and_differs_from_its_neighbour(name: str, other: str) -> None:
    color = choose_color(name)

    assert color == choose_color(name)
    assert choose_color(other, not_color=color) != color
    assert color not in (LineColor.MAIN, LineColor.FAINT)
