"""Where plugins lie and how one is imported: built-in as ``plugins.NAME``, home ones by path as ``home_plugins.NAME``.

Home plugins are read from source each time: bytecode caches tell versions apart by whole seconds, and a save is faster.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Literal

from plugin_host.errors import PluginError

HOME_PACKAGE = "home_plugins"
Origin = Literal["builtin", "plugin"]


@dataclass(frozen=True, slots=True)
class PluginFile:
    """One plugin on disk: ``path`` is its file, or its folder when it is a package; ``package`` its parent's name."""

    name: str
    path: Path
    origin: Origin
    package: str

    @property
    def module(self) -> str:
        """The import name."""
        return f"{self.package}.{self.name}"

    @property
    def file(self) -> str:
        """The file that is run first."""
        return str(self.path / "__init__.py" if self.path.is_dir() else self.path)

    @property
    def is_python(self) -> bool:
        """False for a file that a loader of another language takes."""
        return self.path.is_dir() or self.path.suffix == ".py"

    def owns(self, file: str) -> bool:
        """True for the plugin's own file, or any file in its package."""
        return file == str(self.path) or (self.path.is_dir() and Path(file).is_relative_to(self.path))


def builtin_files(package: str) -> list[PluginFile]:
    """The plugins inside an importable package, in order of name."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = [PluginFile(path.stem, path, "builtin", package) for folder in folders for path in _listed(Path(folder))]
    return sorted(found, key=lambda one: one.name)


def home_files(folder: Path, suffixes: Iterable[str] = ()) -> list[PluginFile]:
    """The plugins in a home folder, in order of name; files of other ``suffixes`` come last.

    Raises nothing for a missing folder; bad names are the loader's to refuse.
    """
    if not folder.is_dir():
        return []
    python = [PluginFile(path.stem, path, "plugin", HOME_PACKAGE) for path in _listed(folder)]
    wanted = set(suffixes) - {".py"}
    foreign = [PluginFile(path.name, path, "plugin", HOME_PACKAGE) for path in _files(folder) if path.suffix in wanted]
    return [*python, *foreign]


def same_folder(folder: Path, package: str) -> bool:
    """True when ``folder`` is the folder of that importable package."""
    spec = importlib.util.find_spec(package)
    locations = (spec.submodule_search_locations or ()) if spec else ()
    return any(Path(location).resolve() == folder.resolve() for location in locations)


def import_plugin(plugin: PluginFile, *, fresh: bool) -> ModuleType:
    """Import a plugin; ``fresh`` runs its source again whatever was imported before. Raises what its code raises."""
    if not fresh and plugin.origin == "builtin":
        return importlib.import_module(plugin.module)
    put_modules(plugin, {})
    _offer_sources()
    spec = _spec_of(plugin.module, [str(plugin.path.parent)])
    if spec is None or spec.loader is None:
        raise PluginError(plugin.name, "not an importable file", file=plugin.file)
    parent = sys.modules.get(plugin.package) or _parent(plugin.package)
    module = importlib.util.module_from_spec(spec)
    # Without the import system's lock per module: a thread that hangs in an import would keep it for ever.
    sys.modules[plugin.module] = module
    spec.loader.exec_module(module)
    setattr(parent, plugin.name, module)
    return module


def modules_of(plugin: PluginFile) -> dict[str, ModuleType]:
    """The plugin's modules in ``sys.modules``, by name."""
    prefix = f"{plugin.module}."
    return {name: module for name, module in list(sys.modules.items()) if f"{name}.".startswith(prefix)}


def put_modules(plugin: PluginFile, modules: Mapping[str, ModuleType]) -> None:
    """Make exactly these the plugin's modules in ``sys.modules``."""
    for name in modules_of(plugin):
        del sys.modules[name]
    sys.modules.update(modules)
    parent = sys.modules.get(plugin.package)
    if parent is None:
        return
    if plugin.module in modules:
        setattr(parent, plugin.name, modules[plugin.module])
    elif hasattr(parent, plugin.name):
        delattr(parent, plugin.name)


class _SourceLoader(SourceFileLoader):
    """Compiles the source as it is now."""

    def get_code(self, fullname: str) -> object:  # type: ignore[override]  # the stub names CodeType | None
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _HomeFinder:
    """Finds the modules inside a home plugin that is a package."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return _spec_of(name, path) if path and name.startswith(f"{HOME_PACKAGE}.") else None


def _spec_of(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    for folder in folders:
        spec = FileFinder(folder, (_SourceLoader, [".py"])).find_spec(name)
        if spec is not None and spec.loader is not None:
            return spec
    return None


def _offer_sources() -> None:
    if not any(isinstance(finder, _HomeFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _HomeFinder())


def _parent(package: str) -> ModuleType:
    if package != HOME_PACKAGE:
        return importlib.import_module(package)
    parent = ModuleType(HOME_PACKAGE, "The plugins of the home.")
    parent.__path__ = []
    sys.modules[HOME_PACKAGE] = parent
    return parent


def _listed(folder: Path) -> list[Path]:
    packages = [path for path in folder.iterdir() if (path / "__init__.py").is_file() and not _hidden(path)]
    files = [path for path in _files(folder) if path.suffix == ".py"]
    return sorted([*packages, *files], key=lambda path: (path.stem, path.name))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and not _hidden(path))


def _hidden(path: Path) -> bool:
    return path.name.startswith(("_", "."))
