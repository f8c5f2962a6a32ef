"""What a device has learned, read back as a Python model: the bytes that `mapdp_write` wrote.

The layout is in the README beside the C code: numbers have their lowest byte first, a checksum ends it.
"""

import copy
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from mapdp.compiled.lanes import whole_lanes
from mapdp.data.checks import LARGEST_COUNT
from mapdp.estimators.fitted import FittedMixture
from mapdp.families import Mixed, verbs
from mapdp.families.base import Bank, Family, refresh_chairs
from mapdp.families.columns import NOTHING, Sums, exact_sums
from mapdp.outputs.c_code.choice import check_process, kinds_of, mixture_of
from mapdp.outputs.c_code.kinds import Kind
from mapdp.outputs.c_code.readme import n_numbers
from mapdp.outputs.c_code.writer import fingerprint
from mapdp.outputs.saved_parts import arrays_of

_HEAD = struct.Struct("<4sBBHII")
_MAGIC, _VERSION = b"MPDP", 1
_MOST_ROWS = 1e18  # more than anybody has
_MOST_ORDERS = 1e20  # nats: the log factorial of the largest count is 3e17
_COUNTED = {"n", "square", "tally", "total"}  # statistics that are never negative
_SENSELESS = "rows cannot have left such statistics"


class DeviceState(NamedTuple):
    """The statistics of the clusters of a device."""

    chairs: np.ndarray  # (K,) their numbers there
    numbers: np.ndarray  # (K, S)


def import_state(model: Any, content: bytes) -> Any:
    """Return a model of what a device has learned.

    Parameters
    ----------
    model : MAPDP
        The model that was exported with `export_c(..., learn=True)`.
    content : bytes
        What `mapdp_write` wrote on the device.

    Returns
    -------
    MAPDP
        With the clusters of the device, by falling size; `device_clusters_` has their numbers there, and
        `log_joint_` is that of the state. The rows that were learned are not known, so `labels_` is empty.

    Examples
    --------
    >>> import mapdp
    >>> from sklearn.datasets import load_iris
    >>> model = mapdp.MAPDP(alpha=0.3).fit(load_iris().data)
    >>> mapdp.import_state(model, b"")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: content is no state of a device: it is too short. Hint: ...
    """
    old = mixture_of(model)
    if not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(
            f"content must be bytes, got {content!r}. Hint: pathlib.Path('state.bin').read_bytes()."
        )
    check_process(old.process)
    kinds = kinds_of(old, "double", learn=True)
    state = _ordered(_read(bytes(content), old, kinds))
    with np.errstate(all="ignore"):  # forged statistics may be beyond all bounds
        mixture = _mixture(old, kinds, state)
        log_joint = _log_joint(mixture, kinds, state)
    _require(np.isfinite(log_joint), _SENSELESS)
    learned = copy.copy(model)
    learned._keep(mixture, np.empty(0, dtype=np.int32))
    learned.device_clusters_, learned._has_row_blocks = state.chairs, True
    learned.log_joint_ = log_joint
    if hasattr(learned, "known_labels_"):
        del learned.known_labels_
    return learned


def _read(content: bytes, mixture: FittedMixture, kinds: list[Kind]) -> DeviceState:
    """Check bytes, and return the statistics that they hold."""
    n = n_numbers(kinds)
    _require(len(content) >= _HEAD.size + 4, "it is too short")
    magic, version, real, n_clusters, width, stamp = _HEAD.unpack_from(content)
    _require(magic == _MAGIC, "it begins with other letters than MPDP")
    _require(version == _VERSION, f"its layout has version {version}, and this mapdp reads {_VERSION}")
    (checksum,) = struct.unpack("<I", content[-4:])
    _require(zlib.crc32(content[:-4]) == checksum, "its checksum is another")
    _require(width == n and stamp == fingerprint(mixture, kinds), "it is that of another model")
    _require(real in (4, 8), "its numbers have neither 4 nor 8 bytes")
    _require(len(content) == _HEAD.size + n_clusters * (4 + n * real) + 4, "it has another length")
    record = np.dtype([("chair", "<u4"), ("numbers", f"<f{real}", (n,))])
    records = np.frombuffer(content, record, n_clusters, _HEAD.size)
    state = DeviceState(records["chair"].astype(np.int64), records["numbers"].astype(np.float64))
    _check_sound(state, kinds, max(mixture.process.discount, 0.0))
    return state


def _check_sound(state: DeviceState, kinds: list[Kind], least: float) -> None:
    """Raise where no rows can have left these statistics; `mapdp_is_sound` asks the same on a device."""
    rows = state.numbers[:, 0]
    _require((np.diff(state.chairs) > 0).all(), "the numbers of its clusters do not rise")
    _require(np.isfinite(state.numbers).all(), _SENSELESS)
    _require(((rows > least) & (rows <= _MOST_ROWS)).all(), "a cluster of it has no rows, or too many")
    with np.errstate(over="ignore"):
        for kind, tables in zip(kinds, _tables(kinds, state), strict=True):
            for name, most in _largest(kind).items():
                is_in = np.abs(tables[name]) <= 1.001 * rows[:, None] * most  # but for rounding
                _require(is_in.all(), _SENSELESS)
            for name in _COUNTED & set(tables):
                _require((tables[name] >= 0.0).all(), _SENSELESS)
            if kind.name == "full":
                i, j = np.tril_indices(tables["sum"].shape[1])
                _require((tables["product"][:, i == j] >= 0.0).all(), _SENSELESS)


