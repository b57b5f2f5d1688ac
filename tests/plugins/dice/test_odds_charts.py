"""Charts: every line says what is true, and pictures are made only where matplotlib is installed."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from plugin_host import CallError
from plugins.dice.charts import BAR_CELLS, bars, bins, percent, png
from plugins.dice.engine.odds import odds


def test_bars_of_one_die_are_equally_long() -> None:
    lines = bars(odds("1d4")).split("\n")
    assert lines == [f"{face}  25.0% {'█' * BAR_CELLS}" for face in (1, 2, 3, 4)]


def test_bars_show_what_is_likelier_by_length() -> None:
    assert bars(odds("2d3")) == "\n".join(
        ["2  11.1% ████", "3  22.2% ████████", "4  33.3% ████████████", "5  22.2% ████████", "6  11.1% ████"]
    )


def test_gaps_between_values_are_rows_without_a_bar() -> None:
    assert bars(odds("1d2*2")).split("\n")[1] == "3     0%"


@pytest.mark.parametrize(
    "text", ["3d6", "100d6", "1d100", "1000d6", "10a10", "d6!", "1d6*1000+1d4", "4df", "100d6>=350", "2^200+1d90"]
)
@pytest.mark.parametrize("rows", [1, 5, 12])
def test_rows_are_bounded_and_cover_everything(text: str, rows: int) -> None:
    answer = odds(text)
    found = bins(answer, rows)
    assert len(found) <= rows + bool(answer.tail)
    assert sum(item.share for item in found) == 1
    assert bars(answer, rows).count("\n") == len(found) - 1
    assert found[0].label.startswith(str(answer.minimum))
    assert found[-1].label.endswith(str(answer.maximum))
    assert found[-1].tail == bool(answer.tail)


def test_rows_start_at_n_and_group_at_n_plus_one() -> None:
    assert [item.label for item in bins(odds("1d12"), 12)] == [str(face) for face in range(1, 13)]
    assert [item.label for item in bins(odds("1d13"), 12)] == ["1~2", "3~4", "5~6", "7~8", "9~10", "11~12", "13"]


def test_texts_that_are_too_many_leave_the_likeliest_and_the_rest() -> None:
    found = bins(odds("x=1d6;x==1?'甲',x==2?'乙',x==3?'丙',x>3?'丁'"), 2)
    assert ("丁", Fraction(1, 2)) in [(item.label, item.share) for item in found]
    assert sum(item.share for item in found) == 1
    assert found[-1].label == "其余"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(0), "0%"),
        (Fraction(1), "100%"),
        (Fraction(1, 10**9), "<0.1%"),
        (1 - Fraction(1, 10**9), ">99.9%"),
        (Fraction(1, 2), "50.0%"),
        (Fraction(1, 1000), "0.1%"),
    ],
)
def test_percentages_never_look_more_certain_than_they_are(share: Fraction, text: str) -> None:
    assert percent(share) == text


def test_without_matplotlib_a_picture_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # how Python itself marks a module that cannot be imported
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CallError) as caught:
        png(odds("3d6"), "3d6")
    assert caught.value.code == "charts_missing"


@pytest.mark.parametrize(
    ("text", "title"), [("3d6", "3d6 三围"), ("100d6", "$\\frac{$ _^"), ("d6!", "a\nb\x00"), ("1d2>1?'大'", "")]
)
def test_a_picture_is_a_png_file(text: str, title: str) -> None:
    pytest.importorskip("matplotlib")
    picture = png(odds(text), title)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) > 2000
