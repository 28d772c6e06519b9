"""Plotly charts: training curves, histograms and bars, in the colours and fonts of the page.

Use them only inside an open tab, so that Plotly's script (4.7 MB) is loaded with that tab.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import plotly.graph_objects as go
import streamlit as st

HEIGHT = 270  # pixels, always the same, so that nothing below moves
ROW, EDGES = 26, 110  # the heights of a bar and of the margins, in pixels
MAX_POINTS = 400  # the greatest number of points in a curve
DASHES = ("solid", "dash", "dot", "dashdot")
COLOURS = ("#3d6fb6", "#c9732b", "#7a9a3a", "#9a5fb0")  # readable on light and dark pages
ZOOMS = ("zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d")
# More buttons would cover the title and the legend of a narrow chart; a drag and a double click do.
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": [*ZOOMS, "lasso2d", "select2d"]}
Points = Sequence[tuple[float, float]]


def render(figure: go.Figure, key: str, said: str) -> None:
    """Shows a chart; ``said`` is its description for screen readers."""
    st.plotly_chart(figure, key=key, height=figure.layout.height, config=CONFIG, alt=said)


def curves(
    title: str,
    lines: Mapping[str, Points],
    steps: int,
    *,
    across: str = "step",
    percent: bool = False,
    dots: bool = False,
) -> go.Figure:
    """Returns a chart of values over the steps of a run; lines differ in colour and dash.

    Args:
        title: The title, above the chart.
        lines: The points (step, value) of each line, by its name in the legend.
        steps: How many steps the whole run has: the end of the axis.
        across: The name of the horizontal axis.
        percent: Whether values are shares, from 0 to 1.
        dots: Whether each point gets a dot.

    >>> figure = curves("Loss", {"run": [(1, 2.0), (2, float("nan")), (3, 0.5)]}, 3)
    >>> figure.data[0].y
    (2.0, None, 0.5)
    """
    figure = _figure(title, HEIGHT)
    values = [value for points in lines.values() for _, value in points if isfinite(value)]
    for i, (name, points) in enumerate(lines.items()):
        drawn = _sample_points(points)
        figure.add_scatter(
            x=[step for step, _ in drawn],
            y=[value if isfinite(value) else None for _, value in drawn],
            name=name,
            mode="lines+markers" if dots else "lines",
            line={"color": COLOURS[i % 4], "dash": DASHES[i % 4], "width": 2},
            hovertemplate=f"%{{y:{'.1%' if percent else '.4g'}}}",
        )
    top = 1.0 if percent else max(values, default=0.0) or 1.0
    figure.update_xaxes(title=across, range=[0, steps])
    figure.update_yaxes(range=[0, 1.05 * top], tickformat=".0%" if percent else "")
    return figure.update_layout(hovermode="x unified", showlegend=len(lines) > 1)


def histogram(title: str, counts: Sequence[int], low: float, high: float) -> go.Figure:
    """Returns a histogram of equal bins from ``low`` to ``high``.

    >>> histogram("Values", [1, 3], 0.0, 4.0).data[0].x
    (1.0, 3.0)
    """
    wide = (high - low) / len(counts)
    figure = _figure(title, HEIGHT - 60)
    figure.add_bar(
        x=[low + wide * (i + 0.5) for i in range(len(counts))],
        y=list(counts),
        width=wide,
        marker_color=COLOURS[0],
        hovertemplate="about %{x:.3g}: %{y:,}<extra></extra>",
    )
    figure.update_yaxes(title="how many", rangemode="tozero")
    return figure.update_layout(bargap=0.05)


def bars(title: str, labels: Sequence[str], shares: Mapping[str, Sequence[float]]) -> go.Figure:
    """Returns horizontal bars, a group for each label and a colour for each name of ``shares``.

    >>> bars("Cost", ["Q", "K"], {"FLOPs": [0.25, 0.75]}).data[0].x
    (0.25, 0.75)
    """
    figure = _figure(title, EDGES + ROW * max(len(labels), 3))
    places = list(range(len(labels)))
    for i, (name, values) in enumerate(shares.items()):
        figure.add_bar(
            x=list(values),
            y=places,
            name=name,
            orientation="h",
            marker={"color": COLOURS[i], "pattern_shape": ("", "/")[i % 2]},
            customdata=list(labels),
            hovertemplate="%{customdata}: %{x:.1%}",
        )
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    figure.update_yaxes(
        tickvals=places,
        ticktext=[*map(_short_label, labels)],
        autorange="reversed",
        automargin=True,
    )
    return figure.update_layout(barmode="group", showlegend=len(shares) > 1)


def curve_description(name: str, points: Points) -> str:
    """Returns a description of a curve for screen readers.

    >>> curve_description("", [(1, 2.5), (9, 0.5)]), curve_description("by hand", [])
    ('from 2.5 at step 1 to 0.5 at step 9', 'by hand nothing yet')
    """
    if not points:
        return f"{name} nothing yet".strip()
    (first, start), (last, end) = points[0], points[-1]
    return f"{name} from {start:.3g} at step {first:g} to {end:.3g} at step {last:g}".strip()


def _figure(title: str, height: int) -> go.Figure:
    return go.Figure(
        layout={
            "title": {"text": title, "x": 0, "font": {"size": 15}},
            "height": height,
            "margin": {"l": 50, "r": 12, "t": 64, "b": 40},
            "legend": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "y": 1,
                "yanchor": "bottom",
            },
        }
    )


def _sample_points(points: Points) -> list[tuple[float, float]]:
    """Returns at most about ``MAX_POINTS`` of the points, with the last one."""
    every = -(-len(points) // MAX_POINTS) or 1
    return [*points[:-1:every], *points[-1:]]


def _short_label(label: str) -> str:
    """Returns a label that fits beside the bars, its markup disabled."""
    text = label if len(label) <= 28 else f"{label[:27]}…"
    return text.replace("<", "‹").replace(">", "›")
