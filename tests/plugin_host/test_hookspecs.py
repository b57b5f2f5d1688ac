"""The contract itself: which hooks there are, what they take, and that reading it costs little."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pluggy

from plugin_host import hookspecs

HOOKS = {
    "register_tools": ["register"],
    "register_commands": ["register"],
    "tables": ["register"],
    "services": ["register"],
    "loaders": ["register"],
    "cli": ["register"],
    "startup": ["host"],
    "shutdown": ["host"],
    "should_handle": ["event"],
    "on_event": ["event"],
    "prompt_sections": ["event"],
    "before_send": ["reply"],
    "call_finished": ["call", "result"],
}


def specs() -> dict[str, list[str]]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return {name: list(caller.spec.argnames) for name, caller in vars(manager.hook).items() if caller.spec}


def test_there_are_thirteen_hooks_with_these_arguments() -> None:
    assert specs() == HOOKS


def test_every_hook_has_a_docstring() -> None:
    assert all(inspect.getdoc(getattr(hookspecs, name)) for name in HOOKS)


def test_the_contract_imports_nothing_heavy() -> None:
    code = (
        "import sys, plugin_host; print(*[m for m in ('sqlalchemy', 'jsonschema', 'watchfiles') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert shown.stdout.strip() == ""
