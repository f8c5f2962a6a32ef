"""Sparse matrices: the same model as the dense table, never made dense."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

import mapdp
from mapdp import MAPDP, Bernoulli, DiagonalGaussian, GibbsDPM, Multinomial, log_joint
from mapdp.data.sparse import MOST, SparseRows
from mapdp.families import verbs
from mapdp.families.levels import listed_columns
from mapdp.families.levels.listed_bernoulli import tabulated
from mapdp.families.levels.listing import listing, row_numbers
from mapdp.insights import wide
from mapdp.partitions.labels import adjusted_rand
from tests.partitions import all_partitions

FAMILIES = [Multinomial, Bernoulli]
over_families = pytest.mark.parametrize("family", FAMILIES, ids=["Multinomial", "Bernoulli"])


def documents(rng, family, n_rows=60, n_columns=20, n_topics=3, most=40):
    shares = rng.dirichlet(np.full(n_columns, 0.3), size=n_topics)
    lengths, y = rng.integers(most // 4, most, n_rows), np.arange(n_rows) % n_topics
    X = np.array([rng.multinomial(n, shares[k]) for n, k in zip(lengths, y, strict=True)])
    return (X > 0 if family is Bernoulli else X).astype(float)


@over_families
@pytest.mark.parametrize("prior", [None, "learned"])
def test_a_sparse_fit_is_the_dense_fit(family, prior, rng):
    X, new = documents(rng, family), documents(rng, family, n_rows=15)
    dense = MAPDP(1.0, family=family, prior=prior, random_state=0).fit(X)
    sparse = MAPDP(1.0, family=family, prior=prior, random_state=0).fit(csr_array(X))
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_allclose(sparse.log_joint_, dense.log_joint_, rtol=1e-12)
    for model in (dense, sparse):
        for table in (csr_matrix(new), csr_array(new)):
            assert_array_equal(model.predict(table), dense.predict(new))
            assert_allclose(model.predict_proba(table), dense.predict_proba(new), rtol=1e-9, atol=1e-12)
            assert_allclose(model.score_samples(table), dense.score_samples(new), rtol=1e-11)
    assert_allclose(sparse.score_samples(new), dense.score_samples(new), rtol=1e-11)
    labels = rng.integers(0, 4, len(X))
    assert_allclose(sparse.log_joint_of(csr_array(X), labels), dense.log_joint_of(X, labels), rtol=1e-12)
    assert str(sparse.describe()) == str(dense.describe())
    assert str(sparse.models_).split()[:6] == str(dense.models_).split()[:6]


@over_families
def test_the_best_of_all_partitions_is_found(family, rng):
    X = documents(rng, family, n_rows=7, n_columns=5, most=12)
    X[3] = 0.0
    prior = family.empirical(X)
    model = MAPDP(1.0, family=prior, random_state=0).fit(csr_array(X))
    joints = [log_joint(X, labels, alpha=1.0, family=prior) for labels in all_partitions(7)]
    assert_allclose(model.log_joint_, max(joints), rtol=1e-12)


@pytest.mark.parametrize("dispersion", [1.0, 2.5, None])
def test_verbs_are_those_of_the_plain_family(dispersion, rng):
    """Rows come and go; what is left must be what the dense family says of the rows that stayed."""
    kind = Bernoulli if dispersion is None else Multinomial
    X = documents(rng, kind, n_rows=12, most=60)
    X[:, 0] = 1.0  # a column that all rows have
    X[:, 1] = 0.0
    plain = (
        kind.empirical(X)
        if dispersion is None
        else Multinomial(kind.empirical(X).concentration, dispersion)
    )
    rows = SparseRows.of(csr_array(X))
    family = listing(plain, rows, len(X))
    bank, x, nothing = family.bank(3), row_numbers(rows), family.scratch()
    for i in range(12):
        verbs.insert(bank, i % 2, x[i], nothing)
    verbs.pour(bank, 2, bank, 0, 1.0, nothing)
    for i in (0, 2, 4):
        verbs.remove(bank, 0, x[i], nothing)
    held, scores = (X[[6, 8, 10]], X[1::2], X[0::2]), np.zeros(8)
    for k, some in enumerate(held):
        verbs.refresh(bank, k)
        assert_allclose(verbs.log_marginal(bank, k), plain.log_marginal(some), rtol=1e-12)
    verbs.log_predictive(bank, x[3], 3, scores, nothing)
    assert_allclose(scores[:3], [plain.log_predictive(X[3], some) for some in held], rtol=1e-11)
    without = plain.log_predictive(X[8], X[[6, 10]])
    assert_allclose(verbs.log_leave_one_out(bank, 0, x[8], nothing), without, rtol=1e-11)
    assert_allclose(
        family.plain_bank(bank).tally, family.plain_bank(family.listed_bank(family.plain_bank(bank))).tally
    )


def test_rows_that_have_all_left_leave_the_prior(rng):
    rows = SparseRows.of(csr_array(documents(rng, Bernoulli, n_rows=4)))
    family = listing(Bernoulli(np.full(20, 0.5), np.ones(20)), rows, 4)
    bank, x, nothing = family.bank(2), row_numbers(rows), family.scratch()
    for verb in (verbs.insert, verbs.remove):
        for i in range(4):
            verb(bank, 0, x[i], nothing)
    scores = np.zeros(8)
    verbs.refresh(bank, 0)
    verbs.log_predictive(bank, x[1], 2, scores, nothing)
    assert_allclose([scores[0], verbs.log_marginal(bank, 0)], [scores[1], 0.0], atol=1e-12)
    assert np.isfinite(bank.constant_without).all()


@pytest.mark.parametrize("pole", [1e-9, 0.3, 1e4])
@pytest.mark.parametrize("last", [0, 5, 31, 32, 33, 5000])
def test_tables_of_smooth_functions_are_exact(pole, last):
    table = tabulated(lambda n: float(np.log1p(0.7 / (pole + n))), last)
    assert_allclose(table, np.log1p(0.7 / (pole + np.arange(last + 1))), rtol=1e-13, atol=1e-15)


@over_families
def test_topics_are_found_in_more_columns_than_guesses_look_at(family, rng):
    X = documents(rng, family, n_rows=150, n_columns=1000, most=300)
    prior = family.empirical(X, 10.0 if family is Bernoulli else 0.1)
    dense = MAPDP(1.0, family=prior, random_state=0).fit(X)
    sparse = MAPDP(1.0, family=prior, random_state=0).fit(csr_array(X))
    assert X.shape[1] > MOST
    assert (
        adjusted_rand(np.arange(150) % 3, sparse.labels_)
        == adjusted_rand(dense.labels_, sparse.labels_)
        == 1.0
    )
    assert_allclose(sparse.log_joint_, dense.log_joint_, rtol=1e-12)


def test_the_main_axes_keep_what_rows_have_in_common(rng):
    X = np.zeros((40, 500))
    X[:20, :250] = X[20:, 250:] = 1.0
    X[rng.random(X.shape) < 0.05] = 1.0
    rows = SparseRows.of(csr_array(X))
    few = rows.few_columns(rows.value)
    left, size, _ = np.linalg.svd(X, full_matrices=False)
    assert few.shape == (40, MOST)
    assert_allclose(np.abs(few[:, :2].T @ left[:, :2]), np.eye(2), atol=1e-6)
    assert_allclose(few.T @ few, np.eye(MOST), atol=1e-12)
    assert size[1] > 2.0 * size[2]


@over_families
def test_memory_goes_with_what_is_there(family):
    n_rows, n_columns, rng = 2000, 12_000, np.random.default_rng(0)
    place = (rng.integers(0, 200, (n_rows, 10)) + 200 * (np.arange(n_rows) % 2)[:, None]).ravel()
    row = np.repeat(np.arange(n_rows), 10)
    X = csr_array((np.ones(len(row)), (row, place)), shape=(n_rows, n_columns))
    X.data[:] = 1.0
    prior = family.empirical(X, 10.0 if family is Bernoulli else 0.001)
    model = MAPDP(1.0, family=prior, search="icm", init=np.arange(n_rows) % 2)
    model.fit(X).predict(X)  # whatever has to be compiled
    tracemalloc.start()
    model.fit(X).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_clusters_ == 2
    assert peak < 0.4 * 8 * n_rows * n_columns  # 192 MB as a dense table


@over_families
def test_any_format_will_do_and_stays_as_it_is(family, rng):
    X = documents(rng, family)
    expected = MAPDP(1.0, family=family).fit(X)
    whole = coo_array(X)
    zeros = csr_array(X)
    zeros.data[:3] = 0.0
    X[zeros.tocoo().coords[0][:3], zeros.tocoo().coords[1][:3]] = 0.0
    kept = zeros.copy()
    assert_allclose(
        MAPDP(1.0, family=family).fit(zeros).log_joint_, MAPDP(1.0, family=family).fit(X).log_joint_
    )
    assert_array_equal(zeros.data, kept.data)
    assert zeros.nnz == kept.nnz
    for table in (whole, csc_array(whole), csr_array(whole).astype(np.int64)):
        assert_allclose(MAPDP(1.0, family=family).fit(table).log_joint_, expected.log_joint_, rtol=1e-12)


def test_cells_that_are_named_twice_add_up(rng):
    X = documents(rng, Multinomial)
    once, expected = coo_array(X), MAPDP(1.0, family=Multinomial).fit(2.0 * X)
    rows, columns = (np.tile(one, 2) for one in once.coords)
    twice = coo_array((np.tile(once.data, 2), (rows, columns)), shape=X.shape)
    assert_allclose(MAPDP(1.0, family=Multinomial).fit(twice).log_joint_, expected.log_joint_, rtol=1e-12)


@over_families
@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (2, 50), (5, 1), (40, 50)])
def test_tables_of_hardly_anything_are_fitted(family, shape):
    for X in (np.zeros(shape), np.eye(*shape), np.ones(shape)):
        prior = family.empirical(X)
        model = MAPDP(1.0, family=prior).fit(csr_array(X))
        expected = log_joint(X, model.labels_, alpha=1.0, family=prior)
        assert_allclose(model.log_joint_, expected, rtol=1e-11, atol=1e-11)


def test_threads_do_not_matter(rng):
    X = csr_array(documents(rng, Multinomial, n_columns=100))
    one, two = (MAPDP(1.0, family=Multinomial, n_init=3, random_state=0, n_jobs=n).fit(X) for n in (1, 2))
    assert_array_equal(one.labels_, two.labels_)


@over_families
def test_wide_tables_are_described_by_their_columns_that_matter(family, rng, monkeypatch):
    X = documents(rng, family, n_columns=60)
    model = MAPDP(1.0, family=family.empirical(X, 5.0 if family is Bernoulli else 0.1)).fit(csr_array(X))
    whole, tree = model.describe(), model.describe_tree()
    assert model.n_clusters_ > 1
    monkeypatch.setattr(wide, "WIDE", 50)
    monkeypatch.setattr(wide, "_NAMED", 5)
    for all_of_it, some in zip(whole, model.describe(), strict=True):
        named = {feature.name: feature for feature in all_of_it.features}
        assert 5 <= len(some.features) < 60
        for feature in some.features:
            assert (feature.here, feature.overall) == (
                named[feature.name].here,
                named[feature.name].overall,
            )
            assert_allclose(feature.nats, named[feature.name].nats, rtol=1e-9, atol=1e-9)
        assert [one.name for one in some.features[:5]] == [one.name for one in all_of_it.features[:5]]
    assert len(model.describe_tree().splits) == len(tree.splits)


@over_families
def test_a_saved_sparse_fit_is_as_it_was(family, rng, tmp_path):
    X = csr_array(documents(rng, family))
    model = MAPDP(1.0, family=family).fit(X)
    mapdp.save(model, tmp_path / "model.mapdp")
    again = mapdp.load(tmp_path / "model.mapdp")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.cut(1).predict(X), model.cut(1).predict(X.toarray()))


def test_scikit_learn_is_told_which_models_take_sparse_rows():
    tags = [
        MAPDP(family=f).__sklearn_tags__().input_tags.sparse for f in (None, *FAMILIES, DiagonalGaussian)
    ]
    assert tags == [False, True, True, False]
    assert MAPDP(family=Bernoulli([1.0], [1.0])).__sklearn_tags__().input_tags.sparse


@pytest.mark.parametrize(
    "use",
    [
        lambda X: MAPDP().fit(X),
        lambda X: MAPDP(family=DiagonalGaussian).fit(X),
        lambda X: GibbsDPM(family=Multinomial).fit(X),
        lambda X: MAPDP(family=Multinomial).partial_fit(X),
        lambda X: MAPDP(1.0, family=DiagonalGaussian).fit(X.toarray()).predict(X),
        lambda X: MAPDP(family=Multinomial).fit(X).explain(X),
        lambda X: MAPDP(family=Multinomial).fit(X).uncertainty(X),
        lambda X: Multinomial.clumped(X),
    ],
)
def test_what_is_not_for_sparse_rows_says_so(use, rng):
    with pytest.raises(
        TypeError, match=r"X must be dense here, got a sparse matrix. Hint: MAPDP\(family=Mult"
    ):
        use(csr_array(documents(rng, Multinomial)))


@pytest.mark.parametrize(
    ("family", "cell", "message"),
    [
        (Multinomial, -2.0, "counts must not be negative, got -2.0 in column 7, row 3"),
        (Multinomial, 2.5, "counts must be whole numbers, got 2.5 in column 7, row 3"),
        (Multinomial, 1e17, "counts must be at most 2\\^53 to be exact, got 1e\\+17 in column 7, row 3"),
        (Multinomial, np.nan, "X must be finite, got nan in column 7, row 3"),
        (Bernoulli, np.inf, "X must be finite, got inf in column 7, row 3"),
        (Bernoulli, 2.0, "Bernoulli columns must be 0 or 1, got 2.0 in column 7, row 3"),
    ],
)
def test_bad_cells_are_named(family, cell, message, rng):
    X = documents(rng, family)
    model = MAPDP(1.0, family=family).fit(csr_array(X))
    X[3, 7] = cell
    for use in (MAPDP(family=family).fit, model.predict, family.empirical):
        with pytest.raises(ValueError, match=message):
            use(csr_array(X))


def test_what_sparse_fits_do_without_is_said(rng):
    X = csr_array(documents(rng, Multinomial))
    given = [
        {"sample_weight": np.arange(60.0)},
        {"groups": np.arange(60) // 2},
        {"y": np.arange(60) % 2 - 1},
    ]
    for more in given:
        with pytest.raises(ValueError, match="a sparse X is fitted without background, weights, groups"):
            MAPDP(1.0, family=Multinomial).fit(X, **more)
    with pytest.raises(ValueError, match="a sparse X is fitted without background"):
        MAPDP(1.0, family=Multinomial, background=True).fit(X)
    with pytest.raises(ValueError, match="columns says what columns hold"):
        MAPDP(family=Multinomial, columns={0: "count"}).fit(X)
    with pytest.raises(ValueError, match="has 19 features, but MAPDP is expecting 20"):
        MAPDP(1.0, family=Multinomial).fit(X).predict(X[:, :19])
    with pytest.raises(ValueError, match="family describes 3 columns, but X has 20"):
        MAPDP(family=Multinomial([1.0, 1.0, 1.0])).fit(X)


def test_more_clusters_than_memory_holds_are_refused(rng, monkeypatch):
    monkeypatch.setattr(listed_columns, "_MOST_BYTES", 13 * 20 * 32)
    with pytest.raises(MemoryError, match="64 clusters of 20 columns would take 0 GB: under this prior"):
        MAPDP(1.0, family=Bernoulli, init="singletons").fit(csr_array(documents(rng, Bernoulli)))
