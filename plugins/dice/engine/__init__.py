"""The dice engine: dice notation to results, without any part of the host.

`roll` rolls a text, `fill` rolls what stands in braces in one, `explain` says what a roll would do, `odds`
computes its distribution, `split_command` takes a chat command's body apart, `rng` makes sources of dice.
"""

from plugins.dice.engine import rng
from plugins.dice.engine.command import Command, split_command
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.explain import explain
from plugins.dice.engine.filling import fill
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.names import Computed, Resolver
from plugins.dice.engine.odds import Distribution, odds
from plugins.dice.engine.result import RollResult, Term
from plugins.dice.engine.roller import roll

__all__ = [
    "Command",
    "Computed",
    "DiceError",
    "Distribution",
    "Limits",
    "Resolver",
    "RollResult",
    "Term",
    "explain",
    "fill",
    "odds",
    "rng",
    "roll",
    "split_command",
]
