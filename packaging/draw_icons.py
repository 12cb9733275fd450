"""Draws the app's icons from the product's mark: `python packaging/draw_icons.py static/icons`."""  # noqa: INP001

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw


INK, WALL = "#14191b", "#f9fafa"
FINE = 4
"""Drawn larger and reduced, which is how the edges become smooth."""


def mark(size: int, share: float) -> Image.Image:
    """The mark of `static/icons.svg` on a full ground; `share` is how much of the edge it spans."""
    edge = size * FINE
    image = Image.new("RGB", (edge, edge), WALL)
    draw = ImageDraw.Draw(image)
    unit = edge * share / 17
    width, centre = 2.25 * unit, edge / 2

    def at(x: float, y: float) -> tuple[float, float]:
        return centre + (x - 12) * unit, centre + (y - 12) * unit

    half = width / 2
    (left, top), (right, bottom) = at(3.5, 3.5), at(20.5, 20.5)
    draw.rectangle((left - half, top - half, right + half, bottom + half), outline=INK, width=round(width))
    # Square ends, as the mark has: half a stroke beyond both points.
    (x1, y1), (x2, y2) = at(8, 16.5), at(16.5, 8)
    reach = half / 2**0.5
    line = (x1 - reach, y1 + reach), (x2 + reach, y2 - reach)
    corners = [
        (line[0][0] - reach, line[0][1] - reach),
        (line[1][0] - reach, line[1][1] - reach),
        (line[1][0] + reach, line[1][1] + reach),
        (line[0][0] + reach, line[0][1] + reach),
    ]
    draw.polygon(corners, fill=INK)
    return image.resize((size, size), Image.Resampling.LANCZOS)


def main() -> None:
    """Write every size that the manifest and the layout name."""
    folder = Path(sys.argv[1])
    # A mask may cut off all but the inner 80 %; the mark's corners must stay inside that circle.
    for name, sizes, share in (
        ("app", (192, 512), 0.6),
        ("maskable", (192, 512), 0.44),
        ("touch", (180,), 0.56),
    ):
        for size in sizes:
            mark(size, share).quantize(32).save(folder / f"{name}-{size}.png", optimize=True)


if __name__ == "__main__":
    main()
