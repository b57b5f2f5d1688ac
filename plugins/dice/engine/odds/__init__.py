"""Exact odds: the distribution of a dice expression, computed without rolling."""

from plugins.dice.engine.odds.distribution import Distribution
from plugins.dice.engine.odds.question import odds

__all__ = ["Distribution", "odds"]
