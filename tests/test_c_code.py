"""A fitted model as C: labels and densities as in Python, a naive learner's labels, and no harm done."""

import subprocess

import numpy as np
import pytest

import mapdp
from tests.embedded import cases
from tests.embedded.cases import SANITIZED, as_table, case_named, compiled, exported, needs, run
from tests.embedded.naive import NaiveLearner

over_cases = pytest.mark.parametrize("name", cases.NAMES)
N = 100_000


@needs("gcc")
@over_cases
@pytest.mark.parametrize("learn", [False, True])
def test_labels_and_densities_are_those_of_python(name, learn, tmp_path):
    case, rng = case_named(name), np.random.default_rng(1)
    rows = case.rows(rng, N)
    found = run(compiled(exported(case.model, tmp_path, learn=learn)), rows)
    table = as_table(case, rows)
    assert np.array_equal(found[:, 0], case.model.predict(table))
    densities = case.model.score_samples(table)
    assert (np.abs(found[:, 1] - densities) <= 1e-9 * np.maximum(1.0, np.abs(densities))).all()
    assert len(np.unique(found[:, 0])) > 2


@needs("gcc")
@pytest.mark.parametrize("name", [name for name in cases.NAMES if name != "learned"])
def test_floats_give_the_same_labels_but_for_ties(name, tmp_path):
    case, rng = case_named(name), np.random.default_rng(2)
    rows = np.float32(case.rows(rng, N))
    found = run(compiled(exported(case.model, tmp_path, precision="float")), rows, "float")
    table = as_table(case, rows.astype(float))
    labels, mixture = case.model.predict(table), case.model.mixture_
    differ = found[:, 0] != labels
    assert differ.mean() <= 1e-3
    scores = mixture.scores(mixture.encoded(case.model.numbers_of(table)), np.copy)[differ]
    chosen = np.where(found[differ, 0] < 0, mixture.n_clusters, found[differ, 0]).astype(int)
    assert (scores.max(axis=1) - scores[np.arange(len(scores)), chosen] < 1e-3).all()


@needs("gcc")
@pytest.mark.parametrize(("precision", "close"), [("double", 1e-9), ("float", 1e-4)])
def test_own_logarithms_need_nothing_of_libm(precision, close, tmp_path):
    case, rng = case_named("mixed"), np.random.default_rng(5)
    rows = case.rows(rng, 2000)
    exported(case.model, tmp_path, precision=precision)
    theirs = run(compiled(tmp_path), rows, precision)
    ours = run(compiled(tmp_path, "-DMAPDP_OWN_LOG"), rows, precision)
    assert np.array_equal(ours[:, 0], theirs[:, 0])
    assert np.allclose(ours[:, 1], theirs[:, 1], rtol=close, atol=close)


