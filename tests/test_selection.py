import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from mapdp import (
    MAPDP,
    Categorical,
    DiagonalGaussian,
    DPMeans,
    Gaussian,
    GibbsDPM,
    MixtureOfFiniteMixtures,
    PitmanYor,
    Poisson,
    Product,
    compare,
    log_joint,
    sample_mixture,
)
from mapdp.partitions.concentration import GammaPrior, InverseGammaPrior, most_probable_alpha
from mapdp.selection import alpha_for, map_alpha, sensitivity
from mapdp.selection.alpha import ALPHAS
from tests.contract.cases import FAMILIES, over_families

CRP_PRIOR = DiagonalGaussian(mean=[1, 1], strength=0.1, shape=1.0, rate=[10, 10])


@pytest.fixture
def draw(seed):
    return sample_mixture(300, 2.0, CRP_PRIOR, np.random.default_rng(seed))


@over_families
@pytest.mark.parametrize("rule", ["map", "nll", "cv"])
def test_every_rule_fits_every_family(case, rule, rng):
    assert_fits(case, rule, case.rows(rng, 90))  # and 72 in a fold: up to 64 have 23 starts for every alpha


@pytest.mark.parametrize("rule", ["map", "nll", "cv"])
def test_every_rule_fits_few_rows(rule, rng):
    assert_fits(FAMILIES[0], rule, FAMILIES[0].rows(rng, 40))


def assert_fits(case, rule, X):
    model = MAPDP(rule, family=case.family).fit(X)
    assert model.alpha_ > 0.0
    value = log_joint(X, model.labels_, alpha=model.alpha_, family=case.family)
    assert_allclose(model.log_joint_, value, rtol=1e-10)


@pytest.mark.parametrize("search", ["split-merge", "icm"])
@pytest.mark.parametrize("prior", ["inverse-gamma", ("gamma", 2.0, 0.5)])
def test_a_learned_alpha_is_the_mode_and_the_joint_never_drops(draw, prior, search):
    model = MAPDP("map", alpha_prior=prior, family=CRP_PRIOR, search=search, n_init=1).fit(draw.X)
    assert_allclose(model.alpha_, map_alpha(300, model.n_clusters_, prior=prior), rtol=1e-4)
    joints = [step.log_joint for step in model.trace_]
    assert (np.diff(joints) > -1e-7).all()
    assert any(step.move == "alpha" for step in model.trace_)
    density = (InverseGammaPrior() if prior == "inverse-gamma" else GammaPrior(2.0, 0.5)).log_density
    assert_allclose(joints[-1], model.log_joint_ + density(model.alpha_), rtol=1e-9)


def test_a_learned_alpha_under_a_discount(draw):
    model = MAPDP("map", discount=0.2, family=CRP_PRIOR).fit(draw.X)
    mode = most_probable_alpha(300, model.n_clusters_, InverseGammaPrior(), 0.2)
    assert_allclose(model.alpha_, mode, rtol=1e-4)


def test_a_grid_of_alphas_goes_on_from_what_the_prior_was_learned_with():
    """A learned prior hands clusters on where there are more rows than it is learned from."""
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=2100)
    model = MAPDP(discount=0.5).fit(rng.normal(9.0 * z[:, None], size=(2100, 1)))
    assert_allclose(model.cluster_sizes_, np.sort(np.bincount(z))[::-1])
    assert model.alpha_ in ALPHAS


def test_nll_finds_what_a_fit_at_every_alpha_would(draw):
    """Handing labels on must not be worse than starting anew at each alpha of the grid."""
    model = MAPDP("nll", family=CRP_PRIOR).fit(draw.X)
    fits = [MAPDP(alpha, family=CRP_PRIOR).fit(draw.X) for alpha in ALPHAS]
    best = max(fits, key=lambda fit: fit.log_joint_)
    assert model.log_joint_ >= best.log_joint_ - 0.01 * len(draw.X)
    assert model.alpha_ in ALPHAS
    tried = {entry.alpha: entry.log_joint for entry in model.alphas_}
    assert tried[model.alpha_] == max(tried.values())
    assert_allclose(tried[model.alpha_], model.log_joint_, rtol=1e-12)


def test_cv_takes_the_alpha_with_the_best_held_out_density(draw):
    model = MAPDP("cv", family=CRP_PRIOR).fit(draw.X)
    best = max(model.alphas_, key=lambda entry: entry.held_out)
    assert model.alpha_ == best.alpha
    assert [entry.alpha for entry in model.alphas_] == list(ALPHAS)


