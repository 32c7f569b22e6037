"""Implements the fit: boosted trees, logistic regression, folds by speaker, area under the curve and its interval."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TREES, LEAVES = 100, 3
"""Number and size of the trees. 2, 4 and 8 leaves, and 60 to 400 trees, are no better on speakers left out."""

_BOOSTING = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": LEAVES,
    "min_data_in_leaf": 30,
    "lambda_l2": 5,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "monotone_constraints_method": "advanced",
    "deterministic": True,
    "seed": 1,
    "num_threads": 1,
    "verbosity": -1,
}


class Logistic:
    """A logistic regression on standardized features, clipped at three deviations.

    Attributes:
        mean, deviation: Statistics of the training features, shape (n,).
        weights: Weights of the standardized features, shape (n,).
        bias: Bias of the logit.
    """

    def __init__(self, mean: Floats, deviation: Floats, weights: Floats, bias: float) -> None:
        self.mean, self.deviation, self.weights, self.bias = mean, deviation, weights, bias

    def logit(self, features: Floats) -> Floats:
        """Returns the logit of each row, shape (m,)."""
        scaled = np.clip((features - self.mean) / self.deviation, -3, 3)
        logits: Floats = scaled @ self.weights + self.bias
        return logits


def fitted(features: Floats, ends: Bools, importance: Floats, ridge: float) -> Logistic:
    """Fits by Newton's method: weighted log-likelihood minus ridge/2 |weights|². Shapes (m, n), (m,), (m,).

    Importances are scaled to a sum of m, so that the ridge means the same for any weighting.
    """
    importance = importance * (len(ends) / importance.sum())
    mean = np.average(features, axis=0, weights=importance)
    deviation = np.sqrt(np.average(np.square(features - mean), axis=0, weights=importance)) + 1e-6
    scaled = np.clip((features - mean) / deviation, -3, 3)
    rows = np.column_stack([scaled, np.ones(len(ends))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (importance * (ends - chance)) - penalty * weights
        curve = (rows * (importance * chance * (1 - chance))[:, np.newaxis]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return Logistic(mean, deviation, weights[:-1], float(weights[-1]))


class Boosted:
    """Regression trees fitted by gradient boosting, with the sign of each feature's influence given.

    Attributes:
        typical: Medians of the training features, which stand in for NaN, shape (n,).
    """

    def __init__(self, booster: lightgbm.Booster, typical: Floats) -> None:
        self._booster, self.typical = booster, typical

    def logit(self, features: Floats) -> Floats:
        """Returns the logit of each row, shape (m,)."""
        known = np.where(np.isnan(features), self.typical, features)
        return np.asarray(self._booster.predict(known, raw_score=True), np.float64)

    def trees(self, factor: float) -> list[Any]:
        """Returns the trees as in the weights file, with their values multiplied by `factor`."""
        return [_node(tree["tree_structure"], factor) for tree in self._booster.dump_model()["tree_info"]]


def _node(node: Mapping[str, Any], factor: float) -> Any:
    if "leaf_value" in node:
        return round(factor * node["leaf_value"], 4)
    below, above = _node(node["left_child"], factor), _node(node["right_child"], factor)
    return [node["split_feature"], node["threshold"], below, above]


def boosted(features: Floats, ends: Bools, importance: Floats, signs: Floats) -> Boosted:
    """Fits TREES trees of LEAVES leaves. Shapes (m, n), (m,), (m,), (n,).

    A feature with the sign +1 can only raise the logit, with -1 only lower it, with 0 both.
    """
    typical = np.nanmedian(features, axis=0)
    features = np.where(np.isnan(features), typical, features)
    table = lightgbm.Dataset(features, ends.astype(np.float64), weight=importance / importance.mean())
    settings = {**_BOOSTING, "monotone_constraints": signs.astype(int).tolist()}
    return Boosted(lightgbm.train(settings, table, TREES), typical)


def folds(speakers: Sequence[str], count: int, seed: int) -> npt.NDArray[np.intp]:
    """Returns the fold of each row, shape (m,). All rows of a speaker are in one fold; folds have similar sizes."""
    names, sizes = np.unique(np.asarray(speakers), return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = np.zeros(count)
    place: dict[str, int] = {}
    for index in order:
        fold = int(filled.argmin())
        place[str(names[index])] = fold
        filled[fold] += sizes[index]
    return np.array([place[speaker] for speaker in speakers])


def held_out(fit: Callable[[Bools], Callable[[Bools], Floats]], fold: npt.NDArray[np.intp]) -> Floats:
    """Returns the logits of every row by a fit without its speaker, shape (m,)."""
    logits = np.zeros(len(fold))
    for number in np.unique(fold):
        inside = fold == number
        logits[inside] = fit(~inside)(inside)
    return logits


def area(scores: Floats, ends: Bools) -> float:
    """Returns the area under the receiver operating curve; ties count half. NaN without both classes."""
    above, below = scores[ends], np.sort(scores[~ends])
    if not len(above) or not len(below):
        return float("nan")
    lower = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(lower.mean() / 2 / len(below))


def interval(scores: Floats, ends: Bools, speakers: Sequence[str], draws: int = 400) -> tuple[float, float]:
    """Returns the 95 % interval of the area over speakers drawn with replacement."""
    rng = np.random.default_rng(1)
    names, index = np.unique(np.asarray(speakers), return_inverse=True)
    rows = [np.flatnonzero(index == number) for number in range(len(names))]
    samples = []
    for _ in range(draws):
        drawn = np.concatenate([rows[number] for number in rng.integers(0, len(names), len(names))])
        samples.append(area(scores[drawn], ends[drawn]))
    low, high = np.nanpercentile(samples, [2.5, 97.5])
    return float(low), float(high)
