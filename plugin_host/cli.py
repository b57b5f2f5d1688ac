"""The command line: each sub-command is a face of one plain function; the only importer of the bridge."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from plugin_host.config import Settings, load_config, load_home
from plugin_host.doors.logs import set_up_logs
from plugin_host.errors import ConfigError, HomeBusyError, HostError
from plugin_host.home import Home, HostDoor

LAST_WAIT = 0.5

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="跑团机器人的插件宿主：plugin-host chat 在终端试用，plugin-host run 接入 QQ。",
)

HomeOption = Annotated[
    Path | None, typer.Option("--home", help="机器人的目录（默认：config.yaml 所在目录，或当前目录）")
]
ConfigOption = Annotated[Path | None, typer.Option("-c", "--config", help="配置文件")]
SessionOption = Annotated[str, typer.Option("--session", help="会话，如 group:100 或 private:1001")]
UserOption = Annotated[str, typer.Option("--user", help="说话人的号码")]
RoleOption = Annotated[Literal["member", "admin", "owner"], typer.Option("--role", help="说话人在群里的身份")]
MasterOption = Annotated[bool, typer.Option("--master", help="说话人是骰主")]
JsonOption = Annotated[bool, typer.Option("--json", help="每行输出一个 JSON")]


def main() -> None:
    """Entry point of ``plugin-host``; a known error is one line on stderr and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except HostError as error:
        typer.echo(str(error), err=True)
        raise SystemExit(1) from None


@app.command()
def run(config: ConfigOption = None, home: HomeOption = None) -> None:
    """运行：桥接 + 宿主，Ctrl-C 停止。"""
    from bridge.bridge import Bridge  # only this command needs the bridge and its server
    from plugin_host.doors.serve import serve

    folder, settings = _load(config, home, makes=True)
    with _locked(Home(folder, settings), "run") as place:
        set_up_logs(place.data, settings.log, "run")
        asyncio.run(_to_the_end(serve(place, settings, Bridge, config or folder / "config.yaml")))


@app.command()
def chat(
    session: SessionOption = "group:100",
    user: UserOption = "1001",
    role: RoleOption = "member",
    master: MasterOption = False,
    config: ConfigOption = None,
    home: HomeOption = None,
) -> None:
    """终端聊天：不需要账号、密钥和服务器。"""
    from plugin_host.doors import terminal

    speaker = terminal.Speaker(session, user, role)
    typer.echo(terminal.WELCOME)
    door = terminal.Terminal(typer.echo)
    _talk("chat", config, home, user if master else None, door, lambda host: terminal.chat(host, door, speaker))


@app.command()
def say(
    texts: Annotated[list[str], typer.Argument(help="每个参数是一条消息")],
    session: SessionOption = "group:100",
    user: UserOption = "1001",
    role: RoleOption = "member",
    master: MasterOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    home: HomeOption = None,
) -> None:
    """发送一条或多条消息，打印回复后退出。"""
    from plugin_host.doors import terminal

    speaker = terminal.Speaker(session, user, role)
    terminal.refuse_empty(texts)
    door = terminal.Terminal(typer.echo, as_json=as_json)
    _talk("say", config, home, user if master else None, door, lambda host: terminal.say(host, door, speaker, texts))


