"""Tool: one callable with a name, a description and a JSON Schema; and how a plain function becomes one."""

from __future__ import annotations

import inspect
import re
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, PydanticUserError, create_model

from plugin_host.context import CallContext
from plugin_host.errors import HostError
from plugin_host.schema import Schema

SourceKind = Literal["builtin", "plugin", "mcp", "http", "skill", "knowledge", "script"]
Approval = Literal["never", "ask", "deny"]
SessionTypes = Literal["any", "group", "private"]

NAME_PATTERN = re.compile(r"\A[A-Za-z0-9_.-]{1,128}\Z")
ALIAS_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Source:
    """Where a tool or command comes from; ``id`` is the plugin's or server's name."""

    kind: SourceKind
    id: str


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a tool does to the world; every flag is False unless said."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    random: bool = False
    open_world: bool = False
    sensitive: bool = False
    core: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of the flags that are set, in declaration order."""
        return tuple(name for name in self.__slots__ if getattr(self, name))


@dataclass(frozen=True, slots=True)
class Budget:
    """How often a tool may be called; None = no limit of its own."""

    per_turn: int | None = None
    per_minute: int | None = None


@dataclass(frozen=True)
class Tool:
    """One tool as registered. Immutable; a variant is a copy.

    ``outside``: the call has an effect outside its own unit of work (network, core, files), so that its start is
    committed before it runs. ``session_types`` and ``platforms`` (empty = all) say where it exists. ``follow_up``
    False: after a round of nothing but such calls the turn ends, the model is not asked again.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    function: Callable[..., Any]
    source: Source
    title: str = ""
    group: str = "other"
    annotations: Annotations = Annotations()
    session_types: SessionTypes = "any"
    platforms: frozenset[str] = frozenset()
    privilege: int = 0
    default_on: bool = True
    approval: Approval = "never"
    timeout: float | None = None
    budget: Budget = Budget()
    follow_up: bool = True
    requires: frozenset[str] = frozenset()
    outside: bool = True
    arguments_model: type[BaseModel] | None = None
    context_parameter: str | None = None
    output_schema: Mapping[str, Any] | None = field(default=None)

    @property
    def alias(self) -> str:
        """The provider-safe name: letters, digits, ``_`` and ``-``, at most 64 characters."""
        return provider_alias(self.name)

    @cached_property
    def schema(self) -> Schema:
        """The compiled input schema."""
        return Schema(self.input_schema)


def provider_alias(name: str) -> str:
    """Derive the provider-safe alias of a tool name (``.`` becomes ``__``); collisions are the registry's to refuse."""
    return name.replace(".", "__")[:ALIAS_LIMIT]


def tool_from_function(
    function: Callable[..., Any], *, source: Source, name: str | None = None, **options: Any
) -> Tool:
    """Make a Tool of a typed function: name, docstring and annotations give name, description and schema.

    A parameter annotated ``CallContext`` is injected and is not part of the schema. Flags of ``Annotations`` and fields
    of ``Tool`` are accepted as keyword options. Raises HostError with one sentence when the function cannot be a tool.
    """
    tool_name = str(name or getattr(function, "__name__", ""))
    if not NAME_PATTERN.match(tool_name):
        raise HostError(f"tool name {tool_name!r} must match {NAME_PATTERN.pattern}")
    context_parameter, model = arguments_of(function, tool_name)
    description = options.pop("description", None) or inspect.cleandoc(function.__doc__ or "")
    if not description:
        raise HostError(f"tool {tool_name!r} needs a docstring: it is what the model reads")
    given = options.pop("input_schema", None)
    schema = Schema.checked(given, tool_name) if given else _json_schema(model)
    flags = {flag: options.pop(flag) for flag in Annotations.__slots__ if flag in options}
    unknown = set(options) - set(Tool.__dataclass_fields__)
    if unknown:
        raise HostError(f"tool {tool_name!r}: unknown option(s) {', '.join(sorted(unknown))}")
    options.setdefault("outside", not (flags.get("read_only") or flags.get("random")))
    return Tool(
        name=tool_name,
        description=description,
        input_schema=schema,
        function=function,
        source=source,
        annotations=Annotations(**flags),
        arguments_model=model,
        context_parameter=context_parameter,
        **options,
    )


def arguments_of(function: Callable[..., Any], name: str) -> tuple[str | None, type[BaseModel]]:
    """Return (name of the context parameter, model of the others); raises HostError for an unusable signature."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise HostError(f"tool {name!r}: annotations cannot be resolved: {error}") from error
    context_parameter: str | None = None
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise HostError(f"tool {name!r}: parameter {parameter.name!r} must be a plain named parameter")
        hint = hints.get(parameter.name)
        if hint is CallContext:
            context_parameter = parameter.name
        elif hint is None or parameter.name.startswith("_"):
            raise HostError(f"tool {name!r}: parameter {parameter.name!r} needs a type annotation and no leading '_'")
        else:
            fields[parameter.name] = (hint, _default(parameter))
    return context_parameter, _model(name, fields)


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        with warnings.catch_warnings():
            # A parameter called ``copy`` or ``schema`` is fine: the model serves as a schema and a parser only.
            warnings.simplefilter("ignore", UserWarning)
            model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
            model.model_json_schema()
    except (PydanticUserError, NameError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise HostError(f"tool {name!r}: its parameters make no schema: {reason}") from error
    return model


def _default(parameter: inspect.Parameter) -> Any:
    return ... if parameter.default is inspect.Parameter.empty else parameter.default


def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    schema.pop("title", None)
    for property_schema in schema.get("properties", {}).values():
        property_schema.pop("title", None)
    return schema
