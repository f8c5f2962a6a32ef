"""Files that an attacker could have written: saved models, changed, with their digest put right."""

import copy
import functools
import json
import struct

import numpy as np
import pandas as pd
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as tensor_bytes

from mapdp import MAPDP, DPMeans, Gaussian, GibbsDPM
from mapdp.outputs import saving


def mixed_table(rng, n=60):
    group = rng.integers(0, 2, n)
    words = np.array(["a", "b", "c"])
    return pd.DataFrame(
        {
            "x": rng.normal(6.0 * group),
            "c": words[group + rng.integers(0, 2, n)],
            "n": rng.poisson(1 + 4 * group),
            "o": pd.Categorical(words[group + rng.integers(0, 2, n)], categories=words, ordered=True),
        }
    )


@functools.cache
def saved_models():
    """Return the bytes of a few small models, each with three rows of its table."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 9.0])
    table = mixed_table(rng)
    models = {
        "diagonal": (MAPDP(alpha=1.0).fit(X), X),
        "full": (MAPDP(alpha=1.0, family=Gaussian).fit(X), X),
        "mixed": (MAPDP(process="mfm", columns={"n": "count"}).fit(table), table),
        "weighted": (MAPDP(alpha=1.0).fit(table, sample_weight=rng.uniform(0.5, 1.5, 60)), table),
        "gibbs": (GibbsDPM(n_sweeps=6, n_chains=2, random_state=0).fit(table), table),
        "means": (DPMeans(lam=20.0).fit(X), X),
    }
    return {name: (saving.to_bytes(model), rows[:3]) for name, (model, rows) in models.items()}


def opened(content):
    """Return what a file says and its tensors."""
    (length,) = struct.unpack("<Q", content[:8])
    about = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["mapdp"])
    return json.loads(about["model"]), {name: array.copy() for name, array in read_tensors(content).items()}


def sealed(model, tensors, text=None):
    """Return the bytes of a file that says this, with the right digest."""
    text = json.dumps(model) if text is None else text
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    about = {"format": saving.FORMAT, "version": saving.VERSION, "model": text}
    about["sha256"] = saving._digest(text, tensors)
    return tensor_bytes(tensors, metadata={"mapdp": json.dumps(about)})


NAMES = [
    "Mixed",
    "Product",
    "Gaussian",
    "Ordered",
    "Step",
    "Schema",
    "PitmanYor",
    "Column",
    "os.system",
    "MAPDP",
]
ODD = [
    *(
        None,
        True,
        -1,
        0,
        1,
        2,
        7,
        1e308,
        -1e308,
        1e-320,
        float("nan"),
        float("inf"),
        10**30,
        10**400,
        2**62,
    ),
    *(
        "",
        "x" * 300,
        "real",
        "category",
        "given",
        "bank.00",
        [],
        [[]],
        {},
        {"tuple": []},
        {"pairs": [[[], 1]]},
    ),
    *(
        {"pairs": [[1, 2]]},
        {"tensor": "labels_"},
        {"tensor": "sizes"},
        {"tensor": 3},
        {"class": "Gaussian"},
    ),
    {"kind": "MixtureOfFiniteMixtures", "fields": {"concentration": 1e-300, "rate": 1e12}},
    {"kind": "PitmanYor", "fields": {"alpha": 1e300, "discount": 0.99, "rows": 1e15}},
    {"kind": "Ordered", "fields": {"levels": [list(range(40))], "width": 1e-200}},
    functools.reduce(lambda inner, _: [inner], range(40), 1),
    functools.reduce(lambda inner, _: {"tuple": [inner]}, range(100), 1),
]


def places(node):
    """Return all (container, key) pairs of a tree of JSON."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    found = [(node, key) for key in keys]
    for key in keys:
        found += places(node[key])
    return found


def change_text(model, rng):
    """Change one place of the JSON."""
    where = places(model)
    node, key = where[rng.integers(len(where))]
    other, name = where[rng.integers(len(where))]
    how = rng.integers(9)
    if how < 4:
        node[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])
    elif how == 4:
        node[key] = copy.deepcopy(other[name])
    elif how == 5:
        del node[key]
    elif how == 6 and isinstance(node, list):
        node.extend(copy.deepcopy(node[key]) for _ in range(rng.integers(1, 4)))
    elif how == 7 and isinstance(node, dict):
        node[str(rng.choice(["kind", "tensor", "fields", "names", "bank"]))] = node.pop(key)
    elif isinstance(node[key], str):
        node[key] = str(rng.choice(NAMES))
    elif isinstance(node[key], int | float):
        node[key] = node[key] * -1 if rng.integers(2) else node[key] + 1


SHAPES = [
    lambda a: a[..., :-1],
    lambda a: a[:0],
    lambda a: a.ravel(),
    lambda a: a.T,
    lambda a: a[None],
    lambda a: np.concatenate([a, a], axis=-1) if a.ndim else a,
    lambda a: np.repeat(a, 3, axis=0) if a.ndim else a,
    lambda a: a[::-1],
]


def change_tensor(tensors, rng):
    """Change one tensor: its shape, type, numbers or name."""
    if not tensors:
        return
    names = sorted(tensors)
    name, other = (str(rng.choice(names)) for _ in range(2))
    array, how = tensors[name], rng.integers(7)
    if how == 0:
        tensors[name] = SHAPES[rng.integers(len(SHAPES))](array)
    elif how == 1:
        tensors[name] = array.astype(
            rng.choice(["f4", "f8", "f2"] if array.dtype.kind == "f" else ["i8", "i4", "f8", "?"])
        )
    elif how in (2, 3):
        odd = rng.choice([np.nan, np.inf, -1.0, 0.0, 1e300, -1e300, 1e-320, 3.0, 0.5, 1e9])
        tensors[name] = array = array.astype("f8") if rng.integers(2) else array
        if array.size:
            some = rng.integers(array.size, size=rng.integers(1, 4))
            array.flat[some] = odd if array.dtype.kind == "f" else rng.choice([-1, 0, 3, 100])
    elif how == 4:
        tensors[name], tensors[other] = tensors[other], tensors[name]
    elif how == 5:
        tensors[str(rng.choice(["bank.99", "extra", other]))] = tensors.pop(name)
    else:
        tensors[name] = -array if array.dtype.kind == "f" else array * 3


def forged_files(n, seed=0):
    """Yield the name of a model, bytes that were made from it, and three rows for it."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        name = list(saved_models())[number % len(saved_models())]
        content, rows = saved_models()[name]
        model, tensors = opened(content)
        with np.errstate(all="ignore"):
            for _ in range(rng.integers(1, 4)):
                change_text(model, rng) if rng.integers(2) else change_tensor(tensors, rng)
        yield name, sealed(model, tensors), rows
