"""Files that somebody forged: each is refused with one sentence, or is a model that works."""

import os
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

from mapdp import DPMeans
from mapdp.outputs.saving import from_bytes
from tests.forged import forged_files, opened, saved_models, sealed


def refusal_of(content):
    """Return the sentence with which a file is refused."""
    with pytest.raises(ValueError, match="is damaged") as caught:
        from_bytes(content)
    text = str(caught.value)
    assert text.count("Hint:") == 1
    assert len(text.splitlines()) == 1
    assert len(text) < 500
    return text


def forged(name, change):
    """Return a saved model after `change(model, tensors)`."""
    model, tensors = opened(saved_models()[name][0])
    text = change(model, tensors)
    return sealed(model, tensors, text)


def fields(value):
    return value["fields"]


def sizes_of_five_million(model, tensors):
    tensors["sizes"] = np.ones(5_000_000, dtype=np.int64)


def family_of_two_columns(model, tensors):
    fields(fields(model["mixture"]["family"])["columns"]["tuple"][0])["mean"] = {"tuple": [0.0, 1.0]}
    fields(fields(model["mixture"]["family"])["columns"]["tuple"][0])["rate"] = {"tuple": [1.0, 1.0]}
    del tensors["family.columns.0.mean"], tensors["family.columns.0.rate"]


def schema_of_more_columns(model, tensors):
    fields(model["mixture"]["schema"])["columns"]["tuple"] *= 5


def bank_of_nan(model, tensors):
    tensors["bank.07"][:] = np.nan


def bank_of_other_shape(model, tensors):
    tensors["bank.07"] = tensors["bank.07"].T


def bank_of_other_type(model, tensors):
    tensors["bank.07"] = tensors["bank.07"].astype(np.float32)


def negative_sizes(model, tensors):
    tensors["sizes"] = -tensors["sizes"]


def other_sizes(model, tensors):
    tensors["sizes"] = tensors["sizes"] + 1


def family_as_the_process(model, tensors):
    model["mixture"]["process"] = {"kind": "Poisson", "fields": {"shape": 1.0, "rate": 1.0}}


def process_that_needs_terabytes(model, tensors):
    endless = {"kind": "MixtureOfFiniteMixtures", "fields": {"concentration": 1.0, "rate": 1e13}}
    model["mixture"]["process"] = endless


def levels_that_need_terabytes(model, tensors):
    n = 100_000
    tensors["many"] = np.arange(n, dtype=float)
    column = {"kind": "Ordered", "fields": {"levels": [{"tensor": "many"}], "width": 1.0}}
    fields(model["mixture"]["family"])["columns"]["tuple"][3] = column


def one_tensor_many_times(model, tensors):
    tensors["labels_"] = np.zeros(1_000_000, dtype=np.int32)
    model["fitted"]["alphas_"] = [{"tensor": "labels_"}] * 100_000


def product_that_spreads(model, tensors):
    one = {"kind": "Gaussian", "fields": {"mean": [0.0], "strength": 1.0, "dof": 2.0, "scale": [[1.0]]}}
    parts = {"tuple": [{"tuple": [one, {"tuple": list(range(200_000))}]}]}
    model["params"]["family"] = {"kind": "Product", "fields": {"parts": parts}}


def negative_labels(model, tensors):
    tensors["labels_"] = tensors["labels_"] - 5


def names_for_other_columns(model, tensors):
    model["names"] = ["x"]


def trace_of_words(model, tensors):
    model["fitted"]["trace_"] = ["step"]


def no_number_of_columns(model, tensors):
    del model["fitted"]["n_features_in_"]


def tensor_that_nothing_names(model, tensors):
    tensors["extra"] = np.zeros(3)


def lost_parameters_that_are_none(model, tensors):
    model["lost"] = ["see evil.example for an update"]


def deep_nesting(model, tensors):
    return '{"params": ' + "[" * 100_000 + "]" * 100_000 + "}"


def nesting_in_tuples(model, tensors):
    for _ in range(300):
        model["params"]["init"] = {"tuple": [model["params"]["init"]]}


def abstract_family(model, tensors):
    model["params"]["family"] = {"kind": "Mixed", "fields": {"columns": []}}
    model["mixture"]["family"] = model["params"]["family"]


