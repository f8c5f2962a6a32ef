"""Whether the search for a state sequence misses a better one, or the truth is less probable than what it finds.

python -m benchmarks.bench_paths [draw ...]    (ten draws where none is named)

For each draw with three states: the joint of the true states, of the best path under the true parameters, and
of hmmlearn's states (told three, best of ten starts), less the joint of what the search found; then the same
after a climb that begins there. Family and concentrations are those of the search; a climb learns its own
concentrations. Above zero, the search has missed something.
"""

import sys

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.bench_structured import sequence_with_truth, told
from benchmarks.common import table
from mapdp import MAPHMM
from mapdp.engine.problem import Budget
from mapdp.partitions.concentration import make_prior
from mapdp.partitions.markov import MarkovProcess
from mapdp.search.structured.markov import MarkovRun, path_of
from mapdp.search.structured.run import Task, climb


def best_path(X, is_first, step, centres):
    """Return the most probable path under parameters that are known."""
    log_density = -0.5 * ((X[:, None] - centres) ** 2).sum(axis=2)
    return path_of(log_density, is_first, np.log(np.vstack([np.full(len(step), 1.0 / len(step)), step])))


def climbed(model, X, labels, is_first):
    """Return where a climb from these labels ends, under the family of a fitted model."""
    rows = model._rows_without_open_gaps(model._as_fitted(model.numbers_of(X)))
    process = MarkovProcess(model.alpha_, model.gamma_, model.stickiness_)
    prior = make_prior(model.alpha_prior)
    task = Task(rows, rows, model.family_, is_first, process, (prior, prior, None), Budget().started())
    return climb(MarkovRun(task, labels.astype(np.int32), process), np.random.default_rng(0))


def draw(seed, n=1000, n_states=3):
    """Return a line of the table."""
    X, z, step, centres = sequence_with_truth(np.random.default_rng(seed), n, n_states)
    is_first = np.arange(n) == 0
    model = MAPHMM(covariance="diagonal").fit(X)
    others = {
        "truth": z,
        "path": best_path(X, is_first, step, centres),
        "hmmlearn": told(X, n_states, 10)[0],
    }
    own = climbed(model, X, model.labels_, is_first).log_joint
    line = [seed, model.n_clusters_, f"{adjusted_rand_score(z, model.labels_):.3f}"]
    for name, labels in others.items():
        below = model.log_joint_of(X, np.unique(labels, return_inverse=True)[1]) - model.log_joint_
        again = climbed(model, X, labels, is_first).log_joint - own
        ari = "" if name == "truth" else f"{adjusted_rand_score(z, labels):.3f}, "
        line.append(f"{ari}{below:+.1f}, {again:+.1f}")
    return line


if __name__ == "__main__":
    lines = []
    for seed in [int(word) for word in sys.argv[1:]] or range(10):
        lines.append(draw(seed))
        print(lines[-1], flush=True)
    head = ["draw", "states found", "ARI", "truth", "best path, true parameters", "hmmlearn"]
    print(table(head, lines))
