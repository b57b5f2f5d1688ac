"""What a roll is told as (short, detailed, JSON, for a model), `explain`, `fill`, and verifiable dice."""

from __future__ import annotations

import json

import pytest

from plugins.dice.engine import DiceError, Limits, explain, fill, rng, roll
from plugins.dice.engine.render import as_json, detailed, for_model, short

TEXTS = [
    ("d20优势+3", [3, 17], "d20优势+3={17|3}+3=20"),
    ("3d6min3", [1, 4, 6], "3d6min3={1→3+4+6}=13"),
    ("4d6!", [6, 2, 3, 4, 1], "4d6!={6+2+3+4+1}=16"),
    ("1d6!!", [6, 6, 2], "1d6!!={6→14|6+2}=14"),
    ("1d6!p", [6, 3], "1d6!p={6+3→2}=8"),
    ("3d6r1", [1, 4, 6, 2], "3d6r1={4+6+2|1}=12"),
    ("4d6cs>4", [5, 6, 1, 4], "4d6cs>4={5*+6*+1+4}=2"),
    ("4df", [1, 2, 3, 3], "4df={- 0 + +}=1"),
    ("b2", [43, 3, 10], "b2={43|十位3 0}=3"),
    ("3a8k6m8", [8, 6, 1, 5], "3a8k6m8={8*+6*+1;5}=2"),
    ("2c8", [8, 3, 4], "2c8={8*+3;4}=14"),
    ("60d6r1", [2] * 60, "60d6r1={共60个，计60个}=120"),
    ("d20>10", [11], "d20>10=11>10=1"),
    ("d20>10?d6:d4", [11, 6], "d20>10?d6:d4=11>10?6:d4=6"),
    ("x=2d6;x+1", [2, 3], "x=2d6;x+1=x={2+3};5+1=6"),
    ("[d6,d6,1.5]", [2, 3], "[d6,d6,1.5]=[2,3,1.5]"),
    ("[2d6,d8].sum()", [1, 2, 3], "[2d6,d8].sum()=[{1+2},3].sum()=6"),
    ("d6*1.5", [3], "d6*1.5=3*1.5=4.5"),
    ("4d6k1", [6, 2, 6, 1], "4d6k1={6|2+6+1}=6"),
    ("4d6q3", [2, 6, 2, 6], "4d6q3={2+6+2|6}=10"),
    ("(d2)d300k1", [2, 299, 300], "(d2)d300k1={2d300: 300|299; d2: 2}=300"),
]


@pytest.mark.parametrize(("text", "faces", "shown"), TEXTS)
def test_text_shows_what_became_of_each_die(text: str, faces: list[int], shown: str) -> None:
    assert roll(text, rng=rng.replay(faces)).text == shown


def test_long_results_of_lists_are_written_whole() -> None:
    assert roll("[1..3]").text == "[1..3]=[1,2,3]"
    assert roll("0.1+0.2").text == "0.1+0.2=0.3"
    assert roll("2.0^60").text == "2.0^60=1.152921505e+18"


def test_renderers_tell_the_same_roll_at_their_lengths() -> None:
    result = roll("4d6k3+d20min5 攻击", rng=rng.replay([1, 4, 5, 6, 2]))
    assert short(result) == "4d6k3+d20min5=20"
    assert detailed(result).splitlines() == [
        "4d6k3+d20min5={4+5+6|1}+{2→5}=20",
        "· 4d6k3：(1) 4 5 6 得 15",
        "· d20min5：2→5 得 5",
    ]
    told = as_json(result)
    assert json.loads(json.dumps(told)) == told
    assert (told["value"], told["type"], told["reason"], told["used"]) == (20, "int", "攻击", 5)
    assert told["rounds"][0]["terms"][1]["originals"] == [2]
    assert told["rounds"][0]["terms"][1]["faces"] == [5]
    model = for_model(result)
    assert model["roll_id"] == told["roll_id"] == result.roll_id
    assert model["dice"][0] == {"term": "4d6k3", "faces": [1, 4, 5, 6], "total": 15}


def test_renderers_know_rounds() -> None:
    result = roll("3#d6", rng=rng.replay([1, 2, 3]))
    assert short(result) == "d6=1、2、3"
    assert [one["value"] for one in as_json(result)["rounds"]] == [1, 2, 3]
    assert for_model(result)["value"] == [1, 2, 3]


def test_many_faces_are_cut_for_people_and_left_out_for_a_model() -> None:
    result = roll("60d6", rng=rng.minimum())
    assert "…共60个" in detailed(result)
    assert "dice" not in for_model(result)
    assert "dice" in for_model(roll("20d6"))


