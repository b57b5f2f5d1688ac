"""``python -m bridge``: the bridge alone, as a relay between protocol ends and cores."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from loguru import logger

from bridge.bridge import Bridge
from plugin_host.config import Settings, load_config, load_home
from plugin_host.errors import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until Ctrl-C or SIGTERM; returns the exit code (1: the configuration or the address is wrong)."""
    options = _options(arguments)
    try:
        settings = load_config(options.config) if options.config else load_home(options.home)
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(settings))
    except (ConfigError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


async def serve(settings: Settings) -> None:
    """Run the bridge until the process is told to stop."""
    logger.remove()
    logger.add(sys.stderr, level=settings.log.level)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has none; there Ctrl-C arrives as KeyboardInterrupt
            loop.add_signal_handler(name, stopping.set)
    bridge = Bridge(settings.bridge, settings.bot)
    await bridge.start()
    try:
        await stopping.wait()
    finally:
        await bridge.stop()
        logger.info("bridge stopped")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bridge", description="OneBot 11 网桥（不带插件宿主）")
    parser.add_argument("-c", "--config", type=Path, help="配置文件；默认是主目录里的 config.yaml（没有就用默认值）")
    parser.add_argument("--home", type=Path, default=Path(), help="主目录；默认是当前目录")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
