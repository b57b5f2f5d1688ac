"""Errors: one tree, stable codes, messages that say where."""

from __future__ import annotations

import inspect

import pytest

from plugin_host import errors
from plugin_host.errors import (
    ActionFailedError,
    CallError,
    ConfigError,
    HostError,
    InvalidArgumentsError,
    ModelError,
    PermissionDeniedError,
    PluginError,
    Problem,
    ServiceMissingError,
    UnknownNameError,
)

TREE = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)}


def test_every_error_is_a_host_error_and_stands_in_the_tree_of_the_docstring() -> None:
    assert all(issubclass(kind, HostError) for kind in TREE.values())
    assert errors.__doc__ is not None
    assert [name for name in TREE if name not in errors.__doc__] == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (CallError, "call_refused"),
        (UnknownNameError, "unknown_name"),
        (InvalidArgumentsError, "invalid_arguments"),
        (PermissionDeniedError, "permission_denied"),
        (ServiceMissingError, "service_missing"),
    ],
)
def test_codes_are_stable_and_can_be_set_for_one_error(kind: type[CallError], code: str) -> None:
    assert (str(kind("不行")), kind("不行").code) == ("不行", code)
    assert kind("不行", code="own").code == "own"
    assert kind.code == code


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("send.timeout", "应为数字", 4), "send.timeout（第 4 行）：应为数字"),
        (Problem("", "不是 YAML"), "（文件）（行号未知）：不是 YAML"),
    ],
)
def test_a_problem_names_key_and_line(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_a_configuration_lists_every_mistake() -> None:
    error = ConfigError("config.yaml", (Problem("a", "x", 1), Problem("b", "y", 2)))
    assert str(error) == "config.yaml 有 2 处错误：\na（第 1 行）：x\nb（第 2 行）：y"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"file": "luck.py", "line": 3}, "luck: broken (luck.py:3)"),
        ({"file": "luck.py"}, "luck: broken (luck.py)"),
        ({}, "luck: broken"),
    ],
)
def test_a_plugin_error_says_where(place: dict, text: str) -> None:
    error = PluginError("luck", "broken", **place)
    assert (str(error), error.message, error.plugin) == (text, "broken", "luck")


def test_failures_of_peers_carry_their_numbers() -> None:
    action = ActionFailedError("get_group_info", 1404, "")
    assert (str(action), action.retcode) == ("get_group_info: retcode 1404", 1404)
    model = ModelError("rate_limit", "slow down", model="m", retry_after=3)
    assert (str(model), model.kind, model.model, model.retry_after) == ("slow down", "rate_limit", "m", 3)
