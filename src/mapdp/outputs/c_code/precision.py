"""Whether numbers of a precision can hold what a model has seen."""

import numpy as np

from mapdp.data.column import Column
from mapdp.estimators.fitted import FittedMixture
from mapdp.families import Gaussian, Mixed
from mapdp.outputs.c_code.choice import Export, of_process
from mapdp.outputs.c_code.encoding import cells_of, tables_to_encode
from mapdp.outputs.c_code.text import escaped

# The step between neighbouring numbers, as a share of a cluster's width: half of it moves a row's score by
# less than 1e-3 nats, even some widths from the centre.
_FINEST = 1e-4
_MOST_ROWS = 2.0**23  # beyond, floats of whole numbers leave gaps soon
_LARGEST = 1e30  # in the units of the table, well within what a float can hold
_SMALL = ("_low", "blur", "rounding")  # tables whose numbers may be as good as nothing


def check_precision(choice: Export) -> None:
    """Raise where floats cannot hold the data's range."""
    if choice.precision == "double":
        return
    if choice.learn and choice.mixture.sizes.max() > _MOST_ROWS:
        raise _cannot_hold(f"a cluster of {choice.mixture.sizes.max():.3g} rows")
    used = [choice.mixture.schema.columns[j] for j in choice.mixture.schema.used]
    centre, width = _ranges(choice.mixture)
    for j, column in enumerate(used):
        _check_column(column, choice.mixture.schema.labels()[j], centre[:, j], width[:, j])
    for kind in choice.kinds:
        for table in (*kind.prior, *(kind.sums if choice.learn else kind.predictive)):
            if not table.is_whole and not table.name.endswith(_SMALL):
                _check_numbers(table.values, f"{table.name} of {kind.name}")
    for table in tables_to_encode(choice, cells_of(choice)):
        _check_numbers(table.values, table.name)
    if choice.learn:
        for name, value in of_process(choice.mixture.process).items():
            _check_numbers(np.array([value]), f"{name} of {type(choice.mixture.process).__name__}")


def _ranges(mixture: FittedMixture) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and width of each cluster in each column, NaN where cells have no size."""
    centre = np.full((mixture.n_clusters, mixture.family.n_features), np.nan)
    width = centre.copy()
    for k in range(mixture.n_clusters):
        posterior = mixture.family.posterior(mixture.bank, k)
        columns = [posterior.summary()]
        if posterior.has_columns:
            columns = [one.summary() for one in Mixed.of(posterior).columns]
        centre[k] = np.concatenate([np.atleast_1d(s.get("mean", np.nan)) for s in columns])
        variance = np.concatenate([np.atleast_1d(s.get("variance", np.nan)) for s in columns])
        if isinstance(posterior, Gaussian):  # what is left of a column given those before it
            variance = np.diag(np.linalg.cholesky(posterior.scale)) ** 2 / posterior.dof
        width[k] = np.sqrt(variance)
    return centre, width


def _check_column(column: Column, name: str, centre: np.ndarray, width: np.ndarray) -> None:
    levels = [value for value in column.values if not isinstance(value, str)]
    with np.errstate(over="ignore"):
        n_different = len(set(np.array(levels, dtype=np.float32).tolist()))
    if n_different < len(levels):
        raise _cannot_hold(f"all levels of {escaped(name)!r}")
    if column.kind not in ("real", "log", "given"):
        return
    farthest = float(np.nanmax(np.abs(centre), initial=0.0)) * column.unit
    if column.kind == "log":
        farthest = float(np.exp(min(farthest, 700.0)))  # or one over it
    if max(column.unit, 1.0 / column.unit) > _LARGEST:
        raise _cannot_hold(f"{escaped(name)!r}, whose unit is {column.unit:.3g}")
    if farthest > _LARGEST:
        raise _cannot_hold(f"{escaped(name)!r}, where a cluster is at {farthest:.3g}")
    size = np.abs(centre) if column.kind != "log" else np.maximum(np.abs(centre), 1.0)
    too_fine = np.finfo(np.float32).eps * size > _FINEST * width  # not where either is unknown
    if too_fine.any():
        k = int(np.argmax(too_fine))
        where = f"{centre[k] * column.unit:.6g}"
        raise _cannot_hold(
            f"{escaped(name)!r}, where a cluster at {where} is {width[k] * column.unit:.3g} wide"
        )


def _check_numbers(values: np.ndarray, name: str) -> None:
    size, limits = np.abs(np.asarray(values, dtype=np.float64)), np.finfo(np.float32)
    is_beyond = (size > limits.max) | ((size > 0.0) & (size < limits.tiny))
    if is_beyond.any():
        raise _cannot_hold(f"{size[is_beyond][0]:.3g} ({name})")


def _cannot_hold(what: str) -> ValueError:
    return ValueError(f"precision 'float' cannot hold {what}. Hint: precision='double'.")