def test_auto_is_nll_for_few_rows_and_map_for_many(draw):
    few = MAPDP(family=CRP_PRIOR).fit(draw.X)
    assert few.alpha_ in ALPHAS
    X = make_blobs(20_001, n_features=2, centers=3, random_state=0)[0]
    many = MAPDP(prior="paper").fit(X)
    assert many.alphas_ == []
    assert_allclose(many.alpha_, map_alpha(20_001, many.n_clusters_), rtol=1e-4)


@pytest.mark.parametrize("rule", ["map", "nll", "cv"])
def test_tiny_tables_are_fitted(rule):
    for X in ([[1.0]], [[1.0], [2.0]], np.ones((3, 2))):
        assert np.isfinite(MAPDP(rule).fit(X).log_joint_)


@pytest.mark.parametrize("rule", ["map", "nll", "cv"])
def test_same_result_on_any_number_of_threads(draw, rule):
    one, two = (
        MAPDP(rule, family=CRP_PRIOR, n_init=3, random_state=1, n_jobs=n).fit(draw.X) for n in (1, 2)
    )
    assert one.alpha_ == two.alpha_
    assert (one.labels_ == two.labels_).all()


def test_grid_search_of_scikit_learn_works(draw):
    grid = GridSearchCV(MAPDP(family=CRP_PRIOR), {"alpha": [0.1, 3.0, 1000.0]}, cv=3).fit(draw.X)
    assert grid.best_params_["alpha"] in (0.1, 3.0)
    assert_allclose(grid.score(draw.X), grid.best_estimator_.score(draw.X))


def test_expected_clusters_state_alpha(draw):
    model = MAPDP(expected_clusters=12, family=CRP_PRIOR).fit(draw.X)
    assert_allclose(model.alpha_, alpha_for(300, 12))
    other = MAPDP(expected_clusters=40, discount=0.4, family=CRP_PRIOR).fit(draw.X)
    assert_allclose(other.alpha_, alpha_for(300, 40, 0.4))


def test_a_mixture_of_finite_mixtures_has_fewer_small_clusters(draw):
    process = MixtureOfFiniteMixtures(concentration=2.0, rate=3.0)
    models = [MAPDP(process=p, family=CRP_PRIOR).fit(draw.X) for p in ("mfm", process)]
    usual = MAPDP(10.0, family=CRP_PRIOR).fit(draw.X)
    assert all(model.n_clusters_ <= usual.n_clusters_ for model in models)
    assert np.isnan(models[0].alpha_)
    sizes = models[1].cluster_sizes_
    flat = log_joint(draw.X, models[1].labels_, alpha=1.0, family=CRP_PRIOR)
    assert_allclose(
        models[1].log_joint_ - process.log_eppf(sizes), flat - PitmanYor(1.0).log_eppf(sizes), rtol=1e-9
    )
    assert GibbsDPM(process="mfm", family=CRP_PRIOR, n_sweeps=20).fit(draw.X).n_clusters_ >= 1


def test_scales_multiply_what_a_cluster_is_expected_to_be(rng):
    X = rng.normal(size=(50, 2)) + 5.0
    usual, half = (DiagonalGaussian.empirical(X, scale=s) for s in (1.0, 0.5))
    assert_allclose(half.rate, 0.25 * usual.rate)
    usual, half = (Gaussian.empirical(X, scale=s) for s in (1.0, 0.5))
    assert_allclose(half.scale, 0.25 * usual.scale)
    counts = rng.integers(0, 3, size=(50, 2)).astype(float)
    usual, half = (Categorical.empirical(counts, scale=s) for s in (1.0, 0.5))
    assert_allclose(half.concentration[0], 0.5 * np.asarray(usual.concentration[0]))
    both = Product.empirical(counts, [(Poisson, [0]), (Categorical, [1])], scale=0.5)
    assert_allclose(both.parts[0][0].shape, 0.5)
    with pytest.raises(ValueError, match=r"scale must be positive and finite, got -1\.0"):
        DiagonalGaussian.empirical(X, scale=-1.0)


def test_sensitivity_needs_a_table(draw):
    with pytest.raises(ValueError, match="X must be a table of two rows or more"):
        sensitivity(draw.X[:, 0])
    with pytest.raises(ValueError, match=r"got shape .* and 0 alphas"):
        sensitivity(draw.X, alphas=[])
    assert len(sensitivity(draw.X[:3], alphas=[1.0], scales=[1.0])) == 1


