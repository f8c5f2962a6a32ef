"""What cannot be C code is refused before anything is written; a state of another model is noticed."""

import re

import numpy as np
import pandas
import pytest

import mapdp
from mapdp import MAPDP, MAPHMM, GibbsDPM, HierarchicalMAPDP, MixtureOfFiniteMixtures, NestedMAPDP
from mapdp.cli.wording import for_terminal
from mapdp.outputs.c_code.choice import kinds_of
from mapdp.outputs.c_code.writer import fingerprint
from mapdp.partitions.process import Process


def two_blobs(rng, n=60):
    return rng.normal(size=(n, 2)) + 8.0 * (np.arange(n) % 2)[:, None]


def refused(model, folder, error=ValueError, **options):
    with pytest.raises(error) as told:
        mapdp.export_c(model, folder, **options)
    assert not folder.exists()
    return str(told.value)


@pytest.mark.parametrize("kind", [HierarchicalMAPDP, NestedMAPDP, MAPHMM, GibbsDPM])
def test_models_whose_predictions_are_not_a_plain_mixture(kind, tmp_path):
    assert "model must be a fitted MAPDP" in refused(kind(), tmp_path / "c", TypeError)


def test_many_components_that_a_float_cannot_add_up(tmp_path, rng):
    model = MAPDP(process=MixtureOfFiniteMixtures(rate=200.0)).fit(two_blobs(rng))
    assert "rate of at most 20" in refused(model, tmp_path / "c", learn=True)
    mapdp.export_c(model, tmp_path / "c")


def test_levels_that_are_one_float(tmp_path, rng):
    codes = np.array([40_000_001.0, 40_000_002.0, 40_000_003.0])[np.arange(90) % 3]
    frame = pandas.DataFrame({"x": rng.normal(9.0 * (np.arange(90) % 3)), "code": codes})
    model = MAPDP(columns={"code": "category"}).fit(frame)
    assert "all levels of 'code'" in refused(model, tmp_path / "c", precision="float")
    mapdp.export_c(model, tmp_path / "c")


@pytest.mark.parametrize(
    ("cells", "kind", "words"),
    [
        ([0.0, 1.0, 1e300], "category", "cannot hold 1e.300"),
        ([1e32, 1e36, 1e34], "log", "'x', where a cluster is at"),
        ([1e32, 1e36, 1e34], "real", "'x', where a cluster is at"),
    ],
)
def test_numbers_beyond_all_floats(cells, kind, words, tmp_path, rng):
    """A table of constants would have `inf` in it, or rows could not be given."""
    x = np.array(cells)[np.arange(90) % 3] * (1.0 if kind == "category" else rng.uniform(0.5, 2.0, 90))
    frame = pandas.DataFrame({"x": x, "y": rng.normal(9.0 * (np.arange(90) % 3))})
    model = MAPDP(1.0, columns={"x": kind}, covariance="diagonal", n_init=1).fit(frame)
    assert re.search(words, refused(model, tmp_path / "c", precision="float"))
    mapdp.export_c(model, tmp_path / "c")


def test_a_common_shape_beyond_all_floats(tmp_path, rng):
    model = MAPDP(1.0, covariance="shared", prior="paper", n_init=1).fit(1e-40 * two_blobs(rng))
    assert "common_shape" in refused(model, tmp_path / "c", precision="float")


def stamp(model):
    return fingerprint(model.mixture_, kinds_of(model.mixture_, "double", learn=True))


def test_states_of_other_models_have_other_fingerprints(tmp_path, rng):
    X = two_blobs(rng)
    model = MAPDP(alpha=1.0, covariance="diagonal").fit(X)
    others = [MAPDP(alpha=1.0, covariance="diagonal").fit(X + 1024.0)]
    others += [MAPDP(alpha=1.5, covariance="diagonal").fit(X)]
    assert stamp(model) not in [stamp(one) for one in others]
    mapdp.save(model, tmp_path / "kept.mapdp")
    assert stamp(mapdp.load(tmp_path / "kept.mapdp")) == stamp(model)


def test_words_are_part_of_the_fingerprint(rng):
    X, tables = rng.normal(size=60), []
    for words in (["red", "green"], ["oil", "water"]):
        tables.append(pandas.DataFrame({"x": X + 9.0 * (np.arange(60) % 2), "word": words * 30}))
    one, other = (MAPDP(alpha=1.0).fit(table) for table in tables)
    assert stamp(one) != stamp(other)


