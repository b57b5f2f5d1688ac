"""The grammar beyond sums of dice: modifiers, pools, comparisons, lists, names, and what each dialect decides."""

from __future__ import annotations

import pytest

from plugins.dice.engine import Computed, DiceError, rng, roll

CARD = {"力量": 60, "敏捷": 45, "a": 2, "表": (3, 1, 2), "值": 1.5, "名": "甲"}

ANY = [
    ("d20min20", 20), ("d20min30", 30), ("4d20k1min20", 20), ("d1优势", 1), ("d1劣势", 1), ("1d1adv", 1), ("d1dis", 1),
    ("2.0+1", 3.0), (".5+1", 1.5), ("1.5+1", 2.5), ("3/2", 1), ("3/ 2.0", 1.5), ("7.5//2", 3.0), ("7.5%2", 1.5),
    ("4^0.5", 2.0), ("2.5*2", 5.0), ("2.5-2", 0.5), ("3d1+2.5", 5.5), ("-1.5", -1.5), ("1<0", 0), ("1<=0", 0),
    ("1==0", 0), ("1>0", 1), ("1>=1", 1), ("1!=1", 0), ("1.5>1", 1), ("1==1.0", 1), ("1 != 1 ? 2 : 3", 3),
    ("1?2:3", 2), ("0?2:3", 3), ("1?2", 2), ("0?2", ""), ("0?1,1?2", 2), ("0?1:0?2:3", 3),
    ("a==1?'A', a==2?'B', a==3?'C'", "B"), ("a==3?'A', a==4?'B'", ""), ("1?力量:敏捷", 60), ("0?力量:敏捷", 45),
    ("[1,3,2]kh", 3), ("[1,3,2]kl", 1), ("[1,3,2]k2", 5), ("[2,7,4]kh1", 7), ("[5,5,3]kl", 3), ("[2,7,4]dh1", 6),
    ("[2,7,4]dl1", 11), ("[7,4]max5", 9), ("[7,4]min5", 12), ("[4,9,7]k2max8", 15), ("[1.5,2]kh", 2),
    ("[1..4]", [1, 2, 3, 4]), ("[4..1]", [4, 3, 2, 1]), ("[]", []), ("[1]", [1]), ("[1,'a',2.5]", [1, "a", 2.5]),
    ("[1,2,3][0]", 1), ("[1,2,3][-1]", 3), ("[1,2,3][1:3]", [2, 3]), ("[1,2,3][:2]", [1, 2]), ("[1,2,3][1:]", [2, 3]),
    ("[1,2,3][:]", [1, 2, 3]), ("[1..9][2:5][1]", 4), ("[1,2,3].sum()", 6), ("[1..5][1:4].max()", 4), ("表[1]", 1),
    ("表.len()", 3), ("表.min()", 1), ("sum(1,2,3)", 6), ("max([1,5])+min(2,3)", 7), ("len([])", 0), ("sum([])", 0),
    ("[1,2]==[1,2]", 1), ("[1,2]!=[1,3]", 1), ("'a'=='a'", 1), ("名=='甲'", 1), ("1=='1'", 0), ("值*2", 3.0),
    ("1|2&4", 1), ("(1|2)&4", 0), ("6&3", 2), ("4|1", 5), ("1 && 2 && 3", 3), ("1 && 0 && 3", 0), ("(0||0)+1", 1),
    ("(0||1)+1", 2), ("0||2&&3", 3), ("1||1/0", 1), ("0&&1/0", 0), ("1+2*3>6&&1", 1), ("1?2:1/0", 2), ("0?1/0:2", 2),
    ("1+(2==2)", 2), ("1+2==2", 0), ("1+2==3", 1), ("-1<0", 1), ("1<2<3", 1), ("3>2>1", 0), ("x=3d1;x+x", 6),
    ("x=1;y=x+1;x+y*3", 7), ("x=5", 5), ("&a=4d1; a", 4), ("&甲=乙+1;乙=2;甲*2", 6), ("力量=5;力量", 5),
    ("x=[1..3];x[1]+x.sum()", 8), ("{力量}+1", 61), ("{1+2}*3", 9), ("１＝＝１", 1), ("［１，２］［０］", 1),
    ("力量≥60", 1), ("1d1+5[fire]", 6), ("2d1[火][冰]+1[x]", 3), ("力量[检定]/2", 30), ("4d1!=3", 1), ("6d1cs>0", 6),
    ("3d1a1", 3), ("3d1cs5", 0), ("3d1cs1f1", 0), ("3d2cs<=2", 3), ("3d1cs=1", 3), ("4d1r>1", 4), ("2d1ro>1", 2),
    ("5d1!>1", 5), ("(6d1)d1", 6), ("2d1k1+1", 2), ("10c11m1", 1), ("4a0m1k1", 4), ("4a0m1k2", 0), ("4a0m1q1", 4),
    ("(1+1)d1", 2), ("３ｄ１＞２？１：０", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), ANY)