def test_alpha_follows_where_sweeps_run_out(draw):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = MAPDP("map", family=CRP_PRIOR, init="singletons", search="icm", max_iter=1).fit(draw.X)
    assert_allclose(model.alpha_, map_alpha(300, model.n_clusters_), rtol=1e-4)


def test_sensitivity_is_a_table_over_alpha_and_scale(draw):
    table = sensitivity(draw.X, alphas=[3.0, 0.3], scales=[1.0, 0.5], n_folds=3)
    assert [(entry.alpha, entry.scale) for entry in table] == [
        (0.3, 1.0),
        (3.0, 1.0),
        (0.3, 0.5),
        (3.0, 0.5),
    ]
    family = DiagonalGaussian.empirical(draw.X, scale=0.5)
    fit = MAPDP(0.3, family=family).fit(draw.X)
    assert abs(table[2].log_joint - fit.log_joint_) < 0.02 * abs(fit.log_joint_)
    assert abs(table[2].held_out - fit.score(draw.X)) < 0.5


def test_compare_ranks_by_rows_that_were_left_out():
    """Correlated columns: a full covariance must win, in the joint and for rows it has not seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ [[1.0, 0.95], [0.0, 0.3]]
    diagonal, full = MAPDP(1.0, prior="paper").fit(X), MAPDP(1.0, family=Gaussian).fit(X)
    table = compare([diagonal, full], X)
    assert [one.name for one in table] == [
        "MAPDP(alpha=1.0, family=Gaussian)",
        "MAPDP(alpha=1.0, prior='paper')",
    ]
    assert table[0].log_joint == full.log_joint_ > diagonal.log_joint_
    assert table[0].behind == 0.0
    assert table[1].behind > 2.0 * table[1].behind_error > 0.0
    assert [one.position for one in table] == [1, 0]
    assert str(table).splitlines()[1].startswith(" 1  MAPDP(alpha=1.0, family=Gaussian)         1 ")


def test_compare_leaves_rows_out(draw):
    """Against the same done by hand; a model that has seen the rows would do better."""
    model = MAPDP(3.0, family=CRP_PRIOR, search="icm", init=draw.labels).fit(draw.X)
    part_of = np.random.default_rng(0).permutation(np.arange(300) % 3)
    density = np.empty(300)
    for part in range(3):
        out = part_of == part
        fitted = MAPDP(3.0, family=CRP_PRIOR, search="icm", init=draw.labels[~out]).fit(draw.X[~out])
        density[out] = fitted.score_samples(draw.X[out])
    (found,) = compare([model], draw.X, n_folds=3)
    assert_allclose(found.held_out, density.mean(), rtol=1e-12)
    assert_allclose(found.held_out_error, density.std(ddof=1) / np.sqrt(300), rtol=1e-12)
    assert found.held_out < model.score(draw.X)


def test_compare_needs_the_rows_that_were_fitted(draw):
    with pytest.raises(ValueError, match="X must be the 300 rows that were fitted, got 20"):
        compare([MAPDP(1.0).fit(draw.X)], draw.X[:20])
    assert compare([], draw.X) == []


def test_compare_needs_densities(draw):
    with pytest.raises(TypeError, match="got DPMeans"):
        compare([DPMeans(10.0).fit(draw.X)], draw.X)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"alpha": "best"},
            "alpha must be a positive number or one of 'auto', 'map', 'nll', 'cv', got 'best'",
        ),
        ({"alpha": 1.0, "process": "mfm"}, "got alpha=1.0 and process"),
        ({"alpha": 1.0, "expected_clusters": 3}, "got alpha=1.0 and expected_clusters"),
        ({"process": "mfm", "expected_clusters": 3}, "got alpha='auto' and process and expected_clusters"),
        ({"process": "mfm", "discount": 0.2}, "discount must be left at 0 beside process, got 0.2"),
        ({"expected_clusters": 500}, "expected clusters must be above 1 and below the 300 rows, got 500"),
        ({"expected_clusters": -1}, "expected_clusters must be positive and finite, got -1"),
        ({"process": "dpm"}, "process must be a Process or one of 'mfm', got 'dpm'"),
        ({"alpha_prior": "flat"}, 'the prior of alpha must be ("gamma", shape, rate)'),
        ({"family": "best"}, "class of Family or one of (None,), got 'best'"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(parameters, words, draw):
    with pytest.raises((ValueError, TypeError)) as caught:
        MAPDP(**parameters).fit(draw.X)
    assert words in str(caught.value)
