"""Document: YAML mistakes in words, duplicate keys, the environment, and bounds on what is read."""

from __future__ import annotations

import string
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from plugin_host.config.document import DEPTH_LIMIT, VALUE_LIMIT, Document, parse
from plugin_host.config.fields import every_field
from plugin_host.config.load import settings_of
from plugin_host.config.settings import Settings
from plugin_host.config.words import EXPECTED
from plugin_host.errors import ConfigError, Problem


def read(text: str, **environ: str) -> Document:
    return parse(text, "config.yaml", environ)


def refusal(text: str) -> Problem:
    with pytest.raises(ConfigError) as caught:
        read(text)
    (problem,) = caught.value.problems
    return problem


def mistakes(text: str) -> tuple[Problem, ...]:
    """The problems of ``text`` as a whole config.yaml; none when it is right."""
    try:
        settings_of(text, "f", {})
    except ConfigError as error:
        return error.problems
    return ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("bridge:\n  tokens: {ob11: ${X}}\n", 2, '${…} 在 {} 或 [] 里必须加引号：写成 "${变量名}"'),
        ("a: 1\nb: [x, ${Y}]\n", 2, "必须加引号"),
        ("a: 1\n\tb: 2\n", 2, "缩进不能用 Tab"),
        ("a: b: c\n", 1, "这里不该有冒号"),
        ("a: 1\n b: 2\n", 2, "检查上一行的缩进"),
        ("x: 1\na: 'oops\nb: 2\n", 2, "引号没有闭合"),
        ("a: 1\nbcd\ne: 3\n", 2, "键后面缺冒号和空格"),
        ("a：1\nb: 2\n", 1, "全角冒号"),
        ("listen:5\nb: 2\n", 1, "这一行的冒号后面缺一个空格"),
        ("a: *x\n", 1, "以 * 开头的值要加引号"),
        ("a: &x 1\nb: &x 2\n", 2, "定义了两次"),
        ("a: 1\n---\nb: 2\n", 2, "只能有一份设置"),
        ('a: "C:\\pets"\n', 1, "反斜杠"),
        ("a: @bot\n", 1, "给整个值加引号"),
        ("a:\n  - 1\n - 2\n", 3, "没有对齐"),
        ("a: [1\nb: 2\n", 1, "括号没有闭合"),
        ("a: 1\nb: \x00\n", 2, "U+0000"),
        ("a: !<\n", 1, "YAML 写法有误"),
    ],
)
def test_a_syntax_error_is_told_in_words_with_its_line(text: str, line: int, words: str) -> None:
    problem = refusal(text)
    assert problem.line == line
    assert words in problem.message


def test_a_duplicate_key_names_both_lines_and_the_first_value_stays() -> None:
    document = read("a:\n  b: 1\n  c: 2\n  b: 3\n")
    (problem,) = document.problems
    assert (problem.path, problem.line) == ("a.b", 4)
    assert "第 2 行" in problem.message
    assert document.data == {"a": {"b": 1, "c": 2}}


def test_text_is_filled_from_the_environment_once() -> None:
    document = read('a: "${X}"\nb: x${X}y${Y}\nc: "$${X} $5 $"\nd: [1, "${X}"]\n', X="${Y}", Y="7")
    assert document.data == {"a": "${Y}", "b": "x${Y}y7", "c": "${X} $5 $", "d": [1, "${Y}"]}
    assert document.filled == {("a",): "X", ("b",): "X、Y", ("d", 1): "X"}


def test_missing_variables_are_problems_that_name_variable_path_and_line() -> None:
    found = read('a: 1\nb:\n  - "${NOPE}-${GONE}"\n').problems
    assert [(problem.path, problem.line, problem.message) for problem in found] == [
        ("b[0]", 3, "没有设置环境变量 NOPE"),
        ("b[0]", 3, "没有设置环境变量 GONE"),
    ]


def test_a_missing_variable_is_the_only_problem_of_its_key() -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of('agent: {max_rounds: "${NOPE}"}\nlog: {level: "${NOPE}"}\n', "f", {})
    assert [problem.path for problem in caught.value.problems] == ["agent.max_rounds", "log.level"]