def test_value_does_not_depend_on_the_dice(text: str, value: object) -> None:
    for source in (rng.minimum(), rng.maximum(), rng.seeded(b"grammar")):
        result = roll(text, rng=source, variables=CARD)
        assert (result.value, type(result.value), result.rest) == (value, type(value), "")
        assert result.text


BOUNDS = [
    ("d20优势", 1, 20), ("d劣势", 1, 100), ("d20优势+3", 4, 23), ("f", -4, 4), ("f+1", -3, 5), ("4df", -4, 4),
    ("4dF", -4, 4), ("2f", -2, 2), ("3d20min10", 30, 60), ("3d20max10", 3, 30), ("4d20k2max10", 2, 20), ("b", 1, 100),
    ("b3", 1, 100), ("p", 11, 100), ("p0", 1, 100), ("b(1+1)", 1, 100), ("b1 + p1", 12, 200), ("4d6ro1", 4, 24),
    ("4d6cs>4", 0, 4), ("2d6a5", 0, 2), ("10c11m10", 1, 10), ("5a0", 0, 5), ("5a11", 0, 5), ("[2d6,1d20]kh", 2, 20),
    ("[2d6,1d20].sum()", 3, 32), ("max(d6,d8)", 1, 8), ("d20>10", 0, 1), ("d20>10?d6:d4", 1, 6), ("{d6}+1", 2, 7),
    ("d4d6d8", 1, 192), ("1d6!<0", 1, 6), ("4d6r0", 4, 24), ("1d6*1.5", 1.5, 9.0), ("x=d6;x+x", 2, 12),
    ("&x=d6;x+x", 2, 12), ("d20min(1d4)", 1, 20), ("[d6,d6,d6]k2", 2, 12), ("4d6min2k", 8, 24),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lowest", "highest"), BOUNDS)
def test_lowest_and_highest_faces_give_the_bounds(text: str, lowest: object, highest: object) -> None:
    assert roll(text, rng=rng.minimum()).value == lowest
    assert roll(text, rng=rng.maximum()).value == highest


REPLAYED = [
    ("d20优势", [3, 17], 17), ("d20劣势", [3, 17], 3), ("b1", [83, 3], 33), ("b1", [3, 9], 3), ("p1", [3, 10], 3),
    ("p1", [3, 9], 93), ("b2", [100, 10, 5], 50), ("p", [10, 10], 100), ("b", [100, 10], 100), ("b0", [42], 42),
    ("4d6!", [6, 2, 3, 6, 6, 1, 2], 26), ("2d6!5", [5, 1, 5, 2], 13), ("2d6!>4", [5, 6, 1, 4], 16),
    ("1d6!!", [6, 6, 2], 14), ("2d6!!k1", [6, 5, 3], 9), ("2d6!p", [6, 2, 6, 3], 15), ("2d6!pk1", [6, 2, 4], 6),
    ("4d6!k3", [6, 1, 2, 3, 5], 14), ("3d6r1", [1, 1, 5, 1, 3, 2], 10), ("3d6r", [1, 2, 3, 4], 9),
    ("3d6ro1", [1, 4, 5, 1], 10), ("3d6r<3", [1, 2, 6, 3, 2, 4], 13), ("3d6ro>=5k2", [5, 6, 1, 2, 3], 5),
    ("3d6min3", [1, 4, 6], 13), ("3d6max3", [1, 4, 6], 7), ("4d20k1min15", [3, 9, 2, 4], 15),
    ("4d6cs>=5", [5, 6, 1, 4], 2), ("4d6cs>=5f1", [5, 6, 1, 4], 1), ("2d6a5", [6, 4], 1), ("4d6cs2", [2, 2, 1, 4], 2),
    ("4d6k3cs>4", [5, 6, 1, 4], 2), ("4f", [1, 2, 3, 3], 1), ("3df", [3, 3, 3], 3), ("5c11", [3, 7, 2, 9, 1], 9),
    ("3c8", [8, 3, 9, 2, 10, 4], 24), ("2c5m6", [5, 6, 5, 1, 2], 22), ("5a9", [10, 8, 1, 9, 2, 7, 8], 4),
    ("3a8k6m8", [8, 6, 1, 5], 2), ("3a8q2m8", [8, 2, 1, 2], 3), ("a10", [10, 3], 1), ("2a10x", [3, 4], 0),
    ("d20>10?d6:d4", [11, 6], 6), ("d20>10?d6:d4", [10, 4], 4), ("x=2d6;x+x+d4", [2, 3, 4], 14),
    ("&x=d6;x+x", [2, 5], 7), ("[d6,d8,d4]kl", [5, 7, 2], 2), ("[1..6][d6-1]", [4], 4), ("d4d6", [2, 5, 6], 11),
    ("1d6d4min2", [3, 1, 2, 4], 8), ("4d6r1!", [1, 6, 3, 2, 5, 4], 20), ("(d4)a10", [2, 8, 1], 1),
    ("1?1d8:$missing", [6], 6),
]  # fmt: skip


@pytest.mark.parametrize(("text", "faces", "value"), REPLAYED)
def test_replayed_faces_give_the_value(text: str, faces: list[int], value: object) -> None:
    result = roll(text, rng=rng.replay(faces))
    assert (result.value, result.dice, result.used) == (value, faces, len(faces))
    assert sum(len(term.faces) for term in result.detail) == len(faces)
    assert [face for term in result.detail for face in term.originals] == faces


LOWEST = [("10c5", 1), ("7a8k10q5m9", 7), ("2a10", 0), ("5a9k6", 0), ("10d6!", 10), ("6d6r2", 6), ("3d6!>5cs>5", 0)]


@pytest.mark.parametrize(("text", "value"), LOWEST)
def test_dice_that_may_go_on_do_not_at_their_lowest(text: str, value: int) -> None:
    assert roll(text, rng=rng.minimum()).value == value


def test_default_sides_reach_every_kind_of_die() -> None:
    assert roll("d优势+d!<0+dk", default_sides=1).value == 3
    assert roll("d优势+2dmin3", default_sides=2, rng=rng.maximum()).value == 8


DIALECTS = [
    ("onedice", "-1", 0, -1), ("onedice", "-7/2", 0, -3), ("onedice", "10/3", 0, 3), ("onedice", "2^3^2", 0, 64),
    ("onedice", "1|2&4", 0, 0), ("onedice", "[1,2,8]", 0, 8), ("onedice", "[]", 0, 0), ("onedice", "3?", 0, 6),
    ("onedice", "((1-1>2)|(1-1<2))?(1+1):(1-2)", 0, 2), ("onedice", "[7,4]max5", 0, 9), ("onedice", "{a}+1", 0, 3),
    ("onedice", "2x3", 0, 6), ("onedice", "4df", [1, 2, 3, 3], 1), ("onedice", "b0", [10, 10], 100),
    ("onedice", "p1", [10, 1, 10], 100), ("onedice", "b1", [3, 8, 2], 23), ("onedice", "b3", [4, 7, 3, 9, 1], 14),
    ("onedice", "p3", [4, 7, 3, 9, 1], 94), ("onedice", "1c5m6", [5, 2], 8), ("onedice", "10000d1", 0, 10000),
    ("onedice", "1d10000", [9999], 9999), ("onedice", "2d6a5", [6, 4], 1), ("onedice", "7a8k10q5m9", [1] * 7, 7),
    ("onedice", "4?1:2", 0, 1), ("onedice", "(2?)+1", 0, 4), ("roll20", "--1", 0, 1), ("roll20", "-+-++---+1", 0, -1),
    ("roll20", "+5", 0, 5), ("roll20", "10/3", 0, 10 / 3), ("roll20", "9/3", 0, 3), ("roll20", "2^3^2", 0, 512),
    ("roll20", "1.5+1", 0, 2.5), ("roll20", "d%", [99], 99), ("roll20", "4dF", [1, 2, 3, 3], 1),
    ("roll20", "4d6>4", [5, 4, 3, 6], 3), ("roll20", "4d6<4", [5, 4, 3, 6], 2), ("roll20", "4d6>4f1", [5, 4, 1, 6], 2),
    ("roll20", "4d6>4f<2", [5, 4, 2, 6], 2), ("roll20", "3d6=6", [6, 6, 1], 2), ("roll20", "2d6!>5", [5, 2, 1], 8),
    ("roll20", "2d6!=3", [3, 2, 1], 6), ("roll20", "3d6r<2", [1, 2, 6, 3, 4], 13),
    ("roll20", "{4d6+2d8,3d20}kh1", [6] * 6 + [20] * 3, 60), ("roll20", "{4d6+2d8,3d20}kh1", [1] * 9, 6),
    ("roll20", "1d20+5[fire]", [20], 25), ("roll20", "4d6k5", [1, 2, 3, 4], 10), ("roll20", "4d6dl1", [1, 2, 3, 4], 9),
    ("seal", "4d6k5", [1, 2, 3, 4], 10), ("seal", "1c5m6", [5, 2], 12), ("seal", "5a0", [8, 9, 10, 1, 2], 3),
    ("seal", "-7//2", 0, -4), ("seal", "4d6>4", [5, 4, 3, 6], 1),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "faces", "value"), DIALECTS)
