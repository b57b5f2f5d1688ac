"""Tasks that run plugin code: none of them ends the event loop, and what they raise can be told apart and told."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, cast

from loguru import logger

from plugin_host.errors import HostError

OwnerOf = Callable[[str], str | None]
Refused = Callable[[BaseException], BaseException]
HOST = str(Path(__file__).parents[1]) + os.sep


class Contained(Coroutine[Any, Any, Any]):
    """A coroutine whose SystemExit or KeyboardInterrupt becomes ``refused(error)``: out of a task it ends the loop.

    No ``async def`` around it: a task that is cancelled before its first step would leave that one never awaited.
    """

    def __init__(self, inner: Coroutine[Any, Any, Any], refused: Refused) -> None:
        self._inner = inner
        self._refused = refused

    def send(self, value: Any) -> Any:
        """As of any coroutine."""
        try:
            return self._inner.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            self._refuse(error)

    def throw(self, kind: Any, value: Any = None, trace: TracebackType | None = None) -> Any:
        """As of any coroutine."""
        try:
            return self._inner.throw(kind if value is None else value)
        except (SystemExit, KeyboardInterrupt) as error:
            self._refuse(error)

    def _refuse(self, error: BaseException) -> NoReturn:
        instead = self._refused(error)
        if instead is error:
            raise error
        raise instead from error

    def close(self) -> None:
        """As of any coroutine."""
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        """As of any coroutine."""
        return self

    def __iter__(self) -> Contained:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def __getattr__(self, name: str) -> Any:
        # cr_code, cr_frame, cr_await: whoever asks a task where it waits means the coroutine inside.
        return getattr(self._inner, name)


def contained(coroutine: Coroutine[Any, Any, Any]) -> Contained:
    """A plugin's coroutine for a task of which the host tells the failure."""
    return Contained(coroutine, refused)


def refused(error: BaseException) -> HostError:
    """What the host raises instead of an exception that would end the program."""
    return HostError(f"tried to end the program ({said(error)})")


def said(error: BaseException) -> str:
    """The type and text of an exception; an exception of a plugin may raise anything when asked for its text."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return type(error).__name__


def log_failure(error: BaseException | None, message: str, *values: object) -> None:
    """Log an error with the traceback of a plugin's exception; without it when that cannot be written out."""
    try:
        logger.opt(exception=cast(Any, error), depth=1).error(message, *values)
    except BaseException as another:  # a sink that writes values out asks them for their text
        logger.opt(depth=1).error(message + " (no traceback: {})", *values, said(another))


def ended_by_host(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """True when ``error``, caught in ``task``, is the host's: its cancellation, or the closing of what it runs."""
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    # A coroutine is closed from outside its task; a GeneratorExit that comes while the task runs was raised by hand.
    return isinstance(error, GeneratorExit) and _running_task() is not task


def contain_tasks(loop: asyncio.AbstractEventLoop, owner_of: OwnerOf) -> None:
    """From now on a task that a plugin spawns cannot end the loop: it fails with a HostError that names the plugin.

    ``owner_of(file)`` names the plugin of a source file. Tasks of the host's own coroutines stay as they are.
    """
    known: dict[str, str] = {}  # A plugin that was dropped may have tasks that spawn tasks.

    def owner(file: str) -> str | None:
        found = known.get(file) or owner_of(file)
        if found is not None:
            known[file] = found
        return found

    def told(error: BaseException) -> BaseException:
        files = [frame.filename for frame in reversed(traceback.extract_tb(error.__traceback__))]
        plugin = next((found for file in files if (found := owner(file)) is not None), None)
        if plugin is None:
            return error
        log_failure(error, "plugin {} tried to end the program ({}) in a task", plugin, said(error))
        return HostError(f"plugin {plugin} tried to end the program in a task ({said(error)})")

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        code = None if isinstance(coroutine, Contained) else getattr(coroutine, "cr_code", None)
        if code is not None and not code.co_filename.startswith(HOST):
            owner(code.co_filename)
            coroutine = Contained(coroutine, told)
        return asyncio.Task(coroutine, loop=loop, **options)

    loop.set_task_factory(make)


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
