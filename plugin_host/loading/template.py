"""The template of a new plugin: a working file whose command word is its name."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from pathlib import Path

from plugin_host import hookspecs
from plugin_host.errors import PluginError
from plugin_host.loading.catalogue import RESERVED

NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]{0,31}$")

TEMPLATE = '''"""{name}：用一句话写下这个插件做什么。"""

from plugin_host import CallContext, hookimpl


def {name}(ctx: CallContext, text: str = "") -> str:
    """把一句话说回来。这一段是模型和人看到的说明。"""
    return f"{{ctx.name or '你'}}说：{{text or '（什么也没说）'}}"


@hookimpl
def register_commands(register):
    register({name}, words=("{name}",))


@hookimpl
def register_tools(register):
    register({name}, read_only=True)
'''


def new_plugin(folder: Path, name: str, *, taken: Collection[str] = ()) -> Path:
    """Write the template as ``folder/NAME.py`` and return its path; the folder is made when it is missing.

    ``taken`` are names that other plugins, tools or command words have. Raises PluginError with a Chinese sentence for
    a name that cannot be used and for a file that exists.
    """
    reserved = {*RESERVED, "hookimpl", "CallContext", *(hook for hook in vars(hookspecs) if not hook.startswith("_"))}
    if not NAME.match(name) or keyword.iskeyword(name) or keyword.issoftkeyword(name) or name in reserved:
        raise PluginError(name, "插件名应为 1–32 个字母、数字或下划线，以字母开头，不是 Python 或插件接口的保留字")
    if name.casefold() in {word.casefold() for word in taken}:
        raise PluginError(name, "这个名字已被别的插件、工具或指令词占用，换一个")
    path = folder / f"{name}.py"
    if (folder / name).exists():
        raise PluginError(name, "已有同名的文件夹，没有改动它", file=str(folder / name))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(name=name))
    except FileExistsError:
        raise PluginError(name, "文件已存在，没有改动它", file=str(path)) from None
    return path
