"""The watchdog: work past its limit is named and interrupted, work within it is left alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from plugin_host.watch.daemon import Interrupted
from plugin_host.watch.watchdog import REPEAT, TICK, Watch, Watchdog, raise_in

LIMIT = 0.1


class Bench:
    """A watch over the thread that makes it, and the owners that it reported."""

    def __init__(self) -> None:
        self.overruns: list[str] = []
        self.reported = threading.Event()
        self.watch = Watch(threading.get_ident(), LIMIT, self._report)

    def _report(self, owner: str) -> None:
        self.overruns.append(owner)
        self.reported.set()

    def run(self, owner: str, work: Callable[[], object]) -> type[BaseException] | None:
        """Run work as the writer does; what it raised."""
        try:
            try:
                self.watch.begin(owner)
                work()
            finally:
                self.watch.end()
        except (Exception, Interrupted) as error:
            self.watch.end()
            return type(error)
        return None


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    dog = Watchdog()
    dog.start()
    yield dog
    dog.stop()


@pytest.fixture
def bench(watchdog: Watchdog) -> Bench:
    found = Bench()
    watchdog.add(found.watch.check)
    return found


def spin(seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_work_past_its_limit_is_interrupted_and_its_owner_named_once(bench: Bench) -> None:
    began = time.monotonic()
    assert bench.run("slow", spin) is Interrupted
    assert LIMIT < time.monotonic() - began < 2
    assert bench.overruns == ["slow"]
    assert bench.watch.fired
    assert not bench.watch.overdue


def test_work_within_its_limit_is_left_alone(bench: Bench) -> None:
    for _ in range(5):
        assert bench.run("quick", lambda: spin(LIMIT / 4)) is None
    assert bench.overruns == []
    assert not bench.watch.fired


def test_the_work_after_an_interrupted_one_starts_afresh(bench: Bench) -> None:
    assert bench.run("slow", spin) is Interrupted
    assert bench.run("quick", lambda: spin(LIMIT / 4)) is None
    assert not bench.watch.fired
    assert bench.run("slow again", spin) is Interrupted
    assert bench.overruns == ["slow", "slow again"]


def test_an_idle_thread_is_never_interrupted(bench: Bench) -> None:
    assert bench.run("quick", lambda: None) is None
    spin(LIMIT + 3 * TICK)
    assert bench.overruns == []


def test_an_interrupt_that_was_swallowed_comes_again_and_is_reported_once(bench: Bench) -> None:
    caught: list[float] = []

    def stubborn() -> None:
        for _ in range(2):
            try:
                spin()
            except BaseException:
                caught.append(time.monotonic())

    bench.run("stubborn", stubborn)
    assert len(caught) == 2
    assert caught[1] - caught[0] >= REPEAT - TICK
    assert bench.overruns == ["stubborn"]


def test_an_interrupt_that_has_not_surfaced_is_withdrawn_with_the_end() -> None:
    """No watchdog here: the check is called in the watched thread itself, between begin and end."""
    bench = Bench()
    bench.watch.begin("late")
    try:
        bench.watch.check(time.monotonic() + LIMIT + 1)
        assert bench.watch.overdue
    except Interrupted:
        pass
    finally:
        bench.watch.end()
    spin(0.01)
    assert bench.watch.fired
    assert not bench.watch.overdue


@pytest.mark.parametrize(("past", "fires"), [(0.0, False), (0.001, True)])
def test_a_watch_fires_past_its_limit_and_not_before(past: float, fires: bool) -> None:
    """A watch over a thread that has ended: what it raises there reaches nobody."""
    over = threading.Thread(target=lambda: None)
    over.start()
    over.join()
    overruns: list[str] = []
    watch = Watch(over.ident or 0, 1000.0, overruns.append)
    before = time.monotonic()
    watch.begin("work")
    after = time.monotonic()
    watch.check((after if fires else before) + 1000.0 + past)
    assert (watch.fired, overruns) == (fires, ["work"] if fires else [])
    watch.end()
    watch.end()
    assert not watch.overdue


def test_a_pending_exception_can_be_raised_in_another_thread_and_withdrawn() -> None:
    ready, seen = threading.Event(), []

    def work() -> None:
        try:
            ready.set()
            spin()
        except Interrupted:
            seen.append("interrupted")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(5)
    raise_in(thread.ident or 0, Interrupted)
    thread.join(5)
    assert seen == ["interrupted"]
    raise_in(threading.get_ident(), None)


def test_every_check_is_called_about_twenty_times_a_second(watchdog: Watchdog) -> None:
    times: list[float] = []
    enough = threading.Event()

    def check(now: float) -> None:
        times.append(now)
        if len(times) == 5:
            enough.set()

    watchdog.add(check)
    assert enough.wait(5)
    assert times[4] - times[0] >= 4 * TICK * 0.9


def test_starting_twice_makes_one_thread_and_stopping_ends_it() -> None:
    before = set(threading.enumerate())
    dog = Watchdog()
    dog.start()
    dog.start()
    assert [thread.name for thread in set(threading.enumerate()) - before] == ["watchdog"]
    dog.stop()
    assert set(threading.enumerate()) <= before


def test_stopping_what_never_ran_does_nothing() -> None:
    Watchdog().stop()