def test_dialects_decide_for_themselves(dialect: str, text: str, faces: list[int] | int, value: object) -> None:
    result = roll(
        text, dialect=dialect, rng=rng.replay(faces) if isinstance(faces, list) else rng.minimum(), variables={"a": 2}
    )
    assert (result.value, result.rest) == (value, "")


REFUSED = [
    ("seal", "('xxx')d5", "type"), ("seal", "20001a11m10k1", "budget"), ("seal", "8a1m10k1", "pool"),
    ("seal", "20001c11m10", "budget"), ("seal", "10c1m10", "pool"), ("seal", "10c11m0", "sides"),
    ("seal", "3c0", "pool"), ("seal", "3a5k0", "pool"), ("seal", "1/0.0", "division"), ("seal", "1.5//0", "division"),
    ("seal", "1.5%0", "division"), ("seal", "(0-8)^0.5", "power"), ("seal", "0^(0-0.5)", "power"),
    ("seal", "10.0^400", "overflow"), ("seal", "&甲=甲+1;甲", "budget"), ("seal", "&甲=乙;&乙=甲;甲", "budget"),
    ("seal", "[1,2", "syntax"), ("seal", "[1,2][2]", "index"), ("seal", "[1,2][-3]", "index"),
    ("seal", "[][0]", "index"), ("seal", "[]kh", "items"), ("seal", "max([])", "items"), ("seal", "[[1],2]", "type"),
    ("seal", "[1]+1", "type"), ("seal", "'a'+1", "type"), ("seal", "-[1]", "type"), ("seal", "1.5&1", "type"),
    ("seal", "1|'a'", "type"), ("seal", "'a'<'b'", "type"), ("seal", "[1,'a'].sum()", "type"),
    ("seal", "5[0]+a[1]", "type"), ("seal", "[1][0.5]", "type"), ("seal", "[1]k3.5", "decimal"),
    ("seal", "d(1.5)", "type"), ("seal", "(1.5)d6", "type"), ("seal", "2d6k(0.5)", "type"),
    ("seal", "[1.5..3]", "type"), ("seal", "6d1!", "endless"), ("seal", "6d6!>0", "endless"),
    ("seal", "6d6r<7", "endless"), ("seal", "d1r", "endless"), ("seal", "4d6r1k0", "keep"),
    ("seal", "4d6!dl9", "keep"), ("seal", "while 1 {2}", "name"), ("seal", "[1..99999]", "items"),
    ("seal", "d6!99999999999", "literal"), ("seal", "'abc", "syntax"), ("seal", "{1+2", "syntax"),
    ("seal", "?", "syntax"), ("onedice", "4d6k5", "keep"), ("onedice", "2d6k3", "keep"), ("onedice", "+5", "syntax"),
    ("onedice", "--1", "syntax"), ("onedice", "1.5+1", "decimal"), ("onedice", "0d6", "count"),
    ("onedice", "d0", "sides"), ("onedice", "5a0", "pool"), ("onedice", "2d20k1b1", "keep"),
    ("onedice", "2d20k1p1", "keep"), ("onedice", "10001d1", "budget"), ("onedice", "1d10001", "sides"),
    ("onedice", "(0-1)?", "type"), ("roll20", "b1", "name"), ("roll20", "1/0", "division"),
    ("roll20", "d1!", "endless"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "code"), REFUSED)
