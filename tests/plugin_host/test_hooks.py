"""The hooks at run time: order, isolation, limits, answers; each hook by its name."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_host.calls import ToolCall, ToolResult
from plugin_host.hooks import Hooks
from plugin_host.watch.daemon import interrupt_thread
from tests.kit.plugin_home import PluginHome, event, reply


@pytest.fixture
def home(tmp_path: Path) -> Iterator[PluginHome]:
    home = PluginHome(tmp_path / "plugins")
    yield home
    home.forget()


def hooks_of(home: PluginHome, limit: float = 5.0) -> Hooks:
    loader = home.loader()
    assert [report.reason for report in loader.load_all() if not report.ok] == []
    return Hooks(loader, limit=limit, start_limit=limit)


class Host:
    def __init__(self) -> None:
        self.seen: list[str] = []


async def test_startup_runs_in_load_order_and_shutdown_in_reverse(home: PluginHome) -> None:
    for name, word in (("b", ""), ("a", "async "), ("c", "")):
        home.write(
            f"{name}.py",
            f"""
            @hookimpl
            {word}def startup(host):
                host.seen.append("+{name}")

            @hookimpl
            {word}def shutdown(host):
                host.seen.append("-{name}")
            """,
        )
    hooks, host = hooks_of(home), Host()
    assert await hooks.startup(host) == []
    assert await hooks.shutdown(host) == []
    assert host.seen == ["+a", "+b", "+c", "-c", "-b", "-a"]


async def test_startup_that_raises_is_named_and_the_others_start(home: PluginHome) -> None:
    path = home.write("a.py", "@hookimpl\ndef startup(host):\n    raise ValueError('no')\n")
    home.write("b.py", "@hookimpl\ndef startup(host):\n    host.seen.append('b')\n")
    hooks, host = hooks_of(home), Host()
    [failure] = await hooks.startup(host)
    assert (failure.plugin, failure.hook, failure.file, failure.line) == ("a", "startup", str(path), 4)
    assert "ValueError: no" in failure.reason
    assert host.seen == ["b"]
    assert hooks.failures == {"a": 1}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("def startup(host):\n    while True:\n        pass", (4, 5)),
        ("async def startup(host):\n    import asyncio\n    await asyncio.Event().wait()", (5,)),
    ],
)
async def test_startup_that_hangs_ends_at_the_limit_with_its_line(
    home: PluginHome, body: str, line: tuple[int, ...]
) -> None:
    path = home.write("a.py", f"@hookimpl\n{body}\n")
    home.write("b.py", "@hookimpl\ndef startup(host):\n    host.seen.append('b')\n")
    hooks, host = hooks_of(home, limit=0.1), Host()
    [failure] = await hooks.startup(host)
    assert failure.file == str(path)
    assert failure.line in line
    assert "0.1 s" in failure.reason
    assert host.seen == ["b"]


async def test_should_handle_takes_the_first_answer(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef should_handle(event):\n    return None\n")
    home.write("b.py", "@hookimpl\ndef should_handle(event):\n    return False if event.text == 'spam' else None\n")
    home.write("c.py", "@hookimpl\ndef should_handle(event):\n    raise AssertionError('asked too late')\n")
    hooks = hooks_of(home)
    assert hooks.should_handle(event("spam")) is False
    assert hooks.failures == {}
    assert hooks.should_handle(event("ham")) is True
    assert hooks.failures == {"c": 1}


async def test_should_handle_ignores_what_is_no_answer(home: PluginHome, logs: list[str]) -> None:
    home.write("a.py", "@hookimpl\ndef should_handle(event):\n    return 'no'\n")
    home.write("b.py", "@hookimpl\ndef should_handle(event):\n    return False\n")
    assert hooks_of(home).should_handle(event()) is False
    assert any("plugin a failed in should_handle" in line and "answered str" in line for line in logs)


SEEING = "SEEN = []\n@hookimpl\n{kind}def on_event(event):\n    SEEN.append(event.text)\n"


def seen(name: str) -> Any:
    return sys.modules[f"home_plugins.{name}"].SEEN


async def test_on_event_reaches_every_plugin_though_one_raises(home: PluginHome, logs: list[str]) -> None:
    home.write("a.py", SEEING.format(kind=""))
    path = home.write("b.py", "@hookimpl\ndef on_event(event):\n    {}[event.text]\n")
    home.write("c.py", SEEING.format(kind="async "))
    hooks = hooks_of(home)
    await hooks.on_event(event("x"))
    assert seen("a") == seen("c") == ["x"]
    assert any(f"plugin b failed in on_event ({path}:4): KeyError: 'x'" in line for line in logs)


async def test_on_event_may_take_no_argument_at_all(home: PluginHome) -> None:
    home.write("a.py", "SEEN = []\n@hookimpl\ndef on_event():\n    SEEN.append(1)\n")
    await hooks_of(home).on_event(event())
    assert seen("a") == [1]


@pytest.mark.parametrize("kind", ["", "async "])
async def test_on_event_that_ends_the_program_does_not(home: PluginHome, kind: str) -> None:
    home.write("a.py", f"import sys\n@hookimpl\n{kind}def on_event(event):\n    sys.exit(1)\n")
    home.write("b.py", SEEING.format(kind=""))
    hooks = hooks_of(home)
    await hooks.on_event(event("x"))
    assert hooks.failures == {"a": 1}
    assert seen("b") == ["x"]


async def test_on_event_that_swallows_its_cancellation_is_left_behind(home: PluginHome) -> None:
    home.write(
        "a.py",
        """
        import asyncio
        RELEASE = asyncio.Event()
        @hookimpl
        async def on_event(event):
            while not RELEASE.is_set():
                try:
                    await RELEASE.wait()
                except asyncio.CancelledError:
                    pass
        """,
    )
    home.write("b.py", SEEING.format(kind=""))
    hooks = hooks_of(home, limit=0.05)
    await hooks.on_event(event("x"))
    assert hooks.failures == {"a": 1}
    assert seen("b") == ["x"]
    sys.modules["home_plugins.a"].RELEASE.set()


async def test_an_interruption_ends_the_implementation_only(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef on_event(event):\n    while True:\n        pass\n")
    home.write("b.py", SEEING.format(kind=""))
    hooks = hooks_of(home)
    timer = threading.Timer(0.1, interrupt_thread, [threading.get_ident()])
    timer.start()
    await hooks.on_event(event("x"))
    timer.join(5)
    assert hooks.failures == {"a": 1}
    assert seen("b") == ["x"]


async def test_a_plain_implementation_that_is_slow_is_named(home: PluginHome, logs: list[str]) -> None:
    home.write("a.py", "import time\n@hookimpl\ndef on_event(event):\n    time.sleep(0.05)\n")
    await hooks_of(home, limit=0.01).on_event(event())
    assert any("plugin a held the loop" in line and "on_event" in line for line in logs)


async def test_prompt_sections_come_in_load_order(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef prompt_sections(event):\n    return ['one', ' ', 'two']\n")
    home.write("b.py", "@hookimpl\nasync def prompt_sections(event):\n    return event.text\n")
    home.write("c.py", "@hookimpl\ndef prompt_sections(event):\n    return None\n")
    home.write("d.py", "@hookimpl\ndef prompt_sections(event):\n    return 7\n")
    hooks = hooks_of(home)
    assert await hooks.prompt_sections(event("three")) == ["one", "two", "three"]
    assert hooks.failures == {"d": 1}


CHANGING = """
from dataclasses import replace
@hookimpl
def before_send(reply):
    return replace(reply, segments=(Segment.text(reply.text + '{more}'),))
