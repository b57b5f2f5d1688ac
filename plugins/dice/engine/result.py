"""Owns the result of a roll: the value and the trace; everything else is made when it is asked for."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from plugins.dice.engine.context import Trace
from plugins.dice.engine.errors import Span
from plugins.dice.engine.fold import Folded
from plugins.dice.engine.program import Program
from plugins.dice.engine.render import detail_text, term_faces
from plugins.dice.engine.values import Result, shown

ROLL_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Term:
    """One dice term as rolled. `span` lies on the user's text; `kept` says which faces count.

    `faces` are the numbers they count as, in roll order; `originals` what the dice showed.
    """

    text: str
    span: Span
    sides: int
    faces: tuple[int, ...]
    kept: tuple[bool, ...]
    subtotal: int
    originals: tuple[int, ...]


class RollResult:
    """What one roll gave. Treat it as a value.

    Not a dataclass: making one is on the path of every roll, and most callers read three of its fields.
    `value` is the total (a list of totals for a text with rounds), `used` the dice it was charged for.
    """

    __slots__ = ("_base", "_program", "_roll_id", "_source", "_trace", "used", "value")

    def __init__(
        self,
        value: Result,
        program: Program,
        source: str | Folded,
        base: int,
        trace: Sequence[Trace],
        used: int,
    ) -> None:
        self.value = value
        self.used = used
        self._program = program
        self._source = source  # a plain text is one that folds to itself
        self._base = base
        self._trace = trace
        self._roll_id: str | None = None

    @property
    def roll_id(self) -> str:
        """A random identifier of this roll: 16 hexadecimal digits."""
        if self._roll_id is None:
            self._roll_id = secrets.token_hex(ROLL_ID_BYTES)
        return self._roll_id

    @property
    def rounds(self) -> tuple[RollResult, ...]:
        """The rounds of this roll; a roll without `N#` is its own only round."""
        return (self,)

    @property
    def rest(self) -> str:
        """What follows the expression, in the user's own characters, leading space included."""
        source = self._folded()
        return source.original[source.end(self._base + self._program.end) :]

    @property
    def reason(self) -> str:
        """`rest` without the space around it, cut to the limit."""
        return self.rest.strip()[: self._program.limits.reason_characters]

    @property
    def dice(self) -> list[int]:
        """All faces in roll order, dropped ones too."""
        return [face for entry in self._trace for face in entry[2]]

    @property
    def detail(self) -> tuple[Term, ...]:
        """The dice terms in roll order."""
        return tuple(self._term(entry) for entry in self._trace if entry[1])

    @property
    def expression(self) -> str:
        """The expression as it was understood: half-width, without spaces, default sides written out."""
        return self._program.template.expression

    @property
    def working(self) -> str:
        """How the value came about: `{6+5+4|1}+2=17`, or only the value when there is nothing to show."""
        template = self._program.template
        detail, value = detail_text(template, self._trace, self._program.limits), shown(self.value)
        return value if detail in (value, template.expression) else f"{detail}={value}"

    @property
    def text(self) -> str:
        """The short form for a chat line: `4d6k3+2={6+5+4|1}+2=17`."""
        program = self._program
        template = program.template
        expression = template.expression
        detail = detail_text(template, self._trace, program.limits)
        value = str(self.value) if self.value.__class__ is int else shown(self.value)
        if detail in (value, expression):
            return expression if expression == value else f"{expression}={value}"
        return f"{expression}={detail}={value}"

    def _folded(self) -> Folded:
        return Folded(self._source, self._source, None) if isinstance(self._source, str) else self._source

    def _term(self, entry: Trace) -> Term:
        site, sides, faces, keep, value = entry
        span, text = self._program.sites[site].span, self._program.template.labels[site]
        values, kept = term_faces(faces, keep)
        assert isinstance(value, int)
        return Term(text, self._folded().span(span, self._base), sides, values, kept, value, tuple(faces))

    def __repr__(self) -> str:
        return f"RollResult({self.text!r})"


class RoundsResult(RollResult):
    """The result of a text with rounds, `3#d20+5`: `value` is the list of the rounds' totals."""

    __slots__ = ("_rounds",)

    def __init__(self, rounds: Sequence[RollResult]) -> None:
        first = rounds[0]
        trace = [entry for result in rounds for entry in result._trace]
        values = [result.value for result in rounds]
        super().__init__(values, first._program, first._source, first._base, trace, sum(r.used for r in rounds))
        self._rounds = tuple(rounds)

    @property
    def rounds(self) -> tuple[RollResult, ...]:
        return self._rounds

    @property
    def working(self) -> str:
        return "\n".join(f"{number}. {result.working}" for number, result in enumerate(self._rounds, 1))

    @property
    def text(self) -> str:
        """A head line, then one numbered line per round."""
        return f"{len(self._rounds)}#{self.expression}：\n{self.working}"