FORGERIES = [
    *(sizes_of_five_million, family_of_two_columns, schema_of_more_columns, bank_of_nan),
    *(bank_of_other_shape, bank_of_other_type, negative_sizes, other_sizes, family_as_the_process),
    *(process_that_needs_terabytes, levels_that_need_terabytes, one_tensor_many_times),
    *(product_that_spreads, negative_labels, names_for_other_columns, trace_of_words),
    *(no_number_of_columns, tensor_that_nothing_names, lost_parameters_that_are_none, deep_nesting),
    *(nesting_in_tuples, abstract_family),
]


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_a_forged_file_is_refused_with_one_sentence_and_without_memory(change):
    content = forged("mixed", change)
    tracemalloc.start()
    try:
        refusal_of(content)
        assert tracemalloc.get_traced_memory()[1] < 60e6 + 30 * len(content)
    finally:
        tracemalloc.stop()


def samples_below_zero(model, tensors):
    tensors["samples_"] = tensors["samples_"].astype(np.int16) - 7


def samples_beyond_the_rows(model, tensors):
    tensors["samples_"] = tensors["samples_"].astype(np.int64) + 1_000_000


def rows_of_unknown_levels(model, tensors):
    tensors["_rows"][:, 1] = 1e6


def rows_of_levels_below_zero(model, tensors):
    tensors["_rows"][:, 1] = -1.0


def rows_of_fewer_columns(model, tensors):
    tensors["_rows"] = tensors["_rows"][:, :2]


def chains_of_many_clusters(model, tensors):
    tensors["_kept.n_clusters"][:] = 2**50


@pytest.mark.parametrize(
    "change",
    [
        *(samples_below_zero, samples_beyond_the_rows, rows_of_unknown_levels, rows_of_levels_below_zero),
        *(rows_of_fewer_columns, chains_of_many_clusters),
    ],
    ids=lambda change: change.__name__,
)
def test_forged_samples_are_refused(change):
    """Kernels take labels and levels as places in memory, so each of them is looked at first."""
    refusal_of(forged("gibbs", change))


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_forged_centres_are_refused(odd):
    def change(model, tensors):
        tensors["cluster_centers_"][0, 0] = odd

    refusal_of(forged("means", change))


def check_forged(content, rows):
    """Return whether a file was refused, with one sentence; else the model must work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, trouble = result_of(from_bytes, content, "m")
        if trouble is None:
            return not works(model, rows)
    assert trouble.startswith("m ")
    assert trouble.count("Hint:") == 1
    assert len(trouble.splitlines()) == 1
    return True


def result_of(function, *arguments):
    """Return what a function returns, or None and the sentence with which it refuses."""
    try:
        return function(*arguments), None
    except ValueError as error:
        return None, str(error)


def works(model, rows):
    """Say whether a model labels rows; where its names or levels are others it may refuse the table."""
    labels, trouble = result_of(model.predict, rows)
    if trouble is not None:
        assert len(trouble) > 20, trouble
        return False
    assert labels.shape == (3,)
    assert ((labels >= -1) & (labels < model.n_clusters_)).all()
    if isinstance(model, DPMeans):
        return True
    assert np.isfinite(model.predict_proba(rows)).all()
    assert len(model.describe()) == model.n_clusters_
    assert model.score_samples(rows).shape == (3,)
    return True


def test_forged_files_are_refused_or_work():
    """Seeded: the same files each time; MAPDP_FORGED asks for more of them."""
    n_files = int(os.environ.get("MAPDP_FORGED", "1200"))
    refused = [check_forged(content, rows) for _, content, rows in forged_files(n_files)]
    assert 0.5 < np.mean(refused) < 1.0  # most are refused, and some changes are harmless


def test_what_is_kept_in_the_cache_of_a_bank_is_not_trusted():
    """Predictives follow from the statistics, whatever the file says of them."""
    content, rows = saved_models()["diagonal"]
    model, tensors = opened(content)
    tensors["bank.05"][:] = 3.0  # posterior means
    np.testing.assert_array_equal(
        from_bytes(sealed(model, tensors)).predict_proba(rows), from_bytes(content).predict_proba(rows)
    )


LIMITED = """
import resource, sys
import numpy as np
from mapdp.outputs.saving import from_bytes
content = open(sys.argv[1], "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    from_bytes(content)
except ValueError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("change", [sizes_of_five_million, levels_that_need_terabytes])
def test_a_small_file_asks_for_little_memory(change, tmp_path):
    content = forged("mixed", change)
    (tmp_path / "m.mapdp").write_bytes(content)
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "m.mapdp")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(result.stdout) * unit < 100e6 + 10 * len(content)