def test_refusal_has_its_code_and_a_span_on_the_text(dialect: str, text: str, code: str) -> None:
    with pytest.raises(DiceError) as caught:
        roll(text, dialect=dialect, variables={"a": 2})
    start, end = caught.value.span
    assert (caught.value.code, 0 <= start <= end <= len(text)) == (code, True)


PREFIXES = [
    ("d1 k2", 1, " k2"), ("2d1优势", 2, "优势"), ("d20min30max1", 30, "max1"), ("a(a", 2, "(a"), ("1?", 1, "?"),
    ("1?(", 1, "?("), ("1?2:", 2, ":"), ("1?2,3", 2, ",3"), ("1;2", 1, ";2"), ("x=1;", 1, ";"), ("x=1;(", 1, ";("),
    ("3?4:5 攻击", 4, " 攻击"), ("1&&", 1, "&&"), ("1 > ", 1, " > "), ("4d1cs", 4, "cs"), ("3d1rage", 3, "rage"),
    ("d1!", None, ""), ("[1,2][火]", [1, 2], ""), ("[1,2]kx", [1, 2], "kx"), ("3d1min", 3, "min"), ("4d1c8", 4, "c8"),
    ("1[", 1, "["), ("a[x", 2, "[x"), ("3d1a", 3, "a"), ("5a0m1k1k", 5, "k"), ("1..2", 1, "..2"), ("3d1={}", 3, "={}"),
    ("d1=5", 1, "=5"), ("d1=?", 1, "=?"),
    ("a=?", 2, "=?"), ("a=", 2, "="), ("x=1;a=?", 2, "=?"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "rest"), [row for row in PREFIXES if row[1] is not None])
