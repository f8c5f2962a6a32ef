import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mapdp import DiagonalGaussian, Gaussian, GibbsDPM, PitmanYor, Poisson, log_joint, sample_mixture
from mapdp.engine.build import seated
from mapdp.engine.density import log_density
from mapdp.sampling.diagnostics import raftery_lewis
from mapdp.sampling.similarity import coclustering
from tests.contract.cases import over_families

CRP_PRIOR = DiagonalGaussian(mean=[1, 1], strength=0.1, shape=1.0, rate=[10, 10])


@parametrize_with_checks([GibbsDPM(n_sweeps=100), GibbsDPM(n_sweeps=100, collapsed=False, n_chains=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, n_features=2, centers=3, cluster_std=0.6, random_state=1)[0]


def test_samples_are_kept_after_burn_in_and_thinned(blobs):
    model = GibbsDPM(n_sweeps=100, burn_in=40, thin=7, n_chains=3).fit(blobs)
    assert model.samples_.shape == (3 * 9, 60)
    assert model.samples_.dtype == np.uint8
    kept = model.chains_.n_clusters[:, 40::7].ravel()
    assert (model.samples_.max(axis=1) + 1 == kept).all()
    assert model.chains_.log_joint.shape == (3, 100)


def test_labels_are_the_most_probable_sample(blobs):
    model = GibbsDPM(2.0, discount=0.1, n_sweeps=200).fit(blobs)
    joints = [
        log_joint(blobs, labels, alpha=2.0, discount=0.1, family=model.family_) for labels in model.samples_
    ]
    assert_allclose(model.chains_.log_joint[0, 100:], joints, rtol=1e-9)
    assert_allclose(model.log_joint_, max(joints), rtol=1e-12)
    assert (model.labels_ == model.samples_[np.argmax(joints)]).all()
    assert (np.bincount(model.labels_) == model.cluster_sizes_).all()


@pytest.mark.parametrize("collapsed", [True, False])
def test_same_seed_same_chains_on_any_number_of_threads(blobs, collapsed):
    models = [
        GibbsDPM(n_sweeps=50, n_chains=3, collapsed=collapsed, random_state=4, n_jobs=n).fit(blobs)
        for n in (1, 3)
    ]
    assert (models[0].samples_ == models[1].samples_).all()
    other = GibbsDPM(n_sweeps=50, n_chains=3, collapsed=collapsed, random_state=5).fit(blobs)
    assert (models[0].chains_.log_joint != other.chains_.log_joint).any()


@pytest.mark.parametrize("init", ["single", "singletons", "labels"])
@pytest.mark.parametrize("collapsed", [True, False])
def test_every_start_forgets_itself(blobs, init, collapsed):
    """12 rows let chains mix: 4,000 sweeps give the mean of K to about 0.05."""
    start = np.arange(12) % 4 if init == "labels" else init
    models = [
        GibbsDPM(n_sweeps=4000, burn_in=10, init=init, collapsed=how).fit(blobs[:12])
        for init, how in (("sequential", True), (start, collapsed))
    ]
    means = [model.chains_.n_clusters[0, 10:].mean() for model in models]
    assert abs(means[0] - means[1]) < 0.25


@over_families
def test_every_family_is_sampled(case, rng):
    model = GibbsDPM(family=case.family, n_sweeps=60).fit(case.rows(rng, 40))
    drawn, _ = model.sample(20, random_state=0)
    assert np.isfinite(model.score_samples(drawn)).all()


def test_coclustering_counts_pairs(blobs):
    model = GibbsDPM(n_sweeps=80).fit(blobs)
    by_hand = np.mean([labels[3] == labels[17] for labels in model.samples_])
    assert_allclose(model.coclustering_[3, 17], by_hand, rtol=1e-6)
    assert (model.coclustering_ == model.coclustering_.T).all()
    assert (np.diag(model.coclustering_) == 1.0).all()


def test_coclustering_of_too_many_rows_says_so():
    with pytest.raises(ValueError, match="up to 20000 rows, got 20001"):
        coclustering(np.zeros((1, 20_001), dtype=np.uint8))


def test_posterior_of_the_number_of_clusters(blobs):
    model = GibbsDPM(n_sweeps=80, burn_in=30, n_chains=2).fit(blobs)
    assert_allclose(model.n_clusters_posterior_.sum(), 1.0)
    mean = model.n_clusters_posterior_ @ np.arange(len(model.n_clusters_posterior_))
    assert_allclose(mean, model.chains_.n_clusters[:, 30:].mean())


def test_score_samples_averages_densities(blobs):
    model = GibbsDPM(n_sweeps=12, burn_in=10).fit(blobs)
    densities = []
    for labels in model.samples_:
        alone = GibbsDPM(n_sweeps=1, burn_in=0, family=model.family_).fit(blobs)
        alone.samples_ = labels[None]
        densities.append(np.exp(alone.score_samples(blobs)))
    assert_allclose(np.exp(model.score_samples(blobs)), np.mean(densities, axis=0), rtol=1e-10)
    grid = np.linspace(-60, 60, 400)
    cells = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    assert abs(np.exp(model.score_samples(cells)).sum() * (grid[1] - grid[0]) ** 2 - 1.0) < 0.02


def test_score_samples_goes_by_the_alpha_of_each_sample(blobs):
    model = GibbsDPM(n_sweeps=12, burn_in=9, alpha_prior=("gamma", 1.0, 0.1)).fit(blobs)
    densities = []
    for labels, alpha in zip(model.samples_, model.chains_.alpha[0, 9:], strict=True):
        process = PitmanYor(float(alpha))
        state = seated(blobs, labels.astype(np.int32), model.family_, process)
        densities.append(np.exp(log_density(blobs, state, model.family_, process)))
    assert_allclose(np.exp(model.score_samples(blobs)), np.mean(densities, axis=0), rtol=1e-10)


def test_a_vague_prior_of_alpha_does_not_stop_the_chain(blobs):
    model = GibbsDPM(n_sweeps=50, alpha_prior=("gamma", 1e-3, 1e-3)).fit(blobs)
    assert (model.chains_.alpha > 0.0).all()


def test_alpha_is_learned(blobs):
    model = GibbsDPM(n_sweeps=400, alpha_prior=("gamma", 2.0, 4.0), n_chains=2).fit(blobs)
    assert np.ptp(model.chains_.alpha) > 0.0
    value = log_joint(blobs, model.labels_, alpha=model.alpha_, family=model.family_)
    assert_allclose(model.log_joint_, value, rtol=1e-12)
    a = model.alpha_  # the density of log alpha is alpha times that of alpha
    best = model.chains_.log_joint[:, 200:].max()
    assert_allclose(best, value + np.log(16.0 * a**2 * np.exp(-4.0 * a)), rtol=1e-10)


def test_runs_until_raftery_and_lewis_are_content(blobs):
    rule = (0.025, 0.05, 0.9)
    model = GibbsDPM(2.0, n_sweeps="raftery-lewis", accuracy=rule, n_chains=2, thin=3, moves="gibbs")
    model.fit(blobs)
    chains = (*model.chains_.log_joint, *model.chains_.n_clusters)
    assert model.raftery_lewis_ == [raftery_lewis(chain, *rule) for chain in chains]
    assert model.n_sweeps_ >= max(need.total for need in model.raftery_lewis_)
    assert model.burn_in_ >= max(need.burn_in for need in model.raftery_lewis_)
    kept = model.chains_.n_clusters[:, model.burn_in_ :: 3].ravel()
    assert (model.samples_.max(axis=1) + 1 == kept).all()
    # It was not content any earlier, at two thirds of the way.
    earlier = [raftery_lewis(chain[: 2 * len(chain) // 3], *rule).total for chain in chains]
    assert max(earlier) > 2 * model.n_sweeps_ // 3


@pytest.mark.parametrize("parameters", [{"burn_in": 500}, {"thin": 5000}, {"burn_in": 3, "thin": 900}])
def test_something_is_kept_however_long_the_burn_in(blobs, parameters):
    rule = {"n_sweeps": "raftery-lewis", "accuracy": (0.025, 0.1, 0.9)}
    model = GibbsDPM(**rule, **parameters).fit(blobs)
    assert len(model.samples_) >= 1
    kept = model.chains_.n_clusters[:, model.burn_in_ :: model.thin].ravel()
    assert (model.samples_.max(axis=1) + 1 == kept).all()


def test_a_second_fit_forgets_the_first(blobs):
    model = GibbsDPM(n_sweeps="raftery-lewis", accuracy=(0.025, 0.1, 0.9)).fit(blobs)
    assert model.coclustering_.shape == (60, 60)
    model.set_params(n_sweeps=20).fit(blobs[:30])
    assert model.coclustering_.shape == (30, 30)
    assert model.raftery_lewis_ == []


def test_rows_may_be_changed_after_a_fit(blobs):
    X = blobs.copy()
    model = GibbsDPM(n_sweeps=20).fit(X)
    before = model.score(blobs)
    X[:] = 0.0
    assert model.score(blobs) == before


def test_an_outlier_does_not_spoil_the_statistics_of_a_long_chain():
    """A row 1e8 away comes and goes; every hundredth sweep starts from statistics made anew."""
    X = np.vstack([np.random.default_rng(0).normal(size=(60, 2)), [[1e8, 1e8]]])
    family = Gaussian([0.0, 0.0], 0.1, 5.0, 3.0 * np.eye(2))
    model = GibbsDPM(family=family, n_sweeps=200, burn_in=0, init="single").fit(X)
    last = log_joint(X, model.samples_[-100], alpha=1.0, family=family)
    assert_allclose(model.chains_.log_joint[0, -100], last, atol=1e-6)


def test_a_chain_that_is_cut_short_warns(blobs):
    with pytest.warns(ConvergenceWarning, match="more than max_sweeps=1000"):
        GibbsDPM(3.0, n_sweeps="raftery-lewis", max_sweeps=1000, moves="gibbs").fit(blobs)


@pytest.mark.filterwarnings("ignore:.*ArviZ is undergoing a major refactor:FutureWarning")
def test_arviz_gives_r_hat(blobs):
    arviz = pytest.importorskip("arviz")
    model = GibbsDPM(3.0, n_sweeps=400, burn_in=100, n_chains=4).fit(blobs[:12])
    table = arviz.summary(model.to_arviz())
    assert set(table.index) == {"n_clusters", "log_joint", "n_emptied"}
    assert table.loc["log_joint", "r_hat"] < 1.2
    assert table.loc["n_clusters", "ess_bulk"] > 100


def test_clone_and_pickle(blobs):
    model = GibbsDPM(0.7, n_sweeps=30).fit(blobs)
    again = pickle.loads(pickle.dumps(model))
    assert (again.score_samples(blobs) == model.score_samples(blobs)).all()
    assert (clone(model).fit_predict(blobs) == model.labels_).all()


def test_more_new_clusters_than_the_supply_of_noise_holds():
    """1,100 far points under a huge alpha: more first rows in one sweep than the 1,024 draws prepared."""
    X = 1e3 * np.arange(1100.0)[:, None]
    family = DiagonalGaussian(mean=0.0, strength=1e-8, shape=1.0, rate=1e-3)
    model = GibbsDPM(1e9, family=family, collapsed=False, n_sweeps=2, burn_in=1).fit(X)
    assert model.n_clusters_ > 1050  # a variance that is drawn very large takes a neighbour in
    assert model.samples_.dtype == np.uint16


def test_verbose_tells_of_the_first_chain(blobs, capsys):
    GibbsDPM(n_sweeps=250, n_chains=2, verbose=1).fit(blobs)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["gibbs", "100"], ["gibbs", "200"]]


def test_crp_experiment_of_the_notes():
    """NMI about 0.69 and K - true K about -0.5, as samples average over 20 draws (NOTES: 40 draws)."""
    scores, gaps = [], []
    for draw in range(20):
        X, truth = sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(draw))
        model = GibbsDPM(3.0, family=CRP_PRIOR, n_sweeps=1000, thin=20, random_state=draw).fit(X)
        scores.append(np.mean([normalized_mutual_info_score(truth, z) for z in model.samples_]))
        gaps.append(model.chains_.n_clusters[0, 500:].mean() - (truth.max() + 1))
    # The standard deviation over data sets is 0.12 and 3.4, so that of a mean of 20 is 0.027 and 0.8.
    assert abs(np.mean(scores) - 0.69) < 0.08
    assert abs(np.mean(gaps) + 0.5) < 2.4


def error_of(call):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"collapsed": "no"}, "collapsed must be True or False, got 'no'"),
        (
            {"n_sweeps": "raftery-lewis", "accuracy": 0.1},
            "accuracy must be three numbers (q, r, s), got 0.1",
        ),
        ({"n_sweeps": 0}, "n_sweeps must be at least 1, got 0"),
        ({"n_sweeps": "long"}, "n_sweeps must be one of 'raftery-lewis', got 'long'"),
        ({"n_sweeps": 10, "burn_in": 10}, "burn_in must be below the 10 sweeps of a chain, got 10"),
        ({"thin": 0}, "thin must be at least 1, got 0"),
        ({"n_chains": 0}, "n_chains must be at least 1, got 0"),
        ({"init": "best"}, "init must be one of 'sequential'"),
        ({"alpha_prior": (1.0, 1.0)}, 'the prior of alpha must be ("gamma", shape, rate)'),
        ({"alpha_prior": ("gamma", 1.0, -1.0)}, "the prior of alpha must be positive and finite, got -1.0"),
        ({"alpha_prior": ("gamma", 1.0, 1.0), "discount": 0.2}, "alpha is drawn under a Dirichlet process"),
        ({"alpha_prior": "inverse-gamma"}, "alpha is drawn under a Dirichlet process"),
        ({"process": "chinese"}, "process must be a Process or one of 'mfm', got 'chinese'"),
        ({"collapsed": False, "family": Poisson(1.0, 1.0)}, "collapsed=False needs a Gaussian family"),
        ({"n_sweeps": "raftery-lewis", "max_sweeps": 10}, "max_sweeps must be at least 937, got 10"),
        ({"n_sweeps": "raftery-lewis", "accuracy": (0.0, 0.1, 0.9)}, "q must be between 0 and 1"),
        ({"family": Gaussian([0.0] * 3, 1.0, 5.0, np.eye(3))}, "family describes 3 columns, but X has 2"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(parameters, words, blobs):
    X = np.abs(np.round(blobs)) if "family" in parameters else blobs
    assert words in error_of(lambda: GibbsDPM(**parameters).fit(X))