def _largest(kind: Kind) -> dict[str, Any]:
    """Return the most that one row adds to each statistic, by its name."""
    largest: dict[str, Any] = {"n": 1.0}
    if kind.name == "level":
        return largest | {"tally": 1.0}
    if kind.name in ("poisson", "waiting"):
        largest |= dict.fromkeys(("orders", "orders_low"), _MOST_ORDERS)
        return largest | dict.fromkeys(("total", "total_low"), LARGEST_COUNT)
    reach = next(table.values for table in kind.prior if table.name == "reach")
    largest |= dict.fromkeys(("sum", "sum_low"), reach)
    if kind.name != "full":
        return largest | dict.fromkeys(("square", "square_low"), reach**2)
    products = np.outer(reach, reach)[np.tril_indices(len(reach))]
    return largest | dict.fromkeys(("product", "product_low"), products)


def _require(is_so: object, trouble: str) -> None:
    if not is_so:
        raise ValueError(
            f"content is no state of a device: {trouble}. "
            "Hint: mapdp_write returns how many bytes it wrote; model must be the one that was exported."
        )


def _ordered(state: DeviceState) -> DeviceState:
    """Return clusters by falling size."""
    order = np.argsort(-state.numbers[:, 0], kind="stable")
    return DeviceState(*[part[order] for part in state])


def _mixture(old: FittedMixture, kinds: list[Kind], state: DeviceState) -> FittedMixture:
    """Return the mixture of these statistics; rows of a device may have gaps, so columns are `Mixed`."""
    family = Mixed.of(old.family) if old.family.has_columns else old.family
    n_clusters = len(state.chairs)
    slots = whole_lanes(n_clusters + 1)
    bank = family.new_bank(slots)
    if not n_clusters:
        pass  # all is forgotten
    elif isinstance(family, Mixed):
        _fill_columns(bank, family, kinds, state)
    else:
        _fill_rows(bank, family, kinds, state)
    refresh_chairs(family.handle(bank), n_clusters, slots)
    sizes = state.numbers[:, 0]
    whole = np.rint(sizes).astype(np.int64)
    return old._replace(family=family, bank=bank, sizes=whole if (whole == sizes).all() else sizes.copy())


def _tables(kinds: list[Kind], state: DeviceState) -> list[dict[str, np.ndarray]]:
    """Return for each kind its statistics by name, (K, n) each."""
    found, at = [], 1
    for kind in kinds:
        tables = {}
        for table in kind.sums:
            n = table.values.shape[1]
            tables[table.name] = state.numbers[:, at : at + n]
            at += n
        found.append(tables)
    return found


def _fill_rows(bank: Bank, family: Family, kinds: list[Kind], state: DeviceState) -> None:
    """Put the statistics of clusters that are described as a whole into a bank."""
    (tables,), some = _tables(kinds, state), slice(len(state.chairs))
    bank.n[some] = tables["n"][:, 0]
    bank.sum_high[:, some], bank.sum_low[:, some] = tables["sum"].T, tables["sum_low"].T
    if "square" in tables:
        bank.second_high[:, some], bank.second_low[:, some] = tables["square"].T, tables["square_low"].T
        return
    i, j = np.tril_indices(family.n_features)
    bank.product_high[i, j, some], bank.product_low[i, j, some] = (
        tables["product"].T,
        tables["product_low"].T,
    )


def _fill_columns(bank: Bank, family: Mixed, kinds: list[Kind], state: DeviceState) -> None:
    """Put the statistics of columns into a bank of a mixed table."""
    tables, n_clusters = _tables(kinds, state), len(state.chairs)
    parts = family.banks_of([_sums(kinds, tables, family.n_features, k) for k in range(n_clusters)])
    stored = [array for part in parts for array in arrays_of(part)]
    for new, array in zip(arrays_of(bank), stored, strict=True):
        new[..., :n_clusters] = array[..., :n_clusters]


def _sums(kinds: list[Kind], tables: list[dict[str, np.ndarray]], n_columns: int, k: int) -> Sums:
    """Return the statistics of one cluster, column by column."""
    numbers, tallies = np.zeros((5, n_columns)), [NOTHING] * n_columns
    for kind, table in zip(kinds, tables, strict=True):
        constants = {one.name: one.values for one in kind.prior}
        place = constants["place"].astype(int)
        if kind.name == "level":
            numbers[0, place] = table["n"][k]
            for j, tally in zip(place, np.split(table["tally"][k], constants["first"][1:-1]), strict=True):
                tallies[j] = tally
        else:
            numbers[:, place] = [values[k] for values in table.values()]
    return exact_sums(*numbers, tallies=tuple(tallies))


def _log_joint(mixture: FittedMixture, kinds: list[Kind], state: DeviceState) -> float:
    """Return log p(x, z) of the rows that the clusters count."""
    if not mixture.n_clusters:
        return 0.0
    marginals = sum(float(verbs.log_marginal(mixture.bank, k)) for k in range(mixture.n_clusters))
    units = np.log([column.unit for column in mixture.schema.columns if column.is_used])
    cells = np.zeros(len(units))
    for kind, table in zip(kinds, _tables(kinds, state), strict=True):
        place = {one.name: one.values for one in kind.prior}.get("place", slice(None))
        cells[place] += table["n"].sum(axis=0)
    return marginals + mixture.process.log_eppf(mixture.sizes) - float(cells @ units)