def test_longest_valid_prefix_is_rolled(text: str, value: object, rest: str) -> None:
    result = roll(text, variables={"a": 2})
    assert (result.value, result.rest) == (value, rest)


@pytest.mark.parametrize("text", ["b技能", "f1", "p2c3", "axe", "max", "sum", "len", "min(", "k2"])
def test_words_that_merely_start_like_dice_are_names(text: str) -> None:
    word = text.rstrip("(")
    assert roll(word, variables={word: 7}).value == 7


def test_computed_attributes_are_evaluated_at_each_use() -> None:
    card = {"伤害": Computed("1d6+加值"), "加值": 2}
    result = roll("伤害+伤害", variables=card, rng=rng.replay([3, 5]))
    assert (result.value, result.dice, result.used) == (12, [3, 5], 2)
    assert result.text == "伤害+伤害=5+7=12"
    assert [term.text for term in result.detail] == ["伤害", "伤害"]


@pytest.mark.parametrize(
    ("text", "code"),
    [("甲", "budget"), ("(", "syntax"), ("1 2", "syntax"), ("1/0", "division"), ("1" * 513, "too_long")],
)
def test_errors_in_a_computed_attribute_are_those_of_its_name(text: str, code: str) -> None:
    with pytest.raises(DiceError) as caught:
        roll("1+甲", variables={"甲": Computed(text)})
    assert (caught.value.code, caught.value.span) == (code, (2, 3))


def test_assigned_names_end_with_their_round() -> None:
    result = roll("2#x=d6;x+x", rng=rng.replay([2, 5]))
    assert result.value == [4, 10]


def test_a_name_of_one_round_is_unknown_in_the_next() -> None:
    with pytest.raises(DiceError) as caught:
        roll("2#d2>1?y:0", variables={"y": Computed("y2")}, rng=rng.replay([1, 2]))
    assert caught.value.code == "name"


def test_a_computed_attribute_may_assign_for_itself() -> None:
    assert roll("z=1;甲+z", variables={"甲": Computed("x=5;x+1")}).value == 7
