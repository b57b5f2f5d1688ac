"""``docs/configuration.md`` and ``config.yaml`` from the settings models: written, or checked for staleness.

``python -m plugin_host.config.reference [--check] [--root DIR]``: without ``--check`` writes both below DIR (default:
the working directory); with it changes nothing and exits 1 when a file differs from what would be written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from plugin_host.config.fields import FieldAt, every_field
from plugin_host.config.kinds import type_words, yaml_default
from plugin_host.config.sample import sample
from plugin_host.config.settings import Settings

HEAD = """\
# 设置（config.yaml）

<!-- 由 `python -m plugin_host.config.reference` 从设置模型生成，请不要手改。
     Generated from the settings models; do not edit. -->

`config.yaml` 放在机器人的文件夹（home）里；没有这个文件就全用默认值。仓库里的 `config.yaml` 写出了每一个键。

* 不认识的键、重复的键、类型不对的值都会被拒绝；一次列出全部错误，每条带键的路径和行号（`plugin-host check`）。
* 键后面什么都不写 = 默认值。QQ 号可以不加引号。
* 任何字符串里的 `"${NAME}"` 在读取时换成环境变量 `NAME` 的值（没有这个变量是错误）；要原样的 `${` 写 `$${`。
  在 `{}` 或 `[]` 里必须加引号。
* 文件是 UTF-8（可以带 BOM），最大 1 MiB。

`[]` 表示列表里的每一项。
"""
TABLE = ("| 键 | 类型 | 默认 | 含义 |", "| --- | --- | --- | --- |")
PLUGIN_ROW = "| `plugins.插件名` | 映射 | 无 | 这个插件自己的设置，由它自己检查 |"


def reference() -> str:
    """The whole text of docs/configuration.md."""
    return HEAD + "\n".join(_tables()) + "\n"


def _tables() -> Iterator[str]:
    fields = list(every_field(Settings))
    top = [field for field in fields if "." not in field.path]
    yield from ("", "## 最外层", "", *TABLE)
    yield from (_row(field) for field in top if field.section is None)
    for section in top:
        if section.section is not None:
            yield from ("", f"## {section.path}：{section.info.description}", "", *TABLE)
            yield from (_row(field) for field in fields if field.path.startswith(section.path + "."))
            yield from [PLUGIN_ROW] if section.path == "plugins" else []


def _row(field: FieldAt) -> str:
    if field.section is not None:
        kind, default = ("列表，每项：映射", "`[]`") if field.repeated else ("映射", "见下")
    else:
        kind = type_words(field.info)
        default = "必填" if field.info.is_required() else f"`{yaml_default(field.info)}`"
    cells = (f"`{field.path}`", kind, default, field.info.description or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check both files; 0 when they are as they should be."""
    parser = argparse.ArgumentParser(prog="python -m plugin_host.config.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is stale")
    parser.add_argument("--root", type=Path, default=Path(), help="the folder of config.yaml and docs/")
    options = parser.parse_args(arguments)
    texts = {options.root / "docs" / "configuration.md": reference(), options.root / "config.yaml": sample()}
    stale = [path for path, text in texts.items() if not _same(path, text)]
    for path in stale:
        if options.check:
            sys.stderr.write(f"{path} is stale: run python -m plugin_host.config.reference\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], encoding="utf-8", newline="\n")
            sys.stdout.write(f"wrote {path}\n")
    return 1 if options.check and stale else 0


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n") == text


if __name__ == "__main__":
    sys.exit(main())
