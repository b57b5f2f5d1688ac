"""Long results: the head stays with a mark that names the original; the whole text is kept."""

from __future__ import annotations

import secrets
from dataclasses import replace

from plugin_host.calls import Part, ToolResult


def shortened(result: ToolResult, limit: int) -> tuple[ToolResult, str | None]:
    """(the result with at most ``limit`` characters, the original to keep or None); ``limit`` 0 = off."""
    text = result.text
    if not limit or len(text) <= limit:
        return result, None
    raw_id = f"raw:{secrets.token_hex(6)}"
    mark = f"\n[工具原文过长: 共 {len(text)} 字，只显示前 {limit} 字；原文编号 {raw_id}]"
    return replace(result, content=(Part("text", text[:limit] + mark),), truncated=True, raw_id=raw_id), text
