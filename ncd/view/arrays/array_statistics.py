"""Statistics of an array: mean, spread, extremes and histogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from ncd.export import markup
from ncd.lang.types.axes import Array
from ncd.view.arrays import charts
from ncd.view.arrays.captions import explained

BINS = 40
MASKED = "−∞: a softmax makes it a weight of exactly 0"
SPREAD = "standard deviation: how far from the mean the numbers lie, as a root of the mean square"


@dataclass(frozen=True)
class Statistics:
    """Statistics of the finite numbers, and how many are masked (−∞) or undefined.

    ``different`` counts distinct values, of whole numbers only.
    """

    mean: float
    deviation: float
    smallest: float
    largest: float
    masked: int
    bins: tuple[int, ...]
    different: int = 0
    undefined: int = 0


def statistics(tensor: torch.Tensor) -> Statistics:
    """Computes mean, deviation (biased), extremes and histogram of the finite numbers."""
    numbers = tensor.detach().float().flatten()
    finite = numbers[numbers.isfinite()]
    masked = int((numbers == -torch.inf).sum())
    undefined = len(numbers) - len(finite) - masked
    if not len(finite):
        return Statistics(0, 0, 0, 0, masked, (), undefined=undefined)
    low, high = float(finite.min()), float(finite.max())
    bins = np.histogram(finite.cpu().numpy(), BINS, (low, high) if low < high else None)[0]
    return Statistics(
        float(finite.mean()),
        float(finite.std(correction=0)),
        low,
        high,
        masked,
        tuple(map(int, bins)),
        0 if tensor.is_floating_point() else len(tensor.unique()),
        undefined,
    )


def told(array: Array, found: Statistics) -> str:
    """Returns the statistics of an array as an HTML list."""
    facts = {
        "Shape": " × ".join(map(str, array.shape)) or "a number",
        "Numbers": f"{array.numel:,}",
        **(_whole(array, found) if array.below else _real(found)),
    }
    if found.masked:
        facts[explained("Masked", MASKED)] = f"{found.masked:,}"
    if found.undefined:
        facts["Infinite or no number"] = f"{found.undefined:,}"
    listed = "".join(f"<div><dt>{k}</dt><dd>{markup.text(v)}</dd></div>" for k, v in facts.items())
    return f'<div class="told"><dl class="stats">{listed}</dl></div>'


def _whole(array: Array, found: Statistics) -> dict[str, str]:
    assert array.below is not None
    return {
        "Whole numbers below": f"{array.below.name} = {array.below.numel:,}",
        "Different": f"{found.different:,}",
        "Smallest": f"{found.smallest:,.0f}",
        "Largest": f"{found.largest:,.0f}",
    }


def _real(found: Statistics) -> dict[str, str]:
    return {
        "Mean": markup.digits(found.mean),
        explained("Spread", SPREAD): markup.digits(found.deviation),
        "Smallest": markup.digits(found.smallest),
        "Largest": markup.digits(found.largest),
    }


def show_histogram(found: Statistics, key: str) -> None:
    """Shows a switch, and with it on a histogram of equal steps from the smallest to the largest.

    It is off at first, as loading Plotly's script would slow down the page.
    """
    if len(found.bins) < 2 or not st.toggle("Histogram", key=key):
        return
    low, high = markup.digits(found.smallest), markup.digits(found.largest)
    said = f"How many numbers are how large: {BINS} equal steps from {low} to {high}"
    figure = charts.histogram(
        "How large the numbers are", found.bins, found.smallest, found.largest
    )
    charts.show(figure, f"{key} chart", said)
