"""Users' subscriptions as the kernels take them: checked, closed, in the order of dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.engines.inputs import frozen
from ruledex.errors import RuledexError
from ruledex.kernels.ranked_subscriptions import Subscriptions
from ruledex.ranked.intervals import closed_intervals, doubles

Floats = NDArray[np.float64]


def subscriptions_of(
    offsets: ArrayLike,
    dimension: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    n_dimensions: int,
    weights: ArrayLike | None,
    left_open: ArrayLike | None,
    right_open: ArrayLike | None,
) -> Subscriptions:
    """Check the entries; scores are multiplied by the weights of their dimensions."""
    intervals = closed_intervals(left, right, score, left_open, right_open)
    starts, dimensions = np.asarray(offsets), np.asarray(dimension)
    n_entries = len(intervals.score)
    if dimensions.shape != (n_entries,):
        raise RuledexError(
            f"dimension has the shape {dimensions.shape}, one for each of {n_entries:,} entries was expected"
        )
    is_ascending = starts.ndim == 1 and len(starts) > 0 and bool(np.all(np.diff(starts) >= 0))
    if not is_ascending or starts[0] != 0 or starts[-1] != n_entries:
        raise RuledexError(f"offsets must ascend from 0 to the {n_entries:,} entries")
    if np.any((dimensions < 0) | (dimensions >= n_dimensions)):
        raise RuledexError(f"a dimension is not below {n_dimensions}, the number of dimensions")
    owner = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    in_order = (owner[1:] != owner[:-1]) | (dimensions[1:] > dimensions[:-1])
    if not in_order.all():
        subscription = int(owner[1:][~in_order][0])
        raise RuledexError(f"subscription {subscription:,}: dimensions must ascend, and each may occur once")
    points = intervals.score * checked_weights(weights, n_dimensions)[dimensions]
    if np.any(points < 0) or not np.isfinite(points).all():
        raise RuledexError("scores must be finite and not negative, and so must they be with their weights")
    return Subscriptions(
        frozen(starts, np.int64),
        frozen(dimensions, np.int32),
        intervals.ends,
        frozen(points, np.float64),
        frozen(owner, np.int32),
    )


def checked_weights(weights: ArrayLike | None, n_dimensions: int) -> Floats:
    """A weight for each dimension, 1 where none are given."""
    if weights is None:
        return np.ones(n_dimensions)
    given = doubles("weights", weights)
    if len(given) != n_dimensions or not np.isfinite(given).all() or np.any(given < 0):
        raise RuledexError(f"weights must be {n_dimensions} finite numbers that are not negative")
    return given


def from_columns(
    left: ArrayLike, right: ArrayLike, score: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats, Floats]:
    """Offsets, dimensions, ends and scores of subscriptions that are given by dimension, each of shape (dimensions, n).

    A subscription that lacks a dimension has NaN there, at both ends.
    """
    lefts, rights, scores = (np.asarray(values, np.float64) for values in (left, right, score))
    if lefts.ndim != 2 or lefts.shape != rights.shape or lefts.shape != scores.shape:
        raise RuledexError(f"left, right and score have the shapes {lefts.shape}, {rights.shape} and {scores.shape}")
    is_there = ~(np.isnan(lefts) & np.isnan(rights)).T
    offsets = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
    dimension = np.nonzero(is_there)[1].astype(np.int32)
    return offsets, dimension, lefts.T[is_there], rights.T[is_there], scores.T[is_there]
