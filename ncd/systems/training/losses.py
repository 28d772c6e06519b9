"""The losses and scores of the training tasks."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ncd.systems.training.sequence_data import NOT_ASKED

MIN_PROBABILITY = 1e-12  # smallest probability, so that its logarithm is finite


def class_loss(chances: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns the mean of -log of the probability (n, k) of the right class (n)."""
    return F.nll_loss(chances.clamp_min(MIN_PROBABILITY).log(), labels)


def accuracy(chances: torch.Tensor, labels: torch.Tensor) -> float:
    """Returns the share of examples whose most likely class is right."""
    return float((chances.argmax(1) == labels).float().mean())


def answer_loss(scores: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """Returns the cross-entropy of scores (n, t, v), averaged over the answers (n, t) asked for."""
    total = F.cross_entropy(scores.transpose(1, 2), answers, reduction="sum")
    return total / (answers != NOT_ASKED).sum().clamp_min(1)


def answer_accuracy(scores: torch.Tensor, answers: torch.Tensor) -> float:
    """Returns the share of right answers (n, t) among those asked for.

    >>> answer_accuracy(F.one_hot(torch.tensor([[0, 1, 1]]), 2), torch.tensor([[NOT_ASKED, 1, 0]]))
    0.5
    """
    due = answers != NOT_ASKED
    return float((scores.argmax(-1) == answers)[due].sum() / due.sum().clamp_min(1))


def written_loss(
    outputs: torch.Tensor | tuple[torch.Tensor, ...], answers: torch.Tensor
) -> torch.Tensor:
    """Returns the cross-entropy of the scores (n, t, w), the first output where it has several."""
    scores = outputs[0] if isinstance(outputs, tuple) else outputs
    return answer_loss(scores, answers)


def line_accuracy(scores: torch.Tensor, answers: torch.Tensor) -> float:
    """Returns the share of lines (n, t) of which every symbol is right.

    >>> line_accuracy(F.one_hot(torch.tensor([[0, 1], [1, 1]]), 2), torch.tensor([[0, 1], [1, 0]]))
    0.5
    """
    return float((scores.argmax(-1) == answers).all(1).float().mean())


def evidence_loss(outputs: tuple[torch.Tensor, ...], pictures: torch.Tensor) -> torch.Tensor:
    """Returns what a picture costs: its pixels, and how far its point is from a plain one.

    Args:
        outputs: The pictures again (n, x, y), and means and log variances of their points (n, k).
        pictures: The pictures, from 0 to 1.

    Source: Kingma and Welling 2014, "Auto-Encoding Variational Bayes", equation 10.
    """
    again, mean, spread = outputs
    pixels = F.binary_cross_entropy(again, pictures, reduction="sum")
    return (pixels + divergence(mean, spread).sum()) / len(pictures)


def divergence(mean: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
    """Returns the KL divergence of each number of a point from a standard normal one.

    >>> divergence(torch.tensor([0.0, 1.0]), torch.zeros(2)).tolist()
    [0.0, 0.5]
    """
    return (mean.square() + spread.exp() - spread - 1) / 2


def explained_variance(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """Returns the share of the variance of numbers (n, …) that is explained.

    >>> explained_variance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    1.0
    """
    rest = (found - wanted).square().sum() / (wanted - wanted.mean(0)).square().sum()
    return 1 - float(rest)


def pair_loss(scores: torch.Tensor, digits: torch.Tensor) -> torch.Tensor:
    """Returns the cross-entropy of scores (n, n), along rows and along columns; mean of both.

    The pairs on the diagonal belong together, and so do all others of the same digit (n), which
    share what is right. Source: Radford et al. 2021, figure 3, where each pair is another one.

    >>> scores = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> [round(float(pair_loss(scores, torch.tensor(own))), 2) for own in ([1, 2], [3, 3])]
    [0.0, 4.5]
    """
    same = (digits[:, None] == digits).to(scores.dtype)
    right = same / same.sum(1, keepdim=True)
    return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2


def best_sentence_digits(scores: torch.Tensor, digits: torch.Tensor) -> torch.Tensor:
    """Returns what the best sentence of each picture says (n), of the sentences in its run.

    ``scores`` are (n, j): runs of j pictures and their j sentences. ``digits`` are (n).

    >>> best_sentence_digits(torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([4, 5])).tolist()
    [5, 5]
    """
    j = scores.shape[1]
    return digits.view(-1, j).repeat_interleave(j, 0).gather(1, scores.argmax(1, True))[:, 0]


def pair_accuracy(scores: torch.Tensor, digits: torch.Tensor) -> float:
    """Returns the share of pictures whose best sentence says their digit."""
    return float((best_sentence_digits(scores, digits) == digits).float().mean())


def iou(scores: torch.Tensor, classes: torch.Tensor) -> float:
    """Returns intersection over union of pixels (n, y, h, w), averaged over classes but background.

    >>> right = torch.tensor([[[0, 1], [1, 1]]])
    >>> iou(F.one_hot(right, 2).movedim(-1, 1), right)
    1.0
    """
    found = scores.argmax(1)
    shares = []
    for kind in range(1, scores.shape[1]):
        either = ((found == kind) | (classes == kind)).sum()
        both = ((found == kind) & (classes == kind)).sum()
        shares.append(float(both / either) if either else 1.0)
    return sum(shares) / len(shares)


def overlap(maps: torch.Tensor) -> torch.Tensor:
    """Returns how similar the maps (…, h, t, t) of the heads are: their mean cosine.

    Source: Li et al. 2018, "Multi-Head Attention with Disagreement Regularization", section 3.1.

    >>> [round(float(overlap(maps)), 3) for maps in (torch.ones(2, 1, 3), torch.eye(2)[:, None])]
    [1.0, 0.0]
    """
    rows = F.normalize(maps, dim=-1).transpose(-3, -2)  # (…, t, h, t)
    h = rows.shape[-2]
    return ((rows @ rows.mT).sum((-1, -2)) - h).mean() / max(1, h * (h - 1))
