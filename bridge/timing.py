"""The periods and limits of the bridge that no setting changes; tests hand in shorter ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Everything in seconds.

    ``first_delay``/``longest_delay``: the back-off of the dialler; ``healthy_after``: a link this old resets it;
    ``heartbeat``: our own, per core link; ``hold``: how long a core's first question waits for the account;
    ``slow_action``: the limit of transfers and merged forwards; ``linger``: how long a late answer to a send of the
    host is still taken; ``challenge``: what an older link of the same account has to answer a ping; ``local_delay``:
    the pause before an answer that the bridge makes itself (a core that waits after sending would lose an instant one).
    """

    first_delay: float = 1.0
    longest_delay: float = 60.0
    healthy_after: float = 30.0
    handshake: float = 10.0
    ping_every: float = 20.0
    heartbeat: float = 15.0
    hold: float = 8.0
    slow_action: float = 60.0
    linger: float = 300.0
    challenge: float = 2.0
    local_delay: float = 0.006
