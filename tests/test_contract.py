"""The plugin contract and its guide say the same: hooks with their arguments, and the names of the facade."""

from __future__ import annotations

import re
from pathlib import Path

import pluggy

import plugin_host
from plugin_host import hookspecs

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text between ``## title`` and the next heading of that level."""
    return GUIDE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def specified() -> list[str]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    hooks = [caller for name, caller in vars(manager.hook).items() if caller.spec]
    return sorted(f"{caller.name}({', '.join(caller.spec.argnames)})" for caller in hooks)


def test_the_headings_of_the_guide_are_the_hooks_with_their_arguments() -> None:
    headings = re.findall(r"^### `(.+)`$", section("钩子"), re.MULTILINE)
    assert sorted(headings) == specified()
    assert len(headings) == 13


def test_every_hook_of_the_guide_is_explained() -> None:
    parts = re.split(r"^### .+$", section("钩子"), flags=re.MULTILINE)[1:]
    assert all(len(part.strip()) > 10 for part in parts)


def test_the_table_of_the_guide_is_the_facade() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("门面"), re.MULTILINE)
    assert sorted(rows) == sorted(plugin_host.__all__)


def test_every_hook_is_tested_by_name() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "plugin_host").rglob("test_*.py"))
    names = {hook.partition("(")[0] for hook in specified()}
    untested = {name for name in names if not re.search(rf"def test_\w*{name}", tests)}
    assert untested == set()


def test_the_example_of_the_guide_is_the_plugin_that_everybody_copies() -> None:
    example = re.search(r"```python\n(.+?)```", GUIDE, re.DOTALL)
    assert example is not None
    assert example[1] == (ROOT / "plugins" / "luck.py").read_text(encoding="utf-8")
