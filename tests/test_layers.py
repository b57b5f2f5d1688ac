"""The house: the module list of the README is the dependency order, and files and functions stay small.

Only imports that run count (also those inside functions); what stands under ``if TYPE_CHECKING`` is free.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("plugin_host", "bridge", "plugins")
BRIDGE_MAY_IMPORT = frozenset({"values", "config", "errors"})
ENTRY_POINTS = frozenset({"cli", "__main__"})
BANNED_NAMES = frozenset({"utils", "helpers", "common", "manager", "base", "misc"})
FILE_LIMIT = 300
TEST_FILE_LIMIT = 500
FUNCTION_LIMIT = 40
# "path:function" → why it may be longer than FUNCTION_LIMIT
LONG_FUNCTIONS: dict[str, str] = {}


def python_files(root: Path, *folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (root / folder).rglob("*.py"))


def module_list(readme: str) -> list[str]:
    """The first word of each line in the fenced block between the markers, packages without their slash."""
    block = re.search(r"<!-- modules -->\s*```\w*\n(.*?)```\s*<!-- /modules -->", readme, re.DOTALL)
    assert block, "README.md has no fenced block between <!-- modules --> and <!-- /modules -->"
    names = [line.split()[0].removesuffix("/").removesuffix(".py") for line in block[1].splitlines() if line.strip()]
    assert len(names) == len(set(names)), "a module is listed twice"
    return names


def modules(root: Path) -> set[str]:
    """The modules and packages directly below plugin_host, without the facade."""
    folder = root / "plugin_host"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return files | {path.parent.name for path in folder.glob("*/__init__.py")}


def module_of(path: Path, root: Path) -> str:
    """The name in the module list that a file of plugin_host belongs to."""
    return path.relative_to(root / "plugin_host").parts[0].removesuffix(".py")


class RuntimeImports(ast.NodeVisitor):
    """Collects (line, dotted name) of each import that runs; ``from a import b`` counts as ``a.b``."""

    def __init__(self, package: tuple[str, ...]) -> None:
        self.package = package
        self.found: list[tuple[int, str]] = []

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.visit(node.test)
            for child in node.body:
                self.visit(child)
        for child in node.orelse:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(node.lineno, alias.name) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        above = self.package[: len(self.package) - node.level + 1] if node.level else ()
        stem = ".".join([*above, *([node.module] if node.module else [])])
        self.found += [(node.lineno, f"{stem}.{alias.name}") for alias in node.names]


def imports(path: Path, root: Path) -> list[tuple[int, str]]:
    visitor = RuntimeImports(path.relative_to(root).parent.parts)
    visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    return visitor.found


def upward_faults(root: Path, order: list[str]) -> Iterator[str]:
    """Imports inside plugin_host that do not go up the list, and imports of its own facade."""
    known = modules(root)
    for path in python_files(root, "plugin_host"):
        own = module_of(path, root)
        for line, name in imports(path, root):
            parts = name.split(".")
            if parts[0] != "plugin_host" or own == "__init__":
                continue
            target = parts[1] if len(parts) > 1 else ""
            where = f"{path.relative_to(root)}:{line}"
            if target not in known:
                yield f"{where} imports {name}: the facade, or a module that is not there"
            elif target != own and order.index(target) >= order.index(own):
                yield f"{where}: {own} imports {target}, which stands below it"


def bridge_faults(root: Path) -> Iterator[str]:
    """What bridge imports from the host beside values, config and errors; and who but an entry point imports bridge."""
    for path in python_files(root, "bridge"):
        for line, name in imports(path, root):
            parts = name.split(".")
            if parts[0] == "plugins" or (parts[0] == "plugin_host" and not BRIDGE_MAY_IMPORT & set(parts[1:2])):
                yield f"{path.relative_to(root)}:{line} imports {name}"
    for path in python_files(root, "plugin_host", "plugins"):
        entry = path.is_relative_to(root / "plugin_host") and module_of(path, root) in ENTRY_POINTS
        for line, name in imports(path, root):
            if name.split(".")[0] == "bridge" and not entry:
                yield f"{path.relative_to(root)}:{line} imports {name}"


def plugin_faults(root: Path) -> Iterator[str]:
    """Imports of a plugin that reach behind the facade or into another plugin."""
    known = modules(root)
    for path in python_files(root, "plugins"):
        own = path.relative_to(root / "plugins").parts[0].removesuffix(".py")
        for line, name in imports(path, root):
            parts = name.split(".")
            behind = parts[0] == "plugin_host" and (len(parts) > 2 or known & set(parts[1:2]))
            foreign = parts[0] == "plugins" and parts[1:2] != [own]
            if behind or foreign:
                yield f"{path.relative_to(root)}:{line} imports {name}"


def size_faults(root: Path, allowed: dict[str, str]) -> Iterator[str]:
    """Files and functions over their limit, and allowances that nothing needs any more."""
    needed: set[str] = set()
    for path in python_files(root, *PRODUCT, "bench", "tests"):
        text = path.read_text(encoding="utf-8")
        is_test = path.is_relative_to(root / "tests")
        lines, limit = len(text.splitlines()), TEST_FILE_LIMIT if is_test else FILE_LIMIT
        if lines > limit:
            yield f"{path.relative_to(root)} has {lines} lines, more than {limit}"
        for name, length in [] if is_test else long_functions(text):
            key = f"{path.relative_to(root).as_posix()}:{name}"
            needed.add(key)
            if key not in allowed:
                yield f"{key} has {length} lines, more than {FUNCTION_LIMIT}"
    yield from (f"{key} needs no allowance" for key in sorted(set(allowed) - needed))


def long_functions(text: str) -> Iterator[tuple[str, int]]:
    """(name, lines of the body without its docstring) of each function over the limit."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            if length > FUNCTION_LIMIT:
                yield node.name, length


