"""A fitted model as C: labels and densities as in Python, a naive learner's labels, and no harm done."""

import subprocess
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from typer.testing import CliRunner

import mapdp
from mapdp.cli.app import app
from tests.embedded import cases
from tests.embedded.boards import BOARDS, TOOLS, build, bytes_of, run_on
from tests.embedded.cases import SANITIZED, as_table, case_named, compiled, exported, needs, run
from tests.embedded.naive import NaiveLearner

N = 100_000


@needs("gcc")
@pytest.mark.parametrize(
    ("name", "learn"),
    [
        *[(name, False) for name in cases.NAMES],
        *[(name, True) for name in ("diagonal_gaps", "full", "learned", "mixed", "poisson")],
    ],
)
def test_labels_and_densities_are_those_of_python(name, learn, tmp_path):
    case, rng = case_named(name), np.random.default_rng(1)
    rows = case.rows(rng, N // 10 if learn else N)
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
    numbers = case.model.numbers_of(table)[differ]
    if not len(numbers):
        return
    scores = mixture.scores(mixture.encoded(numbers), np.copy)
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
    cases.skip_unless_sanitizing(compiler)
    case, rng = case_named(name), np.random.default_rng(6)
    with np.errstate(over="ignore"):
        rows = hostile_rows(rng, case, N).astype(np.float32 if precision == "float" else float)
    exported(
        case.model, tmp_path, precision=precision, learn=bool(how), capacity=case.model.n_clusters_ + 1
    )
    found = run(compiled(tmp_path, *SANITIZED, "-DHOSTILE", *how, compiler=compiler), rows, precision)
    assert ((found[:, 0] >= -3) & (found[:, 0] <= case.model.n_clusters_)).all()
    infinite = np.isinf(rows[:, case.model.schema_.used]).any(axis=1)
    if name != "mixed":  # where an unknown level is a gap
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
@pytest.mark.parametrize(
    ("name", "when_full"),
    [*[(name, "merge") for name in cases.NAMES], ("diagonal_gaps", "refuse"), ("poisson", "refuse")],
)
def test_learning_is_the_naive_rule_label_by_label(name, when_full, tmp_path):
    case = case_named(name)
    rows = whole_rows(case, case.rows(np.random.default_rng(4), 12_000))[:10_000]
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
def test_forgetting_frees_clusters_of_a_finite_mixture(tmp_path, rng):
    model = mapdp.MAPDP(covariance="diagonal").fit(
        rng.normal(size=(200, 2)) + 30.0 * (np.arange(200) % 2)[:, None]
    )
    assert isinstance(model.mixture_.process, mapdp.MixtureOfFiniteMixtures)
    exported(model, tmp_path, learn=True, capacity=2)
    near, far = rng.normal(size=(3000, 2)), np.array([[90.0, -90.0]])
    found = run(compiled(tmp_path, "-DLEARN", "-DFORGET=0.9"), np.vstack([near, far]))
    assert found[-1].tolist()[1:] == [-1, -1]  # there is room again: nobody was merged for the last row
    assert found[-1, 0] != found[-2, 0]


@needs("gcc")
@pytest.mark.parametrize(("name", "factor"), [("pitman_yor", 0.99), ("learned", 0.9)])
def test_forgetting_is_the_naive_rule_and_gives_numbers_back(name, factor, tmp_path):
    case = case_named(name)
    rows = case.rows(np.random.default_rng(4), 3000)
    rows = rows[np.argsort(rows[:, 0] > 0.0, kind="stable")]  # half the clusters are never seen again
    exported(case.model, tmp_path, learn=True, capacity=case.model.n_clusters_ + 2)
    found = run(compiled(tmp_path, "-DLEARN", f"-DFORGET={factor}"), rows)
    naive = NaiveLearner(case.model, training_numbers(case), case.model.n_clusters_ + 2, merges=True)
    was_free = False
    for x, told in zip(case.model.numbers_of(rows), found, strict=True):
        cluster, pair = naive.learn(x)
        naive.forget(factor)
        assert told.tolist() == [cluster, *pair]
        was_free |= (naive.sizes == 0.0).any()
    assert was_free
    learned = mapdp.import_state(case.model, (tmp_path / "state.bin").read_bytes())
    assert np.allclose(learned.cluster_sizes_, naive.sizes[learned.device_clusters_], rtol=1e-12)
    taken = naive.sizes > 0.0
    joint = naive.log_marginal(naive.t)[taken].sum() + case.model.mixture_.process.log_eppf(
        naive.sizes[taken]
    )
    units = naive.sizes.sum() * sum(np.log(column.unit) for column in case.model.schema_.columns)
    assert learned.log_joint_ == pytest.approx(joint - units, rel=1e-9)


def joint_of_rows(case, rows, found):
    """Return the log joint of all rows in the clusters that the device last had them in."""
    training = case.rows(np.random.default_rng(3), 400)
    labels = np.concatenate([case.model.labels_, found[:, 0]]).astype(int)
    for i in np.flatnonzero(found[:, 1] >= 0):  # what was merged for row i became part of the other
        before = labels[: 400 + i]
        before[before == found[i, 1]] = found[i, 2]
    return case.model.log_joint_of(np.vstack([training, rows]), labels)


@needs("gcc")
@pytest.mark.parametrize(("precision", "share"), [("double", 0.0), ("float", 1e-6)])
def test_after_a_million_rows_the_state_has_the_joint_of_the_rows(precision, share, tmp_path):
    case = case_named("diagonal")
    rows = np.float32(cases._numbers(np.random.default_rng(8), 1_000_000)).astype(float)
    exported(case.model, tmp_path, precision=precision, learn=True, capacity=8)
    found = run(compiled(tmp_path, "-DLEARN"), rows, precision)
    state = mapdp.import_state(case.model, (tmp_path / "state.bin").read_bytes())
    exact = joint_of_rows(case, rows, found)
    assert abs(state.log_joint_ - exact) <= 1e-6 + share * abs(exact)
    assert state.n_clusters_ == 8


@needs(*TOOLS, "gcc")
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.processor)
@pytest.mark.parametrize(("name", "flags"), [("diagonal", []), ("mixed", ["-DLEARN"])])
def test_a_board_gives_the_labels_of_this_machine(board, name, flags, tmp_path):
    case = case_named(name)
    rows = case.rows(np.random.default_rng(4), 300).astype(np.float32)
    exported(case.model, tmp_path, precision="float", learn=bool(flags), capacity=6)
    expected = run(compiled(tmp_path, *flags), rows, "float")[:, 0]
    expected_state = (tmp_path / "state.bin").read_bytes() if flags else b""
    build(tmp_path, board, *flags)
    labels, instructions = run_on(tmp_path, board, rows)
    assert np.array_equal(labels, expected)
    assert instructions > 100
    if flags:
        here, there = (
            mapdp.import_state(case.model, state)
            for state in (expected_state, (tmp_path / "state.bin").read_bytes())
        )
        assert there.log_joint_ == pytest.approx(here.log_joint_, rel=1e-5)


