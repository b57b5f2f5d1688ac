"""The dice engine: dice notation to results, without any part of the host.

`roll` rolls a text, `split_command` takes a chat command's body apart, `rng` makes sources of dice.
"""

from plugins.dice.engine import rng
from plugins.dice.engine.command import Command, split_command
from plugins.dice.engine.errors import DiceError
from plugins.dice.engine.limits import Limits
from plugins.dice.engine.names import Resolver
from plugins.dice.engine.result import RollResult, Term
from plugins.dice.engine.roller import roll

__all__ = ["Command", "DiceError", "Limits", "Resolver", "RollResult", "Term", "rng", "roll", "split_command"]