@app.command()
def check(config: ConfigOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """检查配置和插件；有问题时退出码为 1。"""
    from plugin_host.doors.checkup import check as check_home
    from plugin_host.doors.tables import findings_table

    folder = _folder(config, home)
    set_up_logs(None, None, "say")
    findings = check_home(folder)
    if as_json:
        typer.echo(json.dumps([finding.as_dict() for finding in findings], ensure_ascii=False))
    else:
        findings_table(findings, _language(folder))
    raise SystemExit(0 if all(finding.ok for finding in findings) else 1)


@app.command()
def tools(config: ConfigOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """列出所有已注册的工具。"""
    from plugin_host.doors.inventory import inventory
    from plugin_host.doors.tables import tools_table

    folder, settings = _load(config, home)
    found = inventory(Home(folder, settings), settings)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        tools_table(found)


@app.command("new-plugin")
def new_plugin(name: str, config: ConfigOption = None, home: HomeOption = None) -> None:
    """在 plugins/ 里写一个可以直接用的插件模板。"""
    from plugin_host.doors.inventory import taken_names
    from plugin_host.loading.template import new_plugin as write_template

    folder, settings = _load(config, home, makes=True)
    place = Home(folder, settings)
    try:
        path = write_template(place.plugins, name, taken=taken_names(place, settings))
    except OSError as error:
        reason = error.strerror or error
        raise HostError(f"不能写到 {place.plugins}（{reason}）；请检查 --home 和 paths.plugins") from error
    typer.echo(f"已写好 {path}，保存即生效；用 .{name} 试试。")


@app.command()
def journal(
    session: Annotated[str | None, typer.Option("--session", help="只看一个会话")] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="最多几行（0 = 全部）")] = 50,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    home: HomeOption = None,
) -> None:
    """审计记录：谁在什么时候调用了什么，结果如何。"""
    from plugin_host.doors.inventory import journal_lines

    folder, settings = _load(config, home)
    for line in journal_lines(Home(folder, settings), session, limit):
        if as_json:
            typer.echo(json.dumps(line, ensure_ascii=False))
        else:
            named = " ".join(filter(None, (line["type"], line["name"])))
            typer.echo(f"{line['time']} {line['session']} {named} {json.dumps(line['payload'], ensure_ascii=False)}")


def _talk(
    door: HostDoor, config: Path | None, home: Path | None, master: str | None, channel: Any, work: Callable[[Any], Any]
) -> None:
    from plugin_host.host import Host
    from plugin_host.models import DemoModel, ModelChain, build_chain

    folder, settings = _load(config, home, makes=True)
    if master:
        settings = settings.model_copy(update={"masters": (*settings.masters, master)})
    with _locked(Home(folder, settings), door) as place:
        set_up_logs(place.data, settings.log, door)
        demo = (DemoModel(), settings.models.tools.get("demo", "auto"))
        models = build_chain(settings.models) or ModelChain([demo])
        host = Host(place, settings, models=models)
        asyncio.run(_to_the_end(_with_host(host, channel, work, reloads=door == "chat")))


async def _with_host(host: Any, channel: Any, work: Callable[[Any], Any], *, reloads: bool) -> None:
    host.open_door(channel)  # before the start: what plugins post while they start is for this terminal
    await host.start(recovers=False, reloads=reloads)
    try:
        await work(host)
    finally:
        await host.stop()


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, and leave behind what a plugin started and cannot be cancelled: ``asyncio.run`` would wait."""
    try:
        await work
    finally:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            for task in (await asyncio.wait(rest, timeout=LAST_WAIT))[1]:
                asyncio.tasks._unregister_task(task)
                task._log_destroy_pending = False  # type: ignore[attr-defined]


def _load(config: Path | None, home: Path | None, *, makes: bool = False) -> tuple[Path, Settings]:
    folder = _folder(config, home, makes=makes)
    try:
        return folder, load_config(config) if config else load_home(folder)
    except OSError as error:
        raise HostError(f"不能读 {folder}（{error.strerror or error}）；请检查 --home") from error


def _folder(config: Path | None, home: Path | None, *, makes: bool = False) -> Path:
    """The home; ``makes``: it may be missing when its parent is there. Raises HostError in words."""
    folder = home or (config.parent if config else Path.cwd())
    if os.path.isdir(folder) or (config and not home):  # of a config file that is missing, the file is told
        return folder
    if os.path.lexists(folder):
        raise HostError(f"{folder} 不是目录；请检查 --home")
    if not makes:
        raise HostError(f"目录 {folder} 不存在；请检查 --home")
    if not os.path.isdir(folder.parent):
        raise HostError(f"目录 {folder} 不存在，它的上级目录也不存在；请检查 --home")
    return folder


def _language(folder: Path) -> str:
    try:
        return load_home(folder).language
    except ConfigError:
        return "zh"


class _locked:  # noqa: N801 - a context manager that reads as a word
    """The home's lock for as long as a command uses it."""

    def __init__(self, home: Home, door: HostDoor) -> None:
        self._home = home
        self._door: HostDoor = door

    def __enter__(self) -> Home:
        self._home.acquire(self._door)
        return self._home

    def __exit__(self, *_: object) -> None:
        self._home.release()


__all__ = ["HomeBusyError", "app", "main"]