@pytest.mark.parametrize("value", ["${a-b}", "${}", "${open", "${1}", "${X:-y}"])
def test_a_misspelt_reference_is_refused(value: str) -> None:
    (problem,) = read(f'a: "{value}"\n', X="1").problems
    assert '"${NAME}"' in problem.message


def test_numbers_from_the_environment_fill_number_fields() -> None:
    settings = settings_of('agent: {max_rounds: "${N}"}\nai: {private: "${B}"}\n', "f", {"N": "7", "B": "false"})
    assert (settings.agent.max_rounds, settings.ai.private) == (7, False)


def test_aliases_and_merges_work_and_own_keys_win() -> None:
    document = read("a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\nd: {<<: [*x, {p: 8, r: 9}]}\n")
    assert document.data["b"] == {"p": 1, "q": 2}
    assert document.data["c"] == {"p": 1, "q": 3}
    assert document.data["d"] == {"p": 1, "q": 2, "r": 9}


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 9)),
    ],
)
def test_an_alias_bomb_meets_the_limit(text: str) -> None:
    assert "内容太多" in refusal(text).message


def test_the_number_of_values_is_bounded() -> None:
    fits = (VALUE_LIMIT - 3) * "x,"  # the mapping, its key and the list count too
    assert len(read(f"a: [{fits}]").data["a"]) == VALUE_LIMIT - 3
    assert "内容太多" in refusal(f"a: [{fits}x]").message


def test_the_depth_is_bounded_also_for_a_value_that_holds_itself() -> None:
    inner = DEPTH_LIMIT - 1
    assert read("a: " + "[" * inner + "1" + "]" * inner).data
    for text in ("a: " + "[" * (inner + 1) + "1" + "]" * (inner + 1), "a: &a [*a]", "a: " + "[" * 100_000):
        assert "嵌套太深" in refusal(text).message
    assert "嵌套太深" in refusal("a: &a {<<: *a}").message


@pytest.mark.parametrize(
    "text", ["a: !!python/object:os.system x\n", "a: !mine [1]\n", "a: !!int x\n", "a: !!set {x}\n"]
)
def test_foreign_tags_are_refused(text: str) -> None:
    (problem,) = read(text).problems
    assert (problem.path, problem.line) == ("a", 1)
    assert "不支持的标签" in problem.message


def test_a_key_that_is_a_list_and_a_merge_of_no_mapping_are_refused() -> None:
    assert [problem.line for problem in read("? [a]\n: 1\nb:\n  <<: 5\n").problems] == [1, 4]


PLAIN = (
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(string.printable + "骰：，${}", max_size=12)
)
TREES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab一", max_size=3), inner)
)


@given(st.dictionaries(st.text("xyz", min_size=1), TREES, max_size=4))
def test_data_written_by_yaml_reads_back_with_a_line_for_every_place(data: dict[str, Any]) -> None:
    dumped = yaml.safe_dump(data, allow_unicode=True).replace("${", "$${")
    document = read(dumped)
    assert document.data == data
    places = {trail for trail in document.lines if trail}
    assert all(1 <= document.lines[trail] <= dumped.count("\n") + 1 for trail in places)


WRONG = st.sampled_from([None, True, 2, -1, 1e30, 1.5, "", "x", "true", [], ["x"], [None], {}, {"x": 1}, [[]], [{}]])
KEYS = sorted({field.path.rpartition(".")[2].removesuffix("[]") for field in every_field(Settings)} | {"nope"})
GUESSES = st.recursive(WRONG, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner))


@given(st.dictionaries(st.sampled_from(KEYS), GUESSES, max_size=5))
def test_every_mistake_has_words_of_ours_and_a_line(data: dict[str, Any]) -> None:
    for problem in mistakes(yaml.safe_dump(data)):
        assert problem.line
        assert problem.path
        assert "别的值" not in problem.message
        assert "\n" not in str(problem)


@given(st.text(max_size=60) | st.text("a:[]{}&*<-!|>'\"% \n\t#${}?", max_size=40))
def test_any_text_is_settings_or_one_config_error(text: str) -> None:
    assert all(problem.message for problem in mistakes(text))


def test_every_expectation_is_written_for_people() -> None:
    assert all(
        any(ord(letter) > 0x2E80 for letter in words) or "{" in words or "true" in words for words in EXPECTED.values()
    )
