"""The paper's experiments: small runs of them, its claims, and runs that go on where they stopped."""

import copy

import numpy as np
import pytest

from experiments.map_dpm_2014 import crp, run, store, uci
from mapdp.data.datasets import _SOURCES, NAMES, digest, load_uci
from tests.data import uci as without_constants


@pytest.fixture(scope="module")
def draws():
    return [crp.one_draw(f"{draw:03d}") for draw in range(crp.QUICK)]


def test_the_claims_hold_on_a_few_draws(draws):
    held = {claim: holds for claim, holds in crp.claims(draws).items() if "CPU" not in claim}
    assert all(held.values()), held
    page = crp._page(draws)
    assert page.count("| nmi |") == len(crp.METHODS)
    assert "MAP-DPM as printed (single start)" in page


def test_a_claim_can_fail(draws):
    assert crp.claims(draws[:1])["MAP finds too few clusters"]
    other = copy.deepcopy(draws[0])
    other["MAP-DPM, sequential start"]["more_clusters"] = 3.0
    assert not crp.claims([other])["MAP finds too few clusters"]


def test_a_run_goes_on_where_it_stopped(tmp_path):
    first = store.results("letters", ["a", "b"], str.upper, tmp_path)
    (tmp_path / "a.json").write_text('"kept"')
    assert first == ["A", "B"]
    assert store.results("letters", ["a", "b", "c"], str.upper, tmp_path) == ["kept", "B", "C"]


def test_verdicts_are_in_units_of_the_papers_spread():
    assert store.verdict(0.7, 0.71, 0.1).startswith("agrees")
    assert store.verdict(0.5, 0.71, 0.1) == "differs (-2.1 sd)"


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_dp_means_and_map_give_the_papers_numbers(name):
    found = uci.one_set(name)
    (dp_means, _, _), _, _ = uci.PAPER[name]
    assert abs(found["DP-means, true K"]["nmi"] - dp_means) < 0.015
    assert (
        found["MAPDP(family=DiagonalGaussian)"]["nmi"] > found["MAP-DPM as printed (single start)"]["nmi"]
    )


def test_unknown_experiments_are_refused():
    with pytest.raises(ValueError, match="one of crp, uci"):
        run("mnist", quick=True)


@pytest.mark.parametrize("name", NAMES)
def test_data_sets_are_what_their_digest_says(name):
    """The numbers have the digest; with one cell changed by a part in a million they do not."""
    X, y = load_uci(name) if name in ("wine", "iris") else (without_constants(name), load_uci(name))[1]
    assert len(X) == len(y)
    assert digest(X) == _SOURCES[name].digest
    X[-1, 0] += 1e-6 * (1.0 + abs(X[-1, 0]))
    assert digest(X) != _SOURCES[name].digest


def test_a_set_that_cannot_be_found_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("MAPDP_DATA", str(tmp_path))
    monkeypatch.setattr(
        "sklearn.datasets.fetch_openml", lambda **_: (_ for _ in ()).throw(OSError("no network"))
    )
    assert load_uci("iris").X.shape == (150, 4)
    with pytest.raises(ValueError, match=r"vehicle was not found .*no network.* MAPDP_DATA"):
        load_uci("vehicle")
    with pytest.raises(ValueError, match="one of wine"):
        load_uci("mnist")


def test_numbers_that_are_not_the_papers_are_refused(monkeypatch, tmp_path):
    (tmp_path / "uci").mkdir()
    rows = "\n".join(",".join(map(str, row)) + ",a" for row in np.ones((5, 3)))
    (tmp_path / "uci" / "pima.csv").write_text("a,b,c,label\n" + rows)
    monkeypatch.setenv("MAPDP_DATA", str(tmp_path))
    monkeypatch.setattr(
        "sklearn.datasets.fetch_openml", lambda **_: (_ for _ in ()).throw(OSError("no network"))
    )
    with pytest.raises(ValueError, match="other numbers"):
        load_uci("pima")
