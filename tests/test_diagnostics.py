import csv
import math
import pathlib

import numpy as np
import pytest

from mapdp.sampling.diagnostics import raftery_lewis

REFERENCES = pathlib.Path(__file__).with_name("references") / "raftery_lewis.csv"
ROWS = csv.DictReader(REFERENCES.read_text().splitlines())
CASES = [{key: float(text) for key, text in row.items()} for row in ROWS]


def chain_of(n, rho, steps):
    """The chain of references/raftery_lewis.R, number by number."""
    seed, last, chain = 12345, 0.0, []
    for _ in range(int(n)):
        seed = 16807 * seed % 2147483647
        last = rho * last + (seed / 2147483647 - 0.5)
        chain.append(math.floor(steps * last) if steps else last)
    return np.array(chain)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(f"{value:g}" for value in case.values()))
def test_raftery_lewis_is_that_of_coda(case):
    chain = chain_of(case["n"], case["rho"], case["steps"])
    found = raftery_lewis(chain, q=case["q"], r=case["r"], s=case["s"])
    assert (found.burn_in, found.total, found.n_min) == (case["burn_in"], case["total"], case["n_min"])
    assert float(f"{found.dependence:.3g}") == case["dependence"]  # coda gives three digits
    assert (found.total - found.burn_in) % found.thinning == 0


def test_thinning_undoes_repetition():
    """Numbers that stay for three sweeps each are no Markov chain of first order until thinned by three."""
    fresh = chain_of(4000, 0.0, 0)
    assert raftery_lewis(fresh, q=0.5, r=0.05, s=0.9).thinning == 1
    assert raftery_lewis(np.repeat(fresh, 3), q=0.5, r=0.05, s=0.9).thinning >= 3


@pytest.mark.parametrize(
    "chain", [np.full(1000, 3.0), np.arange(1000.0), np.tile([0.0, 1.0], 500), np.r_[np.zeros(999), 1.0]]
)
def test_odd_chains_get_an_answer(chain):
    found = raftery_lewis(chain, q=0.5, r=0.1, s=0.9)
    assert found.total >= found.burn_in >= 0
    assert found.n_min == 68


def test_a_chain_that_stands_still_has_no_dependence_to_speak_of():
    found = raftery_lewis(np.full(1000, 3.0), r=0.01)
    assert (found.burn_in, found.total, found.n_min) == (0, 937, 937)
    assert math.isnan(found.dependence)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"chain": np.zeros(100)}, "at least 3746 sweeps for q=0.025, r=0.005, s=0.95, got shape (100,)"),
        ({"chain": np.zeros((2, 5000))}, "chain must be one-dimensional"),
        ({"chain": np.zeros(5000), "q": 0.0}, "q must be between 0 and 1, got 0.0"),
        ({"chain": np.full(5000, np.nan)}, "chain must be finite numbers"),
        ({"chain": np.zeros(5000), "s": 1.5}, "s must be between 0 and 1, got 1.5"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(arguments, words):
    with pytest.raises(ValueError, match="Hint") as caught:
        raftery_lewis(**arguments)
    assert words in str(caught.value)
