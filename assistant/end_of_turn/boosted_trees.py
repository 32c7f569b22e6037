"""Evaluates boosted regression trees, as the fit of the EOT estimate makes them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

Node = float | tuple[int, float, "Node", "Node"]
"""A leaf, which is its value, or a test: the index of a feature, a limit, the node up to the limit, the one above."""


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """A sum of regression trees, whose result is a logit.

    Attributes:
        names: The names of the features.
        typical: Their medians, which stand in for a feature that is not a number.
        trees: The root of each tree.
        bias: The constant part of the logit.
    """

    names: tuple[str, ...]
    typical: tuple[float, ...]
    trees: tuple[Node, ...]
    bias: float

    def logit(self, features: Mapping[str, float]) -> float:
        """Returns the logit for these features."""
        values = [
            usual if isnan(value := features[name]) else value
            for name, usual in zip(self.names, self.typical, strict=True)
        ]
        total = self.bias
        for node in self.trees:
            while isinstance(node, tuple):
                index, limit, below, above = node
                node = below if values[index] <= limit else above  # noqa: PLW2901 - descends to the leaf
            total += node
        return total


def trees_of(table: Mapping[str, object]) -> BoostedTrees:
    """Returns the trees of one model of a weights file. Raises KeyError, TypeError, ValueError if malformed."""
    names, typical, trees, bias = (table[name] for name in ("names", "typical", "trees", "bias"))
    if not (isinstance(names, list) and isinstance(typical, list) and isinstance(trees, list)):
        raise TypeError("a model of the weights has no names, medians or trees")
    if not isinstance(bias, int | float) or len(names) != len(typical):
        raise ValueError("a model of the weights has no bias, or not one median for each name")
    return BoostedTrees(
        tuple(map(str, names)),
        tuple(map(float, typical)),
        tuple(_node_of(tree, len(names)) for tree in trees),
        float(bias),
    )


def _node_of(value: object, features: int) -> Node:
    if isinstance(value, int | float):
        return float(value)
    match value:
        case [int(index), int(limit) | float(limit), below, above] if 0 <= index < features:
            return index, float(limit), _node_of(below, features), _node_of(above, features)
    raise ValueError("a tree of the weights is neither a value nor a test of one of its features")
