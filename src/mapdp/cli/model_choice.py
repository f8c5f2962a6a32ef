"""Which estimator the options of `mapdp fit` ask for, and which of the options go together."""

import pathlib
from collections.abc import Mapping
from typing import Any

from mapdp.cli.files import TroubleError
from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.nested import NestedMAPDP

MODELS = {"flat": MAPDP, "hierarchical": HierarchicalMAPDP, "nested": NestedMAPDP, "sequence": MAPHMM}
_PROCESSES = ("auto", "dirichlet", "mfm")
_FLAT_ONLY = (
    "weights", "process", "discount", "expected_clusters", "n_jobs", "clusters", "memory", "resume",
)  # fmt: skip
_NOT_FOR = {  # options that say nothing to a model
    "flat": ("sequence_id",),
    "hierarchical": (*_FLAT_ONLY, "sequence_id"),
    "nested": (*_FLAT_ONLY, "sequence_id"),
    "sequence": (*_FLAT_ONLY, "groups", "alpha"),
}
_UNSAID = {"process": "auto", "alpha": "auto", "discount": 0.0, "resume": False}  # others: None
_HINTS = {
    "sequence_id": "--model sequence has sequences.",
    "groups": "--sequence-id names the column that tells sequences apart.",
    "alpha": "alpha, gamma and stickiness are learned together.",
}


def check_together(options: Mapping[str, Any]) -> None:
    """Raise where the options of `mapdp fit` do not go together."""
    model = options["model"]
    if model not in MODELS:
        raise TroubleError(f"--model must be one of {', '.join(MODELS)}, got {model!r}.")
    for name in _NOT_FOR[model]:
        if options[name] != _UNSAID.get(name):
            hint = _HINTS.get(name, "--model flat has it.")
            raise TroubleError(f"--{name.replace('_', '-')} does not go with --model {model}. Hint: {hint}")
    if model in ("hierarchical", "nested") and options["groups"] is None:
        raise TroubleError(f"--model {model} needs groups. Hint: --groups names the column they are in.")
    if model != "flat" and options["table"] != "-" and pathlib.Path(options["table"]).is_dir():
        raise TroubleError(f"--model {model} needs a table in memory, got a folder. Hint: name one file.")


def estimator_of(options: Mapping[str, Any], columns: dict[object, str]) -> Any:
    """Return the estimator that the options ask for."""
    shared = {
        "covariance": options["covariance"],
        "columns": columns or None,
        "random_state": options["seed"],
        "seconds": options["seconds"],
    }
    return _flat(options, shared) if options["model"] == "flat" else _structured(options, shared)


def _flat(options: Mapping[str, Any], shared: dict[str, Any]) -> MAPDP:
    return MAPDP(
        **_prior(options["alpha"], options["process"], options["expected_clusters"]),
        **shared,
        discount=options["discount"],
        n_init=options["n_init"] or "auto",
        n_jobs=options["n_jobs"],
    )


def _structured(options: Mapping[str, Any], shared: dict[str, Any]) -> Any:
    alpha = "map" if options["alpha"] == "auto" else _number(options["alpha"])
    return MODELS[options["model"]](alpha, n_init=options["n_init"] or 1, **shared)


def _prior(alpha: str, process: str, expected_clusters: float | None) -> dict[str, Any]:
    """Return the prior of partitions that the options ask for."""
    if process not in _PROCESSES:
        raise TroubleError(f"--process must be one of {', '.join(_PROCESSES)}, got {process!r}.")
    if process == "dirichlet" and alpha == "auto" and expected_clusters is None:
        alpha = "map"
    return {
        "alpha": _number(alpha),
        "process": "mfm" if process == "mfm" else None,
        "expected_clusters": expected_clusters,
    }


def _number(alpha: str) -> float | str:
    """Return a concentration as a number, or the name of a rule as it is."""
    try:
        return float(alpha)
    except ValueError:
        return alpha
