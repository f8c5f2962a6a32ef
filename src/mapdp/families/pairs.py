"""Banks side by side: a bank for some columns, and one for the rest, which may be such a pair again.

Kernels know both sides by their addresses, so that pairs of any families share the machine code of a pair.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdp.compiled.handles import Handle, handle
from mapdp.families import verbs
from mapdp.families.base import Family, Parameters

_SAMPLE = (handle(()), handle(()))  # working space of a pair: what kind of thing it is


def paired(parts: Sequence[Any]) -> Any:
    """Return the first with a pair of the rest, and so on; one part alone as it is."""
    return parts[0] if len(parts) == 1 else (parts[0], paired(parts[1:]))


def written_banks(bank: Any, leaves: Sequence[Handle]) -> Any:
    """Return a pair of banks, or pairs of pairs, as kernels take it; the leaves are from left to right."""
    right = leaves[1]
    if len(leaves) > 2:
        rest = written_banks(bank.right, leaves[1:])
        right = handle(bank.right, verbs.addresses_of(rest, _SAMPLE), rest)
    return bank._replace(left=leaves[0], right=right)


def written_scratch(scratch: Any, leaves: Sequence[Handle]) -> Any:
    """Return the working space of pairs as kernels take it."""
    right = leaves[1]
    if len(leaves) > 2:
        right = handle(scratch[1], written=written_scratch(scratch[1], leaves[1:]))
    return leaves[0], right


def rows_side_by_side(
    families: Sequence[Family], parameters: Parameters, rng: np.random.Generator
) -> np.ndarray:
    """Draw one row for each drawn cluster, family after family; each takes its share of the parameters."""
    rows, rest = [], parameters
    for one in families:
        taken = len(one.sample_parameters(0, rng))
        rows.append(one.sample_rows(rest[:taken], rng))
        rest = rest[taken:]
    return np.hstack(rows)
