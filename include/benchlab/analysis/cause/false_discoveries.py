"""Which of many tests are believed, with few false ones among them."""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.arrays import np


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p values (1995).

    Example:
        ``adjusted([2 * 0.01, 2 * 0.5])`` is ``[0.02, 0.5]``.

    Args:
        p_values: each times the number of tests, or times another weight that all tests share.
    """
    order = np.argsort(p_values)[::-1]
    ranks = np.arange(len(p_values), 0, -1)
    found = np.empty(len(p_values))
    found[order] = np.minimum(np.minimum.accumulate(np.array(p_values)[order] / ranks), 1.0)
    return [float(one) for one in found]
