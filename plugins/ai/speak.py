"""``.ai allow|disallow|on|off|stop|status``: the faces of the service ``speaking``."""

from __future__ import annotations

from plugin_host import CallContext

CONSENT = "开启后，本群发给我的消息会发送给所配置的模型服务，并保存最近的对话用于上下文。"


async def allow(ctx: CallContext, words: list[str]) -> str:
    """准许本会话使用 AI（骰主）"""
    turned = ctx.service("speaking").allow(ctx)
    return "已准许本会话使用 AI；管理员可用 .ai on 开启" if turned.changed else "本会话已经获准使用 AI"


async def disallow(ctx: CallContext, words: list[str]) -> str:
    """收回准许（骰主）"""
    turned = ctx.service("speaking").disallow(ctx)
    return "已禁止本会话使用 AI" if turned.changed else "本会话本来就没有获准使用 AI"


async def turn_on(ctx: CallContext, words: list[str]) -> str:
    """让 AI 在这里回答 @ 和叫名字（管理员）"""
    turned = ctx.service("speaking").turn_on(ctx)
    return f"AI 已开启：@我或叫我的名字就会回答。{CONSENT}" if turned.changed else "AI 本来就是开着的"


async def turn_off(ctx: CallContext, words: list[str]) -> str:
    """让 AI 在这里安静（管理员）"""
    turned = ctx.service("speaking").turn_off(ctx)
    return "AI 已关闭" if turned.changed else "AI 本来就是关着的"


async def stop(ctx: CallContext, words: list[str]) -> str:
    """停止正在进行的回答"""
    return "已停止" if ctx.service("speaking").stop(ctx) else "当前没有正在进行的对话"


async def status(ctx: CallContext, words: list[str]) -> str:
    """本会话的状态"""
    seen = ctx.service("speaking").status(ctx)
    standing = seen.standing
    lines = [
        f"会话：{seen.session}",
        f"准许使用 AI：{'是' if standing.level > 0 else '否（骰主发送 .ai allow）'}",
        f"AI：{'开' if standing.ai else '关'}　指令：{'开' if standing.bot else '关'}",
        f"正在回答：{'是' if seen.turn_running else '否'}　排队消息：{seen.waiting}",
        f"待发送：{seen.unsent}　结果不明：{seen.unknown}　发送失败：{seen.failed}",
    ]
    for model in seen.models:
        lines.append(f"模型：{model.name}（{model.mode}）" + (f" 最近错误：{model.error}" if model.error else ""))
    if not seen.models:
        lines.append("模型：没有配置")
    return "\n".join(lines)
