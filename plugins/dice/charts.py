"""Owns the charts of a distribution: bars of text for chat, and a PNG picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from plugin_host import CallError

if TYPE_CHECKING:
    from plugins.dice.engine.odds import Distribution

BAR_CELLS = 12
EIGHTHS = " ▏▎▍▌▋▊▉█"
PICTURE_BINS = 120
PICTURE_INCHES = (8.0, 4.5)
PICTURE_DPI = 100
TITLE_CHARACTERS = 60
# Fonts with Chinese characters, the first one that is installed is used.
CHINESE_FONTS = (
    "Noto Sans CJK SC", "Source Han Sans SC", "Microsoft YaHei", "SimHei", "PingFang SC", "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei", "Noto Sans SC",
)  # fmt: skip
BAR_COLOUR = "#4c72b0"
TAIL_COLOUR = "#c44e52"


@dataclass(frozen=True, slots=True)
class Bin:
    """Some neighbouring values, or one, and how likely they are together."""

    label: str
    share: Fraction
    tail: bool = False


def bins(distribution: Distribution, most: int) -> list[Bin]:
    """The values in ascending order as at most `most` bins of equal width; one more for the tail, if any.

    Integers that are too many share bins; other values that are too many are cut to the likeliest.
    """
    shares = distribution.probabilities
    whole = [value for value in shares if isinstance(value, int)]
    if len(whole) < len(shares):
        found = _likeliest(distribution, most)
    elif whole[-1] - whole[0] < most:
        found = [Bin(str(value), shares.get(value, Fraction(0))) for value in range(whole[0], whole[-1] + 1)]
    else:
        found = _grouped(distribution, whole, most)
    if distribution.tail:
        found.append(Bin(f">{distribution.maximum}", distribution.tail, tail=True))
    return found


def _likeliest(distribution: Distribution, most: int) -> list[Bin]:
    shares = distribution.probabilities
    chosen = set(sorted(shares, key=shares.__getitem__, reverse=True)[:most])
    found = [Bin(_shown(value), share) for value, share in shares.items() if value in chosen]
    left = 1 - distribution.tail - sum(item.share for item in found)
    return [*found, Bin("其余", left)] if left else found


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 12 else text[:11] + "…"


def _grouped(distribution: Distribution, whole: Sequence[int], most: int) -> list[Bin]:
    """Bins of one width; only the likely range is cut fine, what lies around it is one bin at each end."""
    low, high = _likely_range(distribution, whole)
    width = -(-(high - low + 1) // most)
    counts = distribution.weights.counts
    sums: dict[int, int] = {}
    for value in whole:
        at = (min(max(value, low), high) - low) // width
        sums[at] = sums.get(at, 0) + counts[value]
    found = []
    for at in range((high - low) // width + 1):
        first = whole[0] if at == 0 else low + at * width
        last = min(low + (at + 1) * width - 1, high)
        last = whole[-1] if last == high else last
        label = str(first) if first == last else f"{first}~{last}"
        found.append(Bin(label, Fraction(sums.get(at, 0), distribution.weights.total)))
    return found


def _likely_range(distribution: Distribution, whole: Sequence[int]) -> tuple[int, int]:
    """The values within four standard deviations: beyond them every bar would be empty."""
    middle, reach = int(distribution.mean), int(4 * distribution.sd) + 1
    return max(whole[0], middle - reach), min(whole[-1], middle + reach)


def bars(distribution: Distribution, rows: int = 12) -> str:
    """A bar chart as lines of text, at most `rows` of them and one for the tail.

    Numbers stand before the bars, padded to one width, so that bars start in one column as far as the
    font allows. Values that are too many for the rows share them.
    """
    found = bins(distribution, max(1, rows))
    highest = max(item.share for item in found)
    width = max(len(item.label) for item in found)
    return "\n".join(
        f"{item.label:>{width}} {percent(item.share):>6} {_bar(item.share / highest)}".rstrip() for item in found
    )


def percent(share: Fraction) -> str:
    """A probability as people read it; what is not certain or impossible never looks so."""
    if share in (0, 1):
        return f"{int(share) * 100}%"
    text = f"{float(share) * 100:.1f}%"
    if text == "0.0%":
        return "<0.1%"
    return ">99.9%" if text == "100.0%" else text


def _bar(part: Fraction) -> str:
    eighths = round(part * BAR_CELLS * 8)
    if part and not eighths:
        eighths = 1
    full, rest = divmod(eighths, 8)
    return EIGHTHS[8] * full + (EIGHTHS[rest] if rest else "")


def png(distribution: Distribution, title: str) -> bytes:
    """A bar chart as a PNG file; blocking work of about a second at first use.

    Raises CallError `charts_missing` when matplotlib is not installed.
    """
    try:
        # An optional extra that takes long to import: only those who ask for a picture pay for it.
        figures, fonts = import_module("matplotlib.figure"), import_module("matplotlib.font_manager")
    except ImportError:
        raise CallError("画图需要安装可选组件 matplotlib（plugin-host[charts]）", code="charts_missing") from None
    found = bins(distribution, PICTURE_BINS)
    figure = figures.Figure(figsize=PICTURE_INCHES, dpi=PICTURE_DPI, layout="constrained")
    axes = figure.add_subplot()
    places = range(len(found))
    colours = [TAIL_COLOUR if item.tail else BAR_COLOUR for item in found]
    axes.bar(places, [float(item.share) * 100 for item in found], width=0.9, color=colours)
    step = -(-len(found) // 12)
    family = _chinese_font(fonts)
    style: dict[str, Any] = {"fontfamily": family} if family else {}
    labels = [_writable(item.label, family) for item in found]
    axes.set_xticks(list(places)[::step], labels[::step], parse_math=False, **style)
    axes.set_ylabel("%")
    axes.set_title(_writable(title, family)[:TITLE_CHARACTERS], parse_math=False, **style)
    axes.grid(axis="y", alpha=0.3)
    target = BytesIO()
    figure.savefig(target, format="png")
    return target.getvalue()


def _chinese_font(fonts: Any) -> str | None:
    installed = {font.name for font in fonts.fontManager.ttflist}
    return next((name for name in CHINESE_FONTS if name in installed), None)


def _writable(text: str, family: str | None) -> str:
    """`text` without what no font at hand can show: control characters, and Chinese where no font has it."""
    shown = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return shown if family else "".join(char for char in shown if ord(char) < 0x250)