"""


async def test_before_send_changes_one_after_another(home: PluginHome) -> None:
    home.write("a.py", CHANGING.format(more="1"))
    home.write("b.py", "@hookimpl\nasync def before_send(reply):\n    return None\n")
    home.write("c.py", CHANGING.format(more="2"))
    sent = await hooks_of(home).before_send(reply("x"))
    assert sent is not None
    assert sent.text == "x12"


async def test_before_send_may_drop(home: PluginHome) -> None:
    home.write("a.py", "@hookimpl\ndef before_send(reply):\n    return False if 'bad' in reply.text else None\n")
    hooks = hooks_of(home)
    assert await hooks.before_send(reply("a bad word")) is None
    assert await hooks.before_send(reply("a good word")) == reply("a good word")


@pytest.mark.parametrize("change", ["session='group:2'", "to='private', user_id='5'", "hidden=False"])
async def test_before_send_cannot_send_elsewhere_nor_unhide(home: PluginHome, change: str) -> None:
    home.write(
        "a.py",
        f"from dataclasses import replace\n@hookimpl\ndef before_send(reply):\n    return replace(reply, {change})\n",
    )
    hooks = hooks_of(home)
    secret = reply("x", hidden=True)
    assert await hooks.before_send(secret) == secret
    assert hooks.failures == {"a": 1}


@pytest.mark.parametrize("answer", ["True", "'text'"])
async def test_before_send_ignores_what_is_no_answer(home: PluginHome, answer: str) -> None:
    home.write("a.py", f"@hookimpl\ndef before_send(reply):\n    return {answer}\n")
    hooks = hooks_of(home)
    assert await hooks.before_send(reply("x")) == reply("x")
    assert hooks.failures == {"a": 1}


async def test_call_finished_sees_call_and_result_or_one_of_them(home: PluginHome) -> None:
    home.write("a.py", "SEEN = []\n@hookimpl\ndef call_finished(call, result):\n    SEEN.append((call, result))\n")
    home.write("b.py", "SEEN = []\n@hookimpl\nasync def call_finished(result):\n    SEEN.append(result)\n")
    call, result = ToolCall("1", "f"), ToolResult("1", "f", "ok")
    await hooks_of(home).call_finished(call, result)
    assert seen("a") == [(call, result)]
    assert seen("b") == [result]


ENDS = [
    "BaseException('x')",
    "KeyboardInterrupt",
    "SystemExit(3)",
    "GeneratorExit",
    "__import__('asyncio').CancelledError",
    "type('Own', (BaseException,), {'__str__': lambda self: __import__('sys').exit(4)})()",
]


@pytest.mark.parametrize("error", ENDS)
@pytest.mark.parametrize("kind", ["", "async "])
async def test_whatever_a_hook_raises_is_named_and_the_next_plugin_is_asked(
    home: PluginHome, kind: str, error: str, logs: list[str]
) -> None:
    path = home.write("a.py", f"@hookimpl\n{kind}def before_send(reply):\n    raise {error}\n")
    home.write("b.py", CHANGING.format(more="!"))
    hooks = hooks_of(home)
    sent = await hooks.before_send(reply("x"))
    assert sent is not None
    assert sent.text == "x!"
    assert hooks.failures == {"a": 1}
    assert any(f"plugin a failed in before_send ({path}:" in line for line in logs)


@pytest.mark.parametrize("error", ENDS)
async def test_should_handle_that_raises_has_no_opinion(home: PluginHome, error: str) -> None:
    home.write("a.py", f"@hookimpl\ndef should_handle(event):\n    raise {error}\n")
    hooks = hooks_of(home)
    assert hooks.should_handle(event()) is True
    assert hooks.failures == {"a": 1}


@pytest.mark.parametrize("error", ENDS)
@pytest.mark.parametrize("kind", ["", "async "])
async def test_startup_that_raises_anything_is_one_failure(home: PluginHome, kind: str, error: str) -> None:
    home.write("a.py", f"@hookimpl\n{kind}def startup(host):\n    raise {error}\n")
    [failure] = await hooks_of(home).startup(Host())
    assert (failure.plugin, failure.hook) == ("a", "startup")


async def test_the_hosts_own_cancellation_passes_through_a_hook(home: PluginHome) -> None:
    home.write(
        "a.py",
        """
        import asyncio
        BEGUN, ENDED = asyncio.Event(), asyncio.Event()
        @hookimpl
        async def on_event(event):
            BEGUN.set()
            try:
                await asyncio.Event().wait()
            finally:
                ENDED.set()
        """,
    )
    hooks = hooks_of(home)
    showing = asyncio.create_task(hooks.on_event(event()))
    async with asyncio.timeout(5):
        await sys.modules["home_plugins.a"].BEGUN.wait()
        showing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await showing
        await sys.modules["home_plugins.a"].ENDED.wait()
    assert hooks.failures == {}


SLOW = """
import asyncio
SEEN = []
@hookimpl
async def on_event(event):
    SEEN.append(event.text)
    if event.text == "slow":
        await asyncio.Event().wait()
"""


async def test_a_hook_that_times_out_three_times_in_a_row_is_left_out_until_it_is_loaded_anew(
    home: PluginHome, logs: list[str]
) -> None:
    home.write("a.py", SLOW)
    home.write("b.py", SEEING.format(kind=""))
    loader = home.loader()
    loader.load_all()
    hooks = Hooks(loader, limit=0.02, start_limit=5.0)
    for text in ("slow", "slow", "fast", "slow", "slow", "slow", "late"):
        await hooks.on_event(event(text))
    assert seen("a") == ["slow", "slow", "fast", "slow", "slow", "slow"]
    assert seen("b")[-1] == "late"
    assert sum("plugin a: on_event" in line and "left out" in line for line in logs) == 1
    loader.load("a")
    await hooks.on_event(event("again"))
    assert seen("a") == ["again"]
