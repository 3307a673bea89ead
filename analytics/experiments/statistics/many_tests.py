"""What guards against wrong conclusions from many figures: the split of the subjects, and false discoveries."""

from collections.abc import Iterable, Sequence
from math import exp, lgamma, log

CONCENTRATION = 100  # of the prior on the observed split: as if 100 subjects had been assigned as planned


def compute_sample_ratio_p_value(counts: Sequence[int], weights: Sequence[float]) -> float:
    """Return the p-value of the subjects by arm against the planned weights, valid at every look.

    It is one over the Bayes factor of a Dirichlet prior around the weights against the weights: M. Lindon, A. Malek,
    "Anytime-valid inference for multinomial count data", arXiv 2011.03567. A small one means that assignment or
    recording is broken, so that no other figure can be believed.
    """
    total, whole = sum(counts), sum(weights)
    shares = [weight / whole for weight in weights]
    factor = lgamma(CONCENTRATION) - lgamma(CONCENTRATION + total)
    for count, share in zip(counts, shares, strict=True):
        prior = CONCENTRATION * share
        factor += lgamma(prior + count) - lgamma(prior) - count * log(share)
    return min(1.0, exp(-factor))


def adjust_p_values(p_values: Iterable[float]) -> list[float]:
    """Return p-values that can be compared with one rate of false discoveries, in the same order.

    Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289–300.
    """
    values = list(p_values)
    adjusted, smallest = [1.0] * len(values), 1.0
    largest_first = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    for rank, at in zip(range(len(values), 0, -1), largest_first, strict=True):
        smallest = min(smallest, values[at] * len(values) / rank)
        adjusted[at] = smallest
    return adjusted
