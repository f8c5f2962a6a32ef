"""The estimate of the time that is left, beside curves whose end is known."""

import math

import numpy as np
import pytest

from mapdp import MAPDP, in_blocks
from mapdp.cli import show
from mapdp.cli.time_left import seconds_left
from mapdp.cli.watched_blocks import WatchedBlocks
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


def test_a_pass_over_blocks_shows_rows_per_second_and_the_time_left():
    shown = show.Pass(3, 4000, 0.0).shown(1000, 2.0)
    assert shown == "pass 3 #####............... 1,000 of 4,000 rows, 500 rows/s, about 6 s left of it"
    assert show.Pass(3, 4000, 0.0).shown(4000, 8.0).endswith("500 rows/s")


def test_every_pass_of_a_fit_in_blocks_is_watched(monkeypatch, rng):
    line, said = show.ProgressLine(quiet=True), []
    monkeypatch.setattr(line, "say", said.append)
    X = rng.normal(size=(90, 2)) + 9.0 * (np.arange(90) % 3)[:, None]
    model = MAPDP(callback=line.step).fit(WatchedBlocks(in_blocks(X, rows=40), line))
    np.testing.assert_array_equal(model.labels_, MAPDP().fit(in_blocks(X, rows=40)).labels_)
    passes = [text for text in said if text.startswith("pass")]
    assert [text.split(" of ")[0].split()[-1] for text in passes[:3]] == ["40", "80", "90"]
    assert passes[-1].startswith(f"pass {len(passes) // 3} {'#' * 20} 90 of 90 rows, ")
    assert f"3 clusters, log joint {model.log_joint_:,.1f}" in passes[-1]
    assert "searching a sample of 90 rows" in said
