"""The estimate of the time that is left, beside curves whose end is known."""

import math

import pytest

from mapdp.cli import show
from mapdp.cli.time_left import seconds_left
from mapdp.engine.trace import Step


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("until", [6.0, 20.0])
def test_an_exponential_curve_ends_where_half_as_long_gains_a_millionth(rate, until):
    times = [until * i / 200 for i in range(201)]
    joints = [-1000.0 - 500.0 * math.exp(-rate * t) for t in times]
    left, half = seconds_left(times, joints), until / 2

    def gained_before(t):  # over half of the time so far
        return 500.0 * (math.exp(-rate * (t - half)) - math.exp(-rate * t))

    least = 1e-6 * abs(joints[-1])
    if gained_before(until) > least:
        assert gained_before(until + left) == pytest.approx(least, rel=1e-6)
    else:
        assert left == 0.0


def test_nothing_is_said_too_early_or_where_gains_do_not_fall():
    assert seconds_left([0.0, 1.0, 2.0], [-9.0, -2.0, -1.0]) is None
    assert seconds_left([0.0, 5.0, 10.0], [-9.0, -8.0, -1.0]) is None
    assert seconds_left([0.0, 5.0, 10.0], [-9.0, -1.0, -1.0]) is None
    assert seconds_left([3.0], [-9.0]) is None


def test_progress_says_what_is_left_of_a_climb():
    line, said = show.ProgressLine(quiet=True), []
    line.say = said.append
    for climb in (0, 1):
        for at, joint in ((0.0, -1e6), (5.0, -1e5), (10.0, -1e4)):
            line.step(Step("sweep", 1, 3, 7, 0, joint, 100.0 * climb + at, climb))
    assert ["about 35 s left" in text for text in said] == [False, False, True] * 2
