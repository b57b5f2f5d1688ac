"""Tables: what ``check`` and ``tools`` show a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from plugin_host.checkup import Finding

HEADS = {
    "zh": ("", "项目", "名称", "说明", "怎么办", "位置"),
    "en": ("", "what", "name", "message", "fix", "where"),
}
SUMMARY = {"zh": "{n} 项有问题", "en": "{n} item(s) failed"}
ALL_WELL = {"zh": "全部正常", "en": "everything is fine"}


def findings_table(findings: Sequence[Finding], language: str) -> None:
    """Print what a checkup found."""
    table = Table(*HEADS[language], show_lines=False)
    for finding in findings:
        where = f"{finding.file}:{finding.line}" if finding.line else "" if finding.ok else finding.file
        table.add_row("✔" if finding.ok else "✘", finding.what, finding.name, finding.message, finding.fix, where)
    console = Console()
    console.print(table)
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
    Console().print(table)