@needs(*TOOLS)
def test_the_goals_for_flash_ram_and_instructions_are_met(tmp_path):
    """D = 8, K = 16 on an M4F: bytes and instructions are counted, not timed."""
    rng = np.random.default_rng(0)
    centres = np.random.default_rng(7).uniform(-100.0, 100.0, (16, 8))
    labels = np.arange(640) % 16
    X = centres[labels] + rng.normal(size=(640, 8))
    family = mapdp.DiagonalGaussian.empirical(X, scale=0.02)
    model = mapdp.MAPDP(1.0, family=family, init=labels, search="icm").fit(X)
    assert model.n_clusters_ == 16
    exported(model, tmp_path, precision="float")
    assigns = bytes_of(tmp_path, BOARDS[-1])
    assert assigns.code <= 6000
    assert assigns.constants <= 2000
    assert run_on(tmp_path, BOARDS[-1], X[:64].astype(np.float32))[1] < 20_000
    exported(model, tmp_path, precision="float", learn=True, capacity=16)
    learns = bytes_of(tmp_path, BOARDS[-1], "-DLEARN")
    assert learns.code <= 12_000
    assert learns.ram <= 4096


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Return what a device wrote that has learned 50 rows of the mixed table."""
    folder, case = tmp_path_factory.mktemp("state"), case_named("mixed")
    exported(case.model, folder, learn=True)
    run(compiled(folder, "-DLEARN"), case.rows(np.random.default_rng(4), 50))
    return (folder / "state.bin").read_bytes()


@needs("gcc")
def test_what_a_device_learned_predicts_as_python_does(state, tmp_path):
    case = case_named("mixed")
    learned = mapdp.import_state(case.model, bytearray(state))
    assert learned.cluster_sizes_.sum() == case.model.cluster_sizes_.sum() + 50
    table = as_table(case, case.rows(np.random.default_rng(5), 200))
    assert not np.allclose(learned.score_samples(table), case.model.score_samples(table))
    naive = NaiveLearner(case.model, training_numbers(case), 16, merges=True)
    for x in case.model.numbers_of(as_table(case, case.rows(np.random.default_rng(4), 50))):
        naive.learn(x)
    assert np.allclose(naive.sizes[learned.device_clusters_], learned.cluster_sizes_)
    assert learned.describe() is not None
    mapdp.export_c(learned, tmp_path / "again", learn=True)
    with pytest.raises(ValueError, match="no labels to save"):
        mapdp.save(learned, tmp_path / "learned.mapdp")


@needs("gcc")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda state: state[:10], "too short"),
        (lambda state: b"XPDP" + state[4:], "other letters"),
        (lambda state: state[:4] + b"\x07" + state[5:], "version 7"),
        (lambda state: state[:40] + bytes([state[40] ^ 1]) + state[41:], "checksum"),
        (lambda state: signed(state[:-12]), "another length"),
        (lambda state: signed(state[:12] + b"abcd" + state[16:-4]), "another model"),
        (lambda state: signed(state[:5] + b"\x03" + state[6:-4]), "neither 4 nor 8"),
        (lambda state: signed(state[:20] + b"\xff" * 8 + state[28:-4]), "cannot have left"),
    ],
)
def test_a_state_that_is_none_is_refused_in_one_sentence(state, changed, words):
    with pytest.raises(ValueError, match=words) as caught:
        mapdp.import_state(case_named("mixed").model, changed(state))
    assert "\n" not in str(caught.value)


def signed(content):
    return content + zlib.crc32(content).to_bytes(4, "little")


def fitted(family, X, **how):
    return mapdp.MAPDP(1.0, family=family, prior="paper", n_init=1, search="icm", **how).fit(X)


POSITIVE = np.random.default_rng(0).gamma(2.0, 1.0, (30, 2))
COUNTED = np.round(POSITIVE)
FAR = 1e6 + np.random.default_rng(0).normal(scale=0.01, size=(50, 1))


@pytest.mark.parametrize(
    ("model", "how", "words"),
    [
        (lambda: fitted(mapdp.Exponential, POSITIVE), {}, "Exponential, which 'column 0' is, cannot"),
        (lambda: fitted(mapdp.LogNormal, POSITIVE + 1.0), {}, "LogNormal.*cannot"),
        (lambda: fitted(mapdp.FixedGaussian.empirical(POSITIVE), POSITIVE), {}, "FixedGaussian.*cannot"),
        (lambda: fitted(mapdp.Binomial([1.0], [1.0], [20.0]), COUNTED), {}, "Binomial.*cannot"),
        (lambda: fitted(mapdp.Ordered, COUNTED), {"learn": True}, "ordered column"),
        (lambda: case_named("diagonal").model, {"capacity": 2, "learn": True}, "must be at least 5"),
        (lambda: case_named("diagonal").model, {"capacity": 10**6}, "capacity must be"),
        (lambda: case_named("diagonal").model, {"precision": "half"}, "precision must be"),
        (lambda: case_named("diagonal").model, {"when_full": "explode"}, "when_full must be"),
        (lambda: fitted(mapdp.DiagonalGaussian, FAR), {"precision": "float"}, "cannot hold 'column 0'"),
        (lambda: case_named("learned").model, {"precision": "float"}, "cannot hold"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_said_in_one_sentence_and_nothing_written(model, how, words, tmp_path):
    folder = tmp_path / "out"
    with pytest.raises(ValueError, match=words) as caught:
        mapdp.export_c(model(), folder, **how)
    assert "\n" not in str(caught.value)
    assert not folder.exists()


def test_what_is_no_fitted_mixture_is_refused(tmp_path):
    with pytest.raises(TypeError, match="must be a fitted MAPDP"):
        mapdp.export_c(mapdp.DPMeans(), tmp_path)
    with pytest.raises(TypeError, match="whole number"):
        mapdp.export_c(case_named("diagonal").model, tmp_path, capacity="many")
    with pytest.raises(NotFittedError):
        mapdp.export_c(mapdp.MAPDP(), tmp_path)
    assert not list(tmp_path.iterdir())


NASTY = ["*/ int main(void) { return 7; } /*", "a\nb\\", "??/", "| `x` |", "//", "\u2028é", "n" * 500]


@needs("gcc", "clang")
def test_names_of_columns_are_never_code(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 7)), columns=NASTY)
    frame[NASTY[0]] = np.where(frame[NASTY[0]] > 0, NASTY[1], NASTY[0])
    model = mapdp.MAPDP(1.0, prior="paper", n_init=1, search="icm").fit(frame)
    exported(model, tmp_path, learn=True)
    for compiler in ("gcc", "clang"):
        compiled(tmp_path, "-Wcomment", compiler=compiler)
        command = [compiler, *cases.STRICT, "main.c", "mapdp_model.c", "-lm", "-o", "main"]
        subprocess.run(command, cwd=tmp_path, check=True)
    written = "".join(path.read_text() for path in tmp_path.iterdir() if path.suffix in (".c", ".h", ".md"))
    assert not any(name in written for name in NASTY)
    assert written.isascii()


@needs("gcc")
def test_the_example_program_reads_rows_and_learns(tmp_path):
    case = case_named("diagonal_gaps")
    exported(case.model, tmp_path, learn=True)
    subprocess.run(["gcc", "main.c", "mapdp_model.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    rows = case.rows(np.random.default_rng(4), 20)
    text = "\n".join(" ".join(map(repr, row)) for row in rows.tolist())
    told = subprocess.run(
        [tmp_path / "main"], input=text, capture_output=True, text=True, check=True
    ).stdout
    naive = NaiveLearner(case.model, training_numbers(case), 16, merges=True)
    assert [int(line.split()[0]) for line in told.splitlines()] == [naive.learn(x)[0] for x in rows]


def test_the_command_writes_what_the_function_does(tmp_path):
    mapdp.save(case_named("pitman_yor").model, tmp_path / "model.mapdp")
    words = ["export", str(tmp_path / "model.mapdp"), "--c", str(tmp_path / "out"), "--precision", "float"]
    words += ["--capacity", "20", "--learn", "--when-full", "refuse"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    exported(case_named("pitman_yor").model, tmp_path / "again", precision="float", capacity=20, learn=True,
             when_full="refuse")  # fmt: skip
    for name in ("mapdp_model.h", "mapdp_model.c", "main.c", "README.md"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "again" / name).read_text()
    again = CliRunner().invoke(app, words)
    assert "is there already" in str(again.exception)
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 0
