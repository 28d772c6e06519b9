"""Tables for regression: California housing if it is on this machine, else diabetes."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor

from ncd.lang.errors import SizeError
from ncd.run.base.seeding import generator
from ncd.train.task_data import Data

UNSEEN = 0.2  # share of the examples, as in the notebook
HOUSES = "prices of houses in California in 100,000 dollars (Pace and Barry 1997)"
DIABETES = "how far diabetes went on in a year, scaled to a deviation of 1 (Efron et al. 2004)"
WHERE = {HOUSES: "scikit-learn’s copy on this machine", DIABETES: "shipped with scikit-learn"}


def houses(i: int, seed: int) -> Data:
    """Returns rows (n, i) of the first i features, and the number (n, 1) to predict for each.

    California housing if scikit-learn has its copy on this machine (nothing is downloaded), in
    units of 100,000 dollars; else the diabetes data with standardised answers. Features are
    standardised over the training rows.

    >>> data = houses(8, seed=0)
    >>> data.inputs.shape[1], tuple(data.targets.shape[1:]), len(data.inputs) > len(data.unseen)
    (8, (1,), True)

    Raises SizeError for more features than there are.
    """
    rows, answers, source = _read()
    most = rows.shape[1]
    if i > most:
        what = "a house" if source == HOUSES else "a patient"
        raise SizeError(
            f"i is {i}, but {what} has {most} features here",
            cure=f"i = {most}",
            axis="i",
            nearest=most,
        )
    order = torch.randperm(len(rows), generator=generator(seed, "houses"))
    unseen, seen = order.tensor_split([round(UNSEEN * len(order))])
    rows = _scaled(rows[:, :i], seen)
    answers = answers if source == HOUSES else _scaled(answers, seen)
    rows, answers = rows.float(), answers.float()
    source_words = f"{source}, {WHERE[source]}, by {i} of {most} features"
    return Data(lambda: (rows[seen], answers[seen]), rows[unseen], answers[unseen], source_words)


def _read() -> tuple[Tensor, Tensor, str]:
    """Returns all rows, their answers (n, 1) and their source in words."""
    from sklearn.datasets import fetch_california_housing, load_diabetes

    kept = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    try:  # only if the folder exists, as scikit-learn would create it
        found = fetch_california_housing(download_if_missing=False) if kept.is_dir() else None
    except OSError:
        found = None
    source = DIABETES if found is None else HOUSES
    found = found or load_diabetes()
    rows, answers = (torch.from_numpy(table) for table in (found.data, found.target))
    return rows, answers[:, None], source


def _scaled(table: Tensor, seen: Tensor) -> Tensor:
    """Standardises each column over the training rows."""
    known = table[seen]
    return (table - known.mean(0)) / known.std(0, correction=0)
