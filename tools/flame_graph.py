"""Draw a small flame graph: python -m tools.flame_graph samples.txt graph.svg "GatewayView.dispatch" ...

`samples.txt` is what `py-spy record --format raw` writes: a line for each stack, its frames joined by semicolons, and
how often it was seen. Stacks are drawn from the named frames down, so that what starts a program is left out.
docs/performance.md has the whole command.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

WIDTH, ROW = 1200, 17  # pixels
LEAST_SHARE = 0.004  # of all samples; smaller frames are not drawn
CHARACTER = 6.2  # pixels
COLORS = {
    "gateway/": "#b794f4",
    "registry/": "#90cdf4",
    "core/": "#9ae6b4",
    "config/": "#9ae6b4",
    "analytics/": "#fbd38d",
    "chat/": "#fbb6ce",
}
OTHER_COLOR = "#e2e8f0"  # libraries

_LINE_NUMBER = re.compile(r":\d+\)$")


@dataclass(slots=True)
class StackFrame:
    """A function as called by the frames above it, and the samples in which it was seen."""

    name: str
    samples: int = 0
    callees: dict[str, "StackFrame"] = field(default_factory=dict)


def read_stacks(text: str, roots: tuple[str, ...]) -> StackFrame:
    """Return the frames from the first one whose name begins with a root. Lines of a function count together."""
    top = StackFrame("all")
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        names = [_LINE_NUMBER.sub(")", name) for name in stack.split(";")]
        start = next((at for at, name in enumerate(names) if name.startswith(roots)), None)
        if start is None:
            continue
        frame = top
        frame.samples += int(count)
        for name in names[start:]:
            frame = frame.callees.setdefault(name, StackFrame(name))
            frame.samples += int(count)
    return top


def draw_svg(top: StackFrame) -> str:
    """Return the frames as SVG, callers above callees, with the share of each in its title."""
    parts = list(_draw_frame(top, top.samples, 0.0, 0))
    height = ROW * (1 + max((depth for depth, _ in parts), default=0))
    box = f'viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="10"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, *(text for _, text in parts), "</svg>\n"])


def _draw_frame(frame: StackFrame, total: int, left: float, depth: int) -> Iterator[tuple[int, str]]:
    share = frame.samples / total if total else 0.0
    if share < LEAST_SHARE:
        return
    width = share * WIDTH
    color = next((color for part, color in COLORS.items() if f"({part}" in frame.name), OTHER_COLOR)
    label = escape(frame.name.partition(" (")[0][: int(width / CHARACTER)])
    yield (
        depth,
        f'<g><title>{escape(frame.name)} {share:.1%}</title><rect x="{left:.1f}" y="{depth * ROW}" width="{width:.1f}" '
        f'height="{ROW - 1}" fill="{color}"/><text x="{left + 2:.1f}" y="{depth * ROW + 12}">{label}</text></g>',
    )
    for callee in sorted(frame.callees.values(), key=lambda each: -each.samples):
        yield from _draw_frame(callee, total, left, depth + 1)
        left += callee.samples / total * WIDTH


def main() -> None:
    """Draw one flame graph."""
    source, target, *roots = sys.argv[1:]
    Path(target).write_text(draw_svg(read_stacks(Path(source).read_text(), tuple(roots))))


if __name__ == "__main__":
    main()
