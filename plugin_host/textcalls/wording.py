"""How tools are described to a model that cannot be given schemas: instructions and list for the system text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from plugin_host.conversation import ToolSpec

HEAD = """## 工具
你可以调用下面的工具。要调用时，先写给用户看的话（可以不写），再写一个代码块，然后停下，等结果：
```function
[{"name": "工具名", "arguments": {"参数名": "值"}}]
```
- 代码块的标记必须是 function，里面是一个 JSON 数组，每个元素是一次调用；arguments 是 JSON 对象，没有参数就写 {}。
- 结果会以【工具返回:工具名】开头的消息给你。看到结果以前不要编造结果。
- 不需要工具时直接回答，不要写这种代码块。"""


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """The Chinese instructions and one entry per tool; an empty text when there are no tools."""
    if not tools:
        return ""
    return "\n\n".join([HEAD, *(_entry(tool) for tool in tools)])


def describes(text: str, name: str) -> bool:
    """Whether a system text holds the entry that ``describe_tools`` wrote for this tool."""
    return f"\n{_title(name)}\n" in text


def _title(name: str) -> str:
    return f"### {name}"


def _entry(tool: ToolSpec) -> str:
    schema = json.dumps(tool.input_schema, ensure_ascii=False, separators=(", ", ": "))
    return f"{_title(tool.name)}\n{tool.description.strip()}\n参数（JSON Schema）：{schema}"
