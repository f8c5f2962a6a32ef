"""What the library says, in the language of the command line: options in place of Python's parameters."""

import re

_OPTIONS = (
    "alpha", "process", "discount", "covariance", "expected_clusters", "random_state", "n_init", "n_jobs",
    "seconds", "groups", "sample_weight", "n_clusters", "n_folds", "precision", "capacity", "when_full",
)  # fmt: skip
_NAMED = {
    "random_state": "--seed",
    "sample_weight": "--weights",
    "n_clusters": "--clusters",
    "n_folds": "--folds",
}
_RULES: list[tuple[str, str]] = [
    (r"columns=\{'([^']*)': '(\w+)'\}", r"--columns \1=\2"),
    (r"name one in columns=\{\.\.\.: '(\w+)'\}", r"name one with --columns NAME=\1"),
    (r"\bcolumns names ('[^']*'), but X has", r"--columns or --ignore names \1, but the table has"),
    (r"\bcolumns\['([^']*)'\] must be one of", r"--columns \1=KIND: KIND must be one of"),
    (r"fit with columns=\{\.\.\.: '(\w+)'\}", r"fit with --columns NAME=\1"),
    (
        r"model\.cut\(n_clusters=\.\.\.\) has fewer clusters",
        "`mapdp fit --clusters N` writes fewer clusters",
    ),
    (r"leave learn at False", "leave out --learn"),
    (r"\bX must\b", "the table must"),
    (r"\bX has\b", "the table has"),
    (r" \(NaN\)", ""),
    (r"; see schema_| \(see schema_\)", ""),
    (r"\(n_init\)", "(--n-init)"),
    (r"(\w+)=None\b", r"no \1"),
    (
        r"leave family at None to have columns of words read as categories",
        "--columns NAME=category takes words",
    ),
    (r"give None for no limit", "leave it out for no limit"),
    (r" Hint: (?:MAPDP and GibbsDPM have|fit without y)\.", ""),
    (r"fill them with impute, and fit a model to that", "fill them first"),
    (
        r"\bmax_iter=(\d+) sweeps\. Hint: raise max_iter(?: or tol)?\.",
        r"\1 sweeps. Hint: --n-init 1 is faster.",
    ),
    (
        r"fill them with MAPDP\(\.\.\.\)\.impute, or leave family and covariance as they are",
        "leave out --covariance",
    ),
]


def for_terminal(text: str) -> str:
    """Return a sentence of the library as the command line says it.

    >>> for_terminal("n_init must be at least 1, got 0. Hint: try 1.")
    '--n-init must be at least 1, got 0. Hint: try 1.'
    >>> for_terminal("Hint: columns={'a b': 'real'} takes it as it is.")
    'Hint: --columns a b=real takes it as it is.'
    """
    for pattern, words in _RULES:
        text = re.sub(pattern, words, text)
    for name in _OPTIONS:
        option = _NAMED.get(name, "--" + name.replace("_", "-"))
        text = re.sub(rf"(?<![\w-]){name}='?([\w.-]+)'?", rf"{option} \1", text)
        text = re.sub(rf"(?<![\w-]){name} (must|raises|makes)", rf"{option} \1", text)
        text = (
            re.sub(rf"(?<![\w-])({name})(?=,| and |\. Hint)", option, text)
            if "give one of" in text
            else text
        )
    return text