@needs("gcc", "nm", "size")
def test_the_code_allocates_nothing_and_has_no_globals_that_change(tmp_path):
    exported(case_named("mixed").model, tmp_path, learn=True)
    command = ["gcc", "-std=c99", "-O2", "-DMAPDP_OWN_LOG", "-c", "mapdp_model.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["nm", "-u", "mapdp_model.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert {line.split()[-1] for line in listed.stdout.splitlines()} <= {
        "memcpy",
        "memset",
        "_GLOBAL_OFFSET_TABLE_",
    }
    sizes = subprocess.run(
        ["size", "mapdp_model.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    _, data, bss = sizes.stdout.splitlines()[1].split()[:3]
    assert (data, bss) == ("0", "0")


HOSTILE = [
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -5e-324,
    1e-40,
    1e30,
    -1e30,
    1e308,
    0.0,
    -0.0,
    0.5,
    2.0**53,
    2.0**31,
    -1.0,
    255.0,
]


def hostile_rows(rng, case, n):
    """Rows with anything in them, beside rows of the usual sort."""
    rows = case.rows(rng, n)
    strange = rng.choice(HOSTILE, rows.shape)
    return np.where(rng.random(rows.shape) < rng.choice([0.0, 0.2, 1.0], (n, 1)), strange, rows)


@pytest.mark.parametrize(
    ("compiler", "precision", "how"),
    [
        pytest.param("gcc", "double", [], marks=needs("gcc"), id="gcc-assigns"),
        pytest.param("clang", "float", ["-DLEARN"], marks=needs("clang"), id="clang-learns"),
    ],
)
@pytest.mark.parametrize("name", [name for name in cases.NAMES if name not in ("learned", "pitman_yor")])
def test_hostile_rows_do_no_harm(name, compiler, precision, how, tmp_path):
    case, rng = case_named(name), np.random.default_rng(6)
    with np.errstate(over="ignore"):
        rows = hostile_rows(rng, case, N).astype(np.float32 if precision == "float" else float)
    exported(
        case.model, tmp_path, precision=precision, learn=bool(how), capacity=case.model.n_clusters_ + 1
    )
    found = run(compiled(tmp_path, *SANITIZED, "-DHOSTILE", *how, compiler=compiler), rows, precision)
    assert ((found[:, 0] >= -3) & (found[:, 0] <= case.model.n_clusters_)).all()
    infinite = np.isinf(rows[:, case.model.schema_.used]).any(axis=1)
    if name not in ("mixed", "categorical"):  # an unknown level of a table is a gap
        assert (found[infinite, 0] == -3).all()
    if how:
        learned = mapdp.import_state(case.model, (tmp_path / "state.bin").read_bytes())
        assert np.isfinite(learned.log_joint_)
    else:
        assert np.isnan(found[found[:, 0] == -3, 1]).all()
        assert np.isfinite(found[found[:, 0] != -3, 1]).all()


def training_numbers(case):
    rows = case.rows(np.random.default_rng(3), 400)
    return case.model.numbers_of(as_table(case, rows))


def whole_rows(case, rows):
    """Leave out what no model of whole rows can learn from."""
    return rows if case.model.family_.has_columns else rows[~np.isnan(rows).any(axis=1)]


@needs("gcc")
@over_cases
@pytest.mark.parametrize("when_full", ["merge", "refuse"])
def test_learning_is_the_naive_rule_label_by_label(name, when_full, tmp_path):
    case = case_named(name)
    n = 10_000 if when_full == "merge" else 2000
    rows = whole_rows(case, case.rows(np.random.default_rng(4), n))
    capacity = case.model.n_clusters_ + 2
    exported(case.model, tmp_path, learn=True, capacity=capacity, when_full=when_full)
    found = run(compiled(tmp_path, "-DLEARN"), rows)
    naive = NaiveLearner(case.model, training_numbers(case), capacity, when_full == "merge")
    for x, told in zip(case.model.numbers_of(as_table(case, rows)), found, strict=True):
        cluster, (merged, into) = naive.learn(x)
        assert told.tolist() == [cluster, merged, into]
    learned = mapdp.import_state(case.model, (tmp_path / "state.bin").read_bytes())
    sizes = naive.sizes[learned.device_clusters_]
    assert np.array_equal(learned.cluster_sizes_, sizes)
    assert (np.diff(sizes) <= 0).all()


@needs("gcc")
def test_forgetting_is_the_naive_rule_and_gives_numbers_back(tmp_path):
    case = case_named("pitman_yor")
    rows = case.rows(np.random.default_rng(4), 3000)
    rows = rows[np.argsort(rows[:, 0] > 0.0, kind="stable")]  # half the clusters are never seen again
    exported(case.model, tmp_path, learn=True, capacity=case.model.n_clusters_ + 2)
    found = run(compiled(tmp_path, "-DLEARN", "-DFORGET=0.99"), rows)
    naive = NaiveLearner(case.model, training_numbers(case), case.model.n_clusters_ + 2, merges=True)
    was_free = False
    for x, told in zip(rows, found, strict=True):
        cluster, pair = naive.learn(x)
        naive.forget(0.99)
        assert told.tolist() == [cluster, *pair]
        was_free |= (naive.sizes == 0.0).any()
    assert was_free


def joint_of_rows(case, rows, found, capacity):
    """Return the log joint of all rows in the clusters that the device last had them in."""
    training = case.rows(np.random.default_rng(3), 400)
    labels = np.concatenate([case.model.labels_, found[:, 0]]).astype(int)
    for i in np.flatnonzero(found[:, 1] >= 0)[::-1]:  # what was merged before row i, is part of the other
        before = labels[: 400 + i]
        before[before == found[i, 1]] = found[i, 2] + capacity * (
            i + 1
        )  # a later merge must not move it again
    return case.model.log_joint_of(np.vstack([training, rows]), labels)


@needs("gcc")
@pytest.mark.parametrize(("precision", "off"), [("double", 1e-6), ("float", None)])
def test_after_a_million_rows_the_state_has_the_joint_of_the_rows(precision, off, tmp_path):
    case = case_named("diagonal")
    rows = np.float32(cases._numbers(np.random.default_rng(8), 1_000_000)).astype(float)
    capacity = case.model.n_clusters_ + 1
    exported(case.model, tmp_path, precision=precision, learn=True, capacity=16)
    found = run(compiled(tmp_path, "-DLEARN"), rows, precision)
    state = mapdp.import_state(case.model, (tmp_path / "state.bin").read_bytes())
    exact = joint_of_rows(case, rows, found, 10**9 + capacity)
    assert abs(state.log_joint_ - exact) <= (1e-6 if off else 1e-6 * abs(exact))