def name_faults(root: Path) -> Iterator[str]:
    for path in python_files(root, *PRODUCT, "bench", "tests"):
        parts = [part.removesuffix(".py").removeprefix("test_") for part in path.relative_to(root).parts]
        if BANNED_NAMES & set(parts):
            yield str(path.relative_to(root))


def readme_order() -> list[str]:
    return module_list((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_readme_lists_every_module_of_the_host_and_no_other() -> None:
    assert sorted(set(readme_order()) - {"__init__"}) == sorted(modules(ROOT))


def test_a_module_imports_only_modules_above_it() -> None:
    order = readme_order()
    assert not set(modules(ROOT)) - set(order), "the README misses modules"
    assert list(upward_faults(ROOT, order)) == []


def test_the_bridge_knows_only_values_config_and_errors_and_only_entry_points_know_the_bridge() -> None:
    assert list(bridge_faults(ROOT)) == []


def test_plugins_import_only_the_facade_and_themselves() -> None:
    assert list(plugin_faults(ROOT)) == []


def test_files_and_functions_are_small() -> None:
    assert list(size_faults(ROOT, LONG_FUNCTIONS)) == []


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert list(name_faults(ROOT)) == []


HOUSE = {
    "plugin_host/__init__.py": "from plugin_host.host import Host\n",
    "plugin_host/values.py": "",
    "plugin_host/store/__init__.py": "from plugin_host.store.rows import Row\n",
    "plugin_host/store/rows.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import plugin_host.host\n",
    "plugin_host/host.py": "import plugin_host.store.rows\nfrom plugin_host import values\n",
    "plugin_host/cli.py": "def run():\n    import bridge.server\n",
    "bridge/server.py": "from plugin_host.values import Event\nfrom bridge import link\n",
    "plugins/dice/__init__.py": "from plugin_host import Event\nfrom plugins.dice.engine import roll\n",
}
ORDER = ["values", "store", "host", "cli"]


def build(root: Path, extra: dict[str, str]) -> Path:
    for name, text in (HOUSE | extra).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def every_fault(root: Path) -> list[str]:
    return [*upward_faults(root, ORDER), *bridge_faults(root), *plugin_faults(root), *size_faults(root, {})]


def test_a_well_built_house_has_no_fault(tmp_path: Path) -> None:
    assert every_fault(build(tmp_path, {})) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plugin_host/values.py", "import plugin_host.store\n"),
        ("plugin_host/values.py", "def late():\n    from plugin_host.host import Host\n"),
        ("plugin_host/store/rows.py", "from .. import host\n"),
        ("plugin_host/store/rows.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import plugin_host.host\n"),
        ("plugin_host/host.py", "from plugin_host import Event\n"),
        ("plugin_host/host.py", "import bridge\n"),
        ("bridge/server.py", "from plugin_host.store import Row\n"),
        ("bridge/server.py", "import plugin_host\n"),
        ("plugins/luck.py", "from plugin_host.values import Event\n"),
        ("plugins/luck.py", "from plugin_host import values\n"),
        ("plugins/luck.py", "from plugins.dice import roll\n"),
        ("plugins/luck.py", "import bridge.server\n"),
        ("plugins/luck.py", "x = 1\n" * (FILE_LIMIT + 1)),
        ("tests/test_x.py", "x = 1\n" * (TEST_FILE_LIMIT + 1)),
        ("bridge/server.py", "def f():\n    '''Doc.'''\n" + "    x = 1\n" * (FUNCTION_LIMIT + 1)),
    ],
)
def test_each_kind_of_fault_is_found_once(tmp_path: Path, name: str, text: str) -> None:
    faults = every_fault(build(tmp_path, {name: text}))
    assert len(faults) == 1
    assert faults[0].startswith(name)


def test_sizes_at_their_limit_are_fine(tmp_path: Path) -> None:
    function = "def f():\n    '''Doc.'''\n" + "    x = 1\n" * FUNCTION_LIMIT
    fits = {"plugins/luck.py": "x = 1\n" * FILE_LIMIT, "bridge/server.py": function}
    assert every_fault(build(tmp_path, fits)) == []


def test_an_allowance_holds_and_a_stale_one_is_a_fault(tmp_path: Path) -> None:
    root = build(tmp_path, {"bridge/server.py": "def f():\n" + "    x = 1\n" * (FUNCTION_LIMIT + 1)})
    assert list(size_faults(root, {"bridge/server.py:f": "a table"})) == []
    assert "needs no allowance" in next(size_faults(build(tmp_path, {}), {"bridge/server.py:f": "a table"}))


def test_a_banned_name_is_found(tmp_path: Path) -> None:
    assert list(name_faults(build(tmp_path, {"plugins/dice/utils.py": ""}))) == [str(Path("plugins/dice/utils.py"))]


def test_the_module_list_is_read_from_its_fence() -> None:
    text = "x\n<!-- modules -->\n```text\nerrors    the tree\n\nstore/    tables\n```\n<!-- /modules -->\n"
    assert module_list(text) == ["errors", "store"]
    with pytest.raises(AssertionError, match="listed twice"):
        module_list(text.replace("store/", "errors"))
