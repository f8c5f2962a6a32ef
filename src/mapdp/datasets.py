"""The paper's tables: the public path of `mapdp.data.datasets`."""

from mapdp.data.datasets import NAMES, Table, load_uci

__all__ = ["NAMES", "Table", "load_uci"]