@pytest.fixture(scope="module")
def model():
    return MAPDP(1e-50, covariance="diagonal").fit(two_blobs(np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "float", "learn": True}, "'float' cannot hold 1e-50 .alpha of PitmanYor."),
        ({"learn": True, "capacity": 1}, "capacity must be at least 2, the clusters of the model, got 1"),
        ({"learn": True, "capacity": 4097}, "capacity must be at most 4096, got 4097"),
    ],
)
def test_what_does_not_fit(model, options, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        mapdp.export_c(model, tmp_path / "c", **options)
    assert not (tmp_path / "c").exists()


def test_tiny_alphas_need_no_float_where_nothing_is_learned(model, tmp_path):
    mapdp.export_c(model, tmp_path / "c", precision="float")
    assert (tmp_path / "c" / "mapdp_model.c").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"capacity": True}, "capacity must be a whole number, got True"),
        ({"capacity": 16.0}, "capacity must be a whole number, got 16.0"),
        ({"learn": "no"}, "learn must be True or False, got 'no'"),
    ],
)
def test_arguments_of_another_type(model, options, words, tmp_path):
    assert words in refused(model, tmp_path / "c", TypeError, **options)


@pytest.mark.parametrize("folder", [None, "", 7, b"out"])
def test_folders_that_are_none(model, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=r"folder must be a path, got .* Hint: "):
        mapdp.export_c(model, folder)
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(model, tmp_path):
    (tmp_path / "taken").write_text("mine")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "deeper"):
        with pytest.raises(NotADirectoryError, match=r"taken is a file, not a folder\. Hint: "):
            mapdp.export_c(model, folder)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("content", [None, "text", 5, [1, 2], np.zeros(4)])
def test_a_state_is_bytes(model, content):
    with pytest.raises(TypeError, match="content must be bytes, got "):
        mapdp.import_state(model, content)


def test_more_levels_than_16_bits_count(tmp_path):
    many = mapdp.Categorical([np.arange(70_000.0)], [np.ones(70_000)])
    codes = np.array([[0.0], [0.0], [69_999.0], [69_999.0]])
    given = MAPDP(1.0, family=many, n_init=1, search="icm").fit(codes)
    assert "with 70,000 levels" in refused(given, tmp_path / "c")


class Fair(Process):
    """A prior that C code does not know: every chair is as good as any other."""

    discount, rows = 0.0, None

    def log_open(self, n_clusters, n_rows):  # noqa: ARG002
        return np.zeros(np.shape(n_clusters))

    def log_total(self, n):  # noqa: ARG002
        return 0.0

    def counted_as(self, rows):  # noqa: ARG002
        return self


def test_a_prior_over_partitions_that_is_not_known(tmp_path, rng):
    model = MAPDP(process=Fair(), covariance="diagonal").fit(two_blobs(rng))
    assert "under Fair cannot go on learning in C" in refused(model, tmp_path / "c", learn=True)
    with pytest.raises(ValueError, match="under Fair cannot go on learning"):
        mapdp.import_state(model, b"")
    mapdp.export_c(model, tmp_path / "c")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (
            "capacity must be at least 5, the clusters of the model, got 2. "
            "Hint: model.cut(n_clusters=...) has fewer clusters.",
            "--capacity must be at least 5, the clusters of the model, got 2. "
            "Hint: `mapdp fit --clusters N` writes fewer clusters.",
        ),
        ("precision 'float' cannot hold x. Hint: precision='double'.", "Hint: --precision double."),
        ("Hint: leave learn at False, or fit with columns={...: 'category'}.",
         "Hint: leave out --learn, or fit with --columns NAME=category."),
        ("when_full must be one of 'merge', 'refuse', got 'x'.", "--when-full must be one of"),
    ],
)  # fmt: skip
def test_the_command_speaks_of_options(sentence, words):
    assert words in for_terminal(sentence)


def test_columns_that_vary_together_beside_others_are_refused_with_what_to_do(tmp_path, rng):
    frame = pandas.DataFrame(rng.normal(size=(30, 2)), columns=["x", "y"])
    frame["word"] = np.array(["a", "b"])[rng.integers(2, size=30)]
    model = MAPDP(covariance="full").fit(frame)
    assert refused(model, tmp_path / "c").endswith("Hint: fit with covariance='diagonal'.")
