"""load_config: what is accepted, and what each mistake is called."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from plugin_host.config import Settings, load_config, load_home
from plugin_host.config.source import SIZE_LIMIT
from plugin_host.errors import ConfigError, Problem


def load(tmp_path: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> Settings:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_config(path, environ=environ or {})


def problems(tmp_path: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, environ)
    return caught.value.problems


def only(tmp_path: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> tuple[str, int | None, str]:
    found = problems(tmp_path, text, environ)
    assert len(found) == 1, found
    return found[0].path, found[0].line, found[0].message


FIVE = """\
langauge: zh
bridge:
  protocol:
    - url: http://127.0.0.1:3001
agent:
  max_rounds: 101
models:
  connections:
    - provider: openai
  uses: {chat: []}
log: {level: LOUD}
"""


def test_five_mistakes_give_one_message_with_five_lines_each_with_path_and_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, FIVE)
    head, *lines = str(caught.value).splitlines()
    assert "5 处错误" in head
    assert "config.yaml" in head
    starts = [
        "langauge（第 1 行）：",
        "bridge.protocol[0].url（第 4 行）：",
        "agent.max_rounds（第 6 行）：",
        "models.connections[0].name（第 9 行）：",
        "log.level（第 11 行）：",
    ]
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == starts
    assert all(problem.file.endswith("config.yaml") for problem in caught.value.problems)


def test_an_absent_file_of_a_home_means_defaults_but_a_named_one_must_exist(tmp_home: Path) -> None:
    assert load_home(tmp_home) == Settings()
    with pytest.raises(ConfigError, match="文件不存在"):
        load_config(tmp_home / "config.yaml")


def test_a_home_reads_its_file(tmp_home: Path) -> None:
    (tmp_home / "config.yaml").write_text('language: "${TONGUE}"\n', encoding="utf-8")
    assert load_home(tmp_home, environ={"TONGUE": "en"}).language == "en"


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n", "bot:\nbridge:\n  tokens:\nmasters:\n"])
def test_nothing_written_means_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Settings()


def test_a_byte_order_mark_is_accepted_and_moves_no_line(tmp_path: Path) -> None:
    assert load(tmp_path, b"\xef\xbb\xbflanguage: en\n").language == "en"
    assert only(tmp_path, b"\xef\xbb\xbflanguag: en\n")[:2] == ("languag", 1)


@pytest.mark.parametrize(
    ("raw", "words", "line"),
    [
        ("timezone: Asia/Shanghai\nbot: {names: [骰娘]}\n".encode("gbk"), "文件不是 UTF-8，像是 GBK", 2),
        ("language: zh\n".encode("utf-16"), "像是 UTF-16", 1),
        (b"a: 1\n\nb: \xff\xff", "文件不是 UTF-8，也不是 GBK", 3),
    ],
)
def test_another_encoding_is_named(tmp_path: Path, raw: bytes, words: str, line: int) -> None:
    path, got_line, message = only(tmp_path, raw)
    assert (path, got_line) == ("", line)
    assert words in message


def test_a_file_of_one_mebibyte_is_read_and_one_byte_more_refused(tmp_path: Path) -> None:
    text = "language: en\n#"
    assert load(tmp_path, text + "x" * (SIZE_LIMIT - len(text))).language == "en"
    assert "文件太大" in only(tmp_path, text + "x" * (SIZE_LIMIT - len(text) + 1))[2]


def test_a_folder_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="实际是文件夹"):
        load_config(tmp_path)


@pytest.mark.parametrize("text", ["- a\n", "just words\n", "5\n"])
def test_the_top_level_must_be_a_mapping(tmp_path: Path, text: str) -> None:
    assert "最外层应为映射" in only(tmp_path, text)[2]


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("bridge: {tokns: {}}\n", "bridge.tokns", "没有这个键；是不是 tokens？"),
        ("models: {connections: [{name: a, api_kye: b}]}\n", "models.connections[0].api_kye", "是不是 api_key？"),
        ("max_rounds: 3\n", "max_rounds", "它应写在 agent.max_rounds"),
        ("inbox: {zzz: 3}\n", "inbox.zzz", "这里可以写：limit、session_limit"),
        ("inbox: {limitt:}\n", "inbox.limitt", "是不是 limit？"),
        ("? |\n  a\n  b\n: 1\n", "'a\\nb\\n'", "没有这个键"),
    ],
)
def test_an_unknown_key_has_a_path_and_a_suggestion(tmp_path: Path, text: str, path: str, words: str) -> None:
    got, line, message = only(tmp_path, text)
    assert (got, line) == (path, 1)
    assert words in message


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("agent: {max_rounds: many}", "agent.max_rounds", "应为整数，实际是字符串 'many'"),
        ("agent: {max_rounds: 1.5}", "agent.max_rounds", "应为整数，实际是小数 1.5"),
        ("agent: {max_rounds: true}", "agent.max_rounds", "应为整数，实际是布尔值 true"),
        ("agent: {max_rounds: 0}", "agent.max_rounds", "应为不小于 1 的数，实际是整数 0"),
        ("agent: {max_rounds: 101}", "agent.max_rounds", "应为不大于 100 的数，实际是整数 101"),
        (f"agent: {{max_rounds: {'9' * 5000}}}", "agent.max_rounds", f"应为整数，实际是字符串 '{'9' * 39}…"),
        ("send: {timeout: 0}", "send.timeout", "应为大于 0 的数，实际是整数 0"),
        ("send: {timeout: false}", "send.timeout", "应为数字，实际是布尔值 false"),
        ("send: {timeout: soon}", "send.timeout", "应为数字，实际是字符串 'soon'"),
        ("send: {timeout: nan}", "send.timeout", "应为有限的数字，实际是字符串 'nan'"),
        ("ai: {private: 2}", "ai.private", "应为 true 或 false，实际是整数 2"),
        ("ai: {private: []}", "ai.private", "应为 true 或 false，实际是列表"),
        ("log: {level: LOUD}", "log.level", "应为DEBUG、INFO、WARNING、ERROR 之一，实际是字符串 'LOUD'"),
        ("bot: [a]", "bot", "应为映射（键: 值），实际是列表"),
        ("bot: {prefixes: [toolong]}", "bot.prefixes[0]", "应为1 到 4 个字符，没有空白，实际是字符串 'toolong'"),
        ("tools: {privilege: [a]}", "tools.privilege", "应为映射（键: 值），实际是列表"),
        ("tools: {privilege: {a: b}}", "tools.privilege.a", "应为整数，实际是字符串 'b'"),
        ("timezone: Asia", "timezone", "应为时区名，例如 Asia/Shanghai，实际是字符串 'Asia'"),
        ("masters: [1, 2.0]", "masters[1]", "应为字符串（像数字或 true 的要加引号），实际是小数 2.0"),
        ("masters: [true]", "masters[0]", "应为字符串（像数字或 true 的要加引号），实际是布尔值 true"),
        ("masters: [~]", "masters[0]", "应为字符串（像数字或 true 的要加引号），实际是空值"),
        ("masters: [１２３]", "masters[0]", "应为1 到 20 位数字（QQ 号），实际是字符串 '１２３'"),
        ("bridge: {listen: '127.0.0.1:65536'}", "bridge.listen", "应为主机:端口"),
        ("bridge: {protocol: [~]}", "bridge.protocol[0].url", "缺少必填的键"),
    ],
)
def test_a_wrong_value_is_told_with_what_was_expected_and_what_came(
    tmp_path: Path, text: str, path: str, message: str
) -> None:
    got, line, words = only(tmp_path, text)
    assert (got, line) == (path, 1)
    assert words.replace("应为 ", "应为").startswith(message.replace("应为 ", "应为"))


@pytest.mark.parametrize("text", ["bot: {names: 骰娘}", "tools: {blocked: x}", "bridge: {cores: {name: a}}"])
def test_a_single_value_for_a_list_is_refused_with_the_way_to_write_it(tmp_path: Path, text: str) -> None:
    assert "应为列表（写成 [甲, 乙]" in only(tmp_path, text)[2]


def test_ids_may_be_written_as_numbers_and_keep_their_digits(tmp_path: Path) -> None:
    settings = load(
        tmp_path, "masters: [10001, 0012, 12345678901234567890]\nbridge: {tokens: {core: 123456, ob11: 007}}\n"
    )
    assert settings.masters == ("10001", "0012", "12345678901234567890")
    assert settings.bridge.tokens.core.get_secret_value() == "123456"
    assert settings.bridge.tokens.ob11.get_secret_value() == "007"


def test_words_that_old_yaml_takes_for_numbers_or_flags_stay_text(tmp_path: Path) -> None:
    settings = load(tmp_path, "bot: {names: [on, 12:30, 2024-01-01, 1_000, no]}\nai: {private: off}\n")
    assert settings.bot.names == ("on", "12:30", "2024-01-01", "1_000", "no")
    assert settings.ai.private is False


def test_limits_hold_at_their_edge(tmp_path: Path) -> None:
    settings = load(
        tmp_path, "agent: {max_rounds: 100}\nbridge: {listen: '[::1]:65535'}\nsend: {max_age: {ai: 86400}}\n"
    )
    assert (settings.agent.max_rounds, settings.send.max_age.ai) == (100, 86_400)
    assert only(tmp_path, "send: {max_age: {ai: 86400.5}}\n")[0] == "send.max_age.ai"


def test_a_use_of_an_unknown_connection_has_its_own_path_and_line(tmp_path: Path) -> None:
    text = "models:\n  connections:\n    - name: main\n  uses:\n    chat:\n      - main:a\n      - mian:b\n"
    path, line, message = only(tmp_path, text)
    assert (path, line) == ("models.uses.chat[1]", 7)
    assert "连接：main" in message
    assert "'mian:b'" in message


def test_a_rule_over_several_keys_is_checked_beside_other_mistakes(tmp_path: Path) -> None:
    text = "models:\n  colour: red\n  connections: [{name: a, timeout: -1}]\n  uses: {chat: [b:x]}\n"
    assert [problem.path for problem in problems(tmp_path, text)] == [
        "models.colour",
        "models.connections[0].timeout",
        "models.uses.chat[0]",
    ]


@pytest.mark.parametrize("connections", ["5", "[{name: 'b c'}]", "[{provider: openai}]"])
def test_no_complaint_is_a_consequence_of_another(tmp_path: Path, connections: str) -> None:
    found = problems(tmp_path, f"models:\n  connections: {connections}\n  uses: {{chat: [b:x]}}\n")
    assert [problem.path.partition("[")[0] for problem in found] == ["models.connections"]


def test_two_connections_of_one_name_are_refused(tmp_path: Path) -> None:
    assert only(tmp_path, "models:\n  connections:\n    - name: a\n    - name: a\n")[:2] == (
        "models.connections[1].name",
        4,
    )


def test_plugin_mappings_are_kept_raw_and_anything_else_is_refused(tmp_path: Path) -> None:
    settings = load(tmp_path, "plugins:\n  disabled: [x]\n  luck: {max: 5, on: [1, 2.5, true]}\n  empty:\n")
    assert settings.plugins.of("luck") == {"max": 5, "on": [1, 2.5, True]}
    assert settings.plugins.of("empty") == settings.plugins.of("absent") == {}
    path, line, message = only(tmp_path, "plugins:\n  disable: [x]\n")
    assert (path, line) == ("plugins.disable", 2)
    assert "disabled" in message


SECRET = "sk-very-secret-4711"
KEYED = 'models:\n  connections:\n    - {name: a, api_key: "${KEY}", headers: {X: "Bearer ${KEY}"}}\n'
KEYED += 'plugins: {p: {k: "${KEY}"}}\n'


def test_a_secret_from_the_environment_reaches_its_place_and_no_repr(tmp_path: Path) -> None:
    settings = load(tmp_path, KEYED, {"KEY": SECRET})
    connection = settings.models.connections[0]
    assert connection.api_key.get_secret_value() == SECRET
    assert connection.headers == {"X": f"Bearer {SECRET}"}
    assert settings.plugins.of("p") == {"k": SECRET}
    assert SECRET not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    "text",
    [
        f"bridge: {{tokens: {SECRET}}}",
        f"bridge: {{tokens: {{core: [{SECRET}]}}}}",
        f"bridge: {{protocol: [{{url: 'http://h?access_token={SECRET}'}}]}}",
        f"models: {{connections: [{{name: a, api_kye: {SECRET}}}]}}",
        f"models: {{connections: [{{name: a, api_key: {{x: {SECRET}}}}}]}}",
        f"models: {{connections: {SECRET}}}",
        f"bridge: {{tokens: {{core: '{SECRET}}}}}",
        f"bridge: {{tokens: {{core: {SECRET}: x}}}}",
        f"bridge:\n  tokens:\n    core: {SECRET}\n    core: {SECRET}\n",
        'masters: ["${KEY}"]',
        'agent: {max_rounds: "${KEY}"}',
        'timezone: "${KEY}"',
        'models: {uses: {chat: ["${KEY}:x"]}}',
    ],
)
def test_no_problem_shows_a_secret(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, {"KEY": SECRET})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_model_error_raised_directly_hides_its_input() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"bridge": {"tokens": {"core": [SECRET]}}})
    assert SECRET not in str(caught.value)
