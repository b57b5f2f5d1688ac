"""Logs: a file in the home for everything, the terminal for what its reader needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from plugin_host.config.settings import LogSettings
    from plugin_host.home import HostDoor

FILE_FORMAT = "{time:YYYY-MM-DDTHH:mm:ss.SSSZ} {level} {name} {message}"


def set_up_logs(data: Path | None, settings: LogSettings | None, door: HostDoor) -> None:
    """Send logs to ``data/logs`` (tracebacks without variables) and to stderr; a chat shows errors only, in short."""
    logger.remove()
    if door == "run" and settings is not None:
        logger.add(sys.stderr, level=settings.level, diagnose=False)
    else:
        logger.add(_one_line, level="ERROR", format="{level}: {message}", backtrace=False, diagnose=False)
    if data is not None and settings is not None and settings.keep:
        logger.add(
            data / "logs" / "{time:YYYY-MM-DD}.log",
            level=settings.level,
            format=FILE_FORMAT,
            retention=f"{settings.keep} days",
            rotation="00:00",
            encoding="utf-8",
            diagnose=False,
        )


def _one_line(message: str) -> None:
    sys.stderr.write(message.splitlines()[0] + "\n")
