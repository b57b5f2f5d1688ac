"""config.yaml and docs/configuration.md: complete, true to the models, and checked for staleness."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, SecretStr

from plugin_host.config import Settings, load_config
from plugin_host.config.document import parse
from plugin_host.config.fields import every_field
from plugin_host.config.kinds import type_words, yaml_value
from plugin_host.config.load import settings_of
from plugin_host.config.reference import main, reference
from plugin_host.config.sample import sample

ROOT = Path(__file__).parents[3]
EXAMPLE = re.compile(r"^(\s*)#(?=[^\s#]|  )")


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, tuple | frozenset):
        return [plain(item) for item in value]
    return value


def with_examples(text: str) -> str:
    """The sample after an owner uncommented every example and deleted the line above it."""
    lines: list[str] = []
    for line in text.splitlines():
        example = EXAMPLE.sub(r"\1", line)
        if example != line and lines and lines[-1].split(":")[0] == example.split(":")[0]:
            lines.pop()
        lines.append(example)
    return "\n".join(lines)


def test_the_shipped_files_are_the_generated_ones() -> None:
    assert main(["--check", "--root", str(ROOT)]) == 0


def test_the_shipped_config_loads_as_the_defaults() -> None:
    assert load_config(ROOT / "config.yaml", environ={}) == Settings()


def test_every_key_is_in_the_shipped_config_with_its_default() -> None:
    expected = plain(Settings())
    assert parse(sample(), "config.yaml", {}).data == expected
    assert yaml.safe_load(sample()) == expected


def test_every_field_occurs_and_every_example_is_valid_once_uncommented() -> None:
    environ = {"NAPCAT_TOKEN": "n", "CORE_TOKEN": "c", "MODEL_API_KEY": "k"}
    text = with_examples(sample())
    settings = settings_of(text, "config.yaml", environ)
    assert (settings.masters, settings.bot.names) == (("10001",), ("骰娘",))
    assert settings.models.connections[0].api_key.get_secret_value() == "k"
    data = parse(text, "config.yaml", environ).data
    fields = list(every_field(Settings))
    assert len(fields) > 70
    for field in fields:
        value: Any = data
        for step in field.path.split("."):
            value = value[step[:-2]][0] if step.endswith("[]") else value[step]


def test_every_field_is_explained_in_chinese_in_both_files() -> None:
    config, docs = sample(), reference()
    for field in every_field(Settings):
        words = field.info.description or ""
        assert re.search(r"[\u4e00-\u9fff]", words + type_words(field.info)), field.path
        assert words, field.path
        assert words in config, field.path
        assert f"| `{field.path}` |" in docs or f"## {field.path}：{words}" in docs, field.path


def test_stale_files_are_named_by_check_and_repaired_by_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert not list(tmp_path.iterdir())
    assert main(["--root", str(tmp_path)]) == 0
    assert main(["--check", "--root", str(tmp_path)]) == 0
    (tmp_path / "config.yaml").write_text(sample().replace("language: zh", "language: en"), encoding="utf-8")
    capsys.readouterr()
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert "config.yaml is stale" in capsys.readouterr().err


@pytest.mark.parametrize(
    "value", ["a b", "a: b", "yes please", "", "骰", "x#y", 'q"', 5, 2.0, 2.5, True, None, [1], {"a": 1}]
)
def test_values_are_written_as_yaml_that_reads_back(value: Any) -> None:
    assert yaml.safe_load(yaml_value(value)) == value
