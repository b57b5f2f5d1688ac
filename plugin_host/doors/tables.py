"""Tables: what ``check`` and ``tools`` show a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from plugin_host.doors.checkup import Finding

HEADS = {
    "zh": ("", "项目", "名称", "说明"),
    "en": ("", "what", "name", "message"),
}
SUMMARY = {"zh": "{n} 项有问题", "en": "{n} item(s) failed"}
ALL_WELL = {"zh": "全部正常", "en": "everything is fine"}


def findings_table(findings: Sequence[Finding], language: str) -> None:
    """Print what a checkup found."""
    table = Table(*HEADS[language])
    for finding in findings:
        table.add_row("✔" if finding.ok else "✘", finding.what, finding.name, finding.message)
    console = _console()
    console.print(table)
    for finding in findings:
        # Below the table and unwrapped: a path that is cut off helps nobody.
        if finding.fix or not finding.ok:
            where = f"{finding.file}:{finding.line}" if finding.line else finding.file
            console.print(f"{finding.name}: {where} {finding.message}", soft_wrap=True)
            if finding.fix:
                console.print(f"  → {finding.fix}", soft_wrap=True)
    failed = sum(not finding.ok for finding in findings)
    console.print(SUMMARY[language].format(n=failed) if failed else ALL_WELL[language])


def tools_table(tools: Sequence[dict[str, Any]]) -> None:
    """Print the registered tools."""
    table = Table("名称", "组", "来源", "默认", "权限", "标记")
    for tool in tools:
        source = f"{tool['source']['kind']}:{tool['source']['id']}"
        flags = " ".join(tool["flags"])
        table.add_row(
            tool["name"], tool["group"], source, "开" if tool["default_on"] else "关", str(tool["privilege"]), flags
        )
    _console().print(table)


def _console() -> Console:
    """What plugins and people write is text: ``list[str]`` is no markup and ``:x:`` no picture."""
    return Console(markup=False, emoji=False, highlight=False)
