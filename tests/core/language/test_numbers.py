"""How numbers are written: English as Python writes them, every language with the same digits."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.language import Language, codes, english, load
from benchlab.language.numbers import MISSING, Numbers, rate_decimals

FIGURES = st.floats(-1e12, 1e12)


class German(Language):
    """Signs of another language than those with a locale file, and English words."""

    def __init__(self) -> None:
        super().__init__("en")
        self.code = "de"

    def say(self, id: str, /, **values: object) -> str:  # noqa: A002
        """In English."""
        return english().say(id, **values)  # type: ignore[arg-type]


@given(value=FIGURES, decimals=st.integers(0, 6))
def test_english_is_rounded_as_python_rounds(value: float, decimals: int) -> None:
    """The figure itself is rounded, not its decimal notation, and thousands are grouped."""
    shown = Numbers(english()).rate(value, decimals)
    assert shown == f"{value:,.{decimals}f}"


@given(value=FIGURES)
def test_a_change_has_a_sign_unless_it_is_printed_as_zero(value: float) -> None:
    """Also below a percent and above a thousand."""
    shown = Numbers(english()).change(value)
    assert shown == ("0.00%" if round(value, 2) == 0 else f"{value:+,.2f}%")


@given(value=FIGURES, threshold=st.sampled_from([0.5, 2.0, 5.0]))
def test_a_size_is_the_estimate_without_its_sign(value: float, threshold: float) -> None:
    """What a sentence says in words is not said by a sign once more."""
    numbers = Numbers(english())
    assert numbers.size(value, threshold) == numbers.estimate(value, threshold).lstrip("+-")


@pytest.mark.parametrize("code", codes())
@given(value=FIGURES)
def test_no_language_has_other_digits(code: str, value: float) -> None:
    """A figure is the same in every language, however it is written."""

    def digits(numbers: Numbers) -> list[str]:
        shown = (
            numbers.rate(value, 1),
            numbers.milliseconds(value),
            numbers.whole(value),
            numbers.change(value),
            numbers.estimate(value, 2.0),
            numbers.interval((value, value + 1), 2.0),
            numbers.share(value, 1),
            numbers.p_value(abs(value) % 1),
        )
        return re.findall(r"\d", "".join(shown))

    assert digits(Numbers(load(code))) == digits(Numbers(english()))


def test_signs_follow_the_language() -> None:
    """Decimal sign, grouping, and what stands before the percent sign."""
    numbers = Numbers(German())
    assert numbers.rate(1234567.25, 2) == "1.234.567,25"
    assert numbers.change(-1234.5) == "-1.234,50\N{NO-BREAK SPACE}%"
    assert numbers.limit(2.5) == "2,5\N{NO-BREAK SPACE}%"
    assert numbers.p_value(0.0001) == "< 0,001"
    assert numbers.general(0.25) == "0,25"


def test_ticks_have_no_more_decimals_than_they_need() -> None:
    """An axis of whole figures has whole figures; zero has no sign."""
    numbers = Numbers(english())
    assert [numbers.general(value) for value in (0.0, 2000.0, 0.25)] == ["0", "2,000", "0.25"]
    assert [numbers.general_change(value) for value in (-5.0, 0.0, 2.5)] == ["-5%", "0", "+2.5%"]


@pytest.mark.parametrize("code", codes())
def test_what_is_missing_is_missing_in_every_language(code: str) -> None:
    """Never zero."""
    numbers = Numbers(load(code))
    shown = {
        numbers.rate(None, 1),
        numbers.milliseconds(None),
        numbers.whole(None),
        numbers.change(None),
        numbers.estimate(None, 2.0),
        numbers.interval(None, 2.0),
        numbers.p_value(None),
        numbers.duration(None),
    }
    assert shown == {MISSING}


@pytest.mark.parametrize(
    ("seconds", "english_words", "chinese_words"),
    [
        (0.4, "0 s", "0 秒"),
        (59.6, "1 min 0 s", "1 分 0 秒"),
        (570, "9 min 30 s", "9 分 30 秒"),
        (3660, "1 h 1 min", "1 小时 1 分"),
    ],
)
def test_a_duration_is_said_in_words(
    seconds: float, english_words: str, chinese_words: str
) -> None:
    """The two largest units."""
    value = timedelta(seconds=seconds)
    assert Numbers(english()).duration(value) == english_words
    assert Numbers(load("zh")).duration(value) == chinese_words


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([10_000.0, 20_000.0], 0), ([9_999.0, None], 1), ([999.0, 20_000.0], 2), ([], 2)],
)
def test_small_rates_have_more_decimals(values: list[float | None], decimals: int) -> None:
    """Percentages that are recomputed from a printed table agree with the printed ones."""
    assert rate_decimals(values) == decimals