WORDS = [
    ("4d6k3+2", ["4 个 6 面骰", "最高的 3 个", "加2"]),
    ("2d", ["2 个 100 面骰"]),
    ("3#d20+5", ["3 轮", "20 面骰"]),
    ("d20劣势", ["2 个 20 面骰", "最低的 1 个"]),
    ("4d6dl1", ["去掉最低的 1 个"]),
    ("b2", ["2 个奖励骰", "最小"]),
    ("p", ["1 个惩罚骰", "最大"]),
    ("10a5k6m7", ["骰池", "7 面骰", "不小于 5", "不小于 6"]),
    ("5a0q3", ["数不大于 3"]),
    ("5c8", ["双十字", "不小于 8", "计 10 分"]),
    ("4df", ["4 个命运骰"]),
    ("4d6r1!cs>4f1", ["等于 1的骰子重掷", "再多掷一个", "数大于 4", "减去等于 1"]),
    ("4d6ro<3!!5", ["重掷一次", "累加"]),
    ("3d20min10", ["至少算 10"]),
    ("3d20max10", ["至多算 10"]),
    ("x=d6;&y=x;x+y", ["“x”记为", "然后", "每次用到时都重新计算", "属性“y”"]),
    ("d20>10?d6:d4", ["如果", "大于10", "否则"]),
    ("[1..4][1:3].sum()", ["从1到4的列表", "之前的项", "总和"]),
    ("[2d6,d8]kh", ["列表", "最高的 1 项"]),
    ("[1,2][0]", ["第0项"]),
    ("-力量/2", ["负的属性“力量”", "除以2"]),
    ("（１ｄ６＋２）×２ 攻击", ["1 个 6 面骰加2", "乘2"]),
    ("1&&0||'a'", ["并且", "或者", "文字“a”"]),
]


@pytest.mark.parametrize(("text", "parts"), WORDS)
def test_explain_says_in_words_what_would_be_rolled(text: str, parts: list[str]) -> None:
    words = explain(text)
    for part in parts:
        assert part in words
    assert "\n" not in words


def test_explain_knows_dialects_and_default_sides() -> None:
    assert "20 面骰" in explain("d", default_sides=20)
    assert "从 1 加到3" in explain("3?", dialect="onedice")
    assert "计 12 分" in explain("3c8m12", dialect="onedice")


@pytest.mark.parametrize(
    ("text", "code", "blamed"),
    [("(((", "syntax", ""), ("１３＃ｄ", "rounds", "１３"), ("２＃１＋" + "9" * 19, "literal", "9" * 19)],
)
def test_explain_refuses_like_roll(text: str, code: str, blamed: str) -> None:
    with pytest.raises(DiceError) as caught:
        explain(text)
    start, end = caught.value.span
    assert (caught.value.code, text[start:end]) == (code, blamed)


def test_explain_keeps_the_limit_of_characters() -> None:
    assert explain("1" + " " * 511)
    with pytest.raises(DiceError, match="太长"):
        explain("1" + " " * 512)
    with pytest.raises(DiceError, match="太长"):
        explain("11", limits=Limits(characters=1))


def test_explain_survives_a_long_sum() -> None:
    assert explain("+".join(["1"] * 256)).count("加1") == 255


def test_verifiable_dice_are_a_function_of_secret_salt_and_label() -> None:
    def faces(secret: bytes = b"s", salt: bytes = b"p", label: str = "群:1") -> list[int]:
        return roll("100d100", rng=rng.verifiable(secret, salt, label)).dice

    assert faces() == faces()
    others = [faces(secret=b"t"), faces(salt=b"q"), faces(label="群:2"), faces(b"sp", b""), faces(b"", b"sp")]
    assert all(other != faces() for other in others)
    assert len({tuple(other) for other in others}) == len(others)


def test_verifiable_dice_never_change() -> None:
    assert roll("10d20", rng=rng.verifiable(b"secret", b"salt", "label")).dice == [14, 10, 6, 1, 12, 13, 7, 10, 4, 19]


def test_fill_rolls_what_stands_in_braces() -> None:
    faces = rng.replay([3, 17, 5])
    assert fill("掷出｛不变｝{d6}，再来 {d20＋1}。{x=2;x}{x*d6}", rng=faces) == "掷出｛不变｝3，再来 18。210"
    assert fill("{力量}点{[1..3]}{'甲'}", variables={"力量": 60}) == "60点[1,2,3]甲"
    assert fill("没有算式 } {") == "没有算式 } {"


def test_fill_shares_one_budget() -> None:
    assert fill("{d1}{2d1}", limits=Limits(dice=3)) == "12"
    with pytest.raises(DiceError) as caught:
        fill("{d1}{3d1}", limits=Limits(dice=3))
    assert (caught.value.code, caught.value.span) == ("budget", (5, 8))


@pytest.mark.parametrize(
    ("text", "code", "blamed"),
    [
        ("共{１/０}", "division", "１/０"),
        ("{d6 火}", "syntax", " 火"),
        ("{}", "syntax", ""),
        ("长" * 513, "too_long", "长"),
    ],
)
def test_fill_blames_the_users_own_characters(text: str, code: str, blamed: str) -> None:
    with pytest.raises(DiceError) as caught:
        fill(text)
    start, end = caught.value.span
    assert (caught.value.code, text[start:end]) == (code, blamed)
