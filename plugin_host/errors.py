"""Every exception that plugin_host or the bridge raises on purpose.

HostError
├── ConfigError            the configuration is wrong; start stops (carries every problem of the file)
├── StoreError             the store could not be opened or written
│   └── UnitOverrunError   a unit held the writer thread past its limit and was rolled back
├── HomeBusyError          another process uses this home
├── PluginError            names the plugin; that plugin is skipped
├── CallError              a tool or command says no; the sentence is shown           (public)
│   ├── UnknownNameError
│   ├── InvalidArgumentsError
│   ├── PermissionDeniedError
│   └── ServiceMissingError
├── ModelError             a model endpoint failed (class in ``kind``)
└── BridgeError            the protocol end refused or vanished
    ├── ActionFailedError  the protocol end answered an action with a failure
    └── OutcomeUnknownError  an action was written, its outcome is not known
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class HostError(Exception):
    """Root of every deliberate error."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file: ``path`` is a dotted key path, ``line`` is 1-based or None when unknown."""

    path: str
    message: str
    line: int | None = None
    file: str = ""

    def __str__(self) -> str:
        where = f"第 {self.line} 行" if self.line else "行号未知"
        return f"{self.path or '（文件）'}（{where}）：{self.message}"


class ConfigError(HostError):
    """The configuration file is wrong; ``problems`` lists every mistake found."""

    def __init__(self, file: str, problems: tuple[Problem, ...]) -> None:
        self.file = file
        self.problems = problems
        super().__init__(f"{file} 有 {len(problems)} 处错误：\n" + "\n".join(str(problem) for problem in problems))


class StoreError(HostError):
    """The store could not be opened, migrated or written."""


class UnitOverrunError(StoreError):
    """A unit of work held the writer thread past its limit; its savepoint was rolled back."""


class HomeBusyError(HostError):
    """Another process holds the lock of this home; the message says which door."""


class PluginError(HostError):
    """A plugin could not be loaded or changed: ``plugin``, ``file`` and ``line`` say where."""

    def __init__(self, plugin: str, message: str, *, file: str = "", line: int | None = None) -> None:
        self.plugin = plugin
        self.file = file
        self.line = line
        self.message = message
        where = f"{file}:{line}" if file and line else file
        super().__init__(f"{plugin}: {message}" + (f" ({where})" if where else ""))


class CallError(HostError):
    """A tool or command says no: the sentence is shown to the person and to the model. ``code`` is stable."""

    code = "call_refused"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UnknownNameError(CallError):
    """Nothing is registered under that name."""

    code = "unknown_name"


class InvalidArgumentsError(CallError):
    """Arguments do not fit the schema; the message names path, expected and got."""

    code = "invalid_arguments"


class PermissionDeniedError(CallError):
    """The asking person may not do that."""

    code = "permission_denied"


class ServiceMissingError(CallError):
    """No plugin offers the named service."""

    code = "service_missing"


ModelErrorKind = Literal[
    "balance",
    "context_length",
    "rate_limit",
    "overload",
    "auth",
    "permission",
    "content",
    "parameter",
    "server",
    "network",
    "timeout",
    "missing_id",
    "unconfigured",
    "tools_unsupported",
    "unknown",
]


class ModelError(HostError):
    """A model endpoint failed. ``kind`` is its class, ``retry_after`` seconds when the endpoint said so."""

    def __init__(
        self, kind: ModelErrorKind, message: str, *, model: str = "", retry_after: float | None = None
    ) -> None:
        self.kind: ModelErrorKind = kind
        self.model = model
        self.retry_after = retry_after
        super().__init__(message)


class BridgeError(HostError):
    """The protocol end or a core refused or vanished."""


class ActionFailedError(BridgeError):
    """The protocol end answered ``status: failed``; ``retcode`` is its number."""

    def __init__(self, action: str, retcode: int, message: str) -> None:
        self.action = action
        self.retcode = retcode
        super().__init__(f"{action}: retcode {retcode} {message}".rstrip())


class OutcomeUnknownError(BridgeError):
    """An action was written and never answered; it may or may not have happened."""
