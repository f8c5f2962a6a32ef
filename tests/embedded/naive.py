"""The rule of `mapdp_learn`, written naively: additive statistics, and marginals by scipy's log gammas."""

import types

import numpy as np
from scipy.special import gammaln, multigammaln

import mapdp


def _student(family):
    m0, c0, a0, b0, blur = (
        np.asarray(v, dtype=float)
        for v in (family.mean, family.strength, family.shape, family.rate, family.resolution**2 / 24.0)
    )

    def statistics(x):
        seen = ~np.isnan(x)
        y = np.where(seen, x - m0, 0.0)
        return np.concatenate([seen, y, y * y])

    def log_marginal(t):
        n, s, q = np.split(t, 3, axis=-1)
        a, c = a0 + n / 2, c0 + n
        b = b0 + 0.5 * (q - s * s / c) + n * blur
        level = gammaln(a) - gammaln(a0) + 0.5 * np.log(c0 / c) - n / 2 * np.log(2 * np.pi)
        return (level + a0 * np.log(b0) - a * np.log(b)).sum(axis=-1)

    return statistics, log_marginal


def _sphere(family, encode):
    d, w2 = family.n_features, getattr(family, "width", np.ones(family.n_features)) ** 2
    rate, log_det = getattr(family, "rate", family.shape), np.log(w2).sum()
    blur = (family.resolution**2 / 24.0 / w2).sum()
    if isinstance(family, mapdp.SharedGaussian):
        log_det = np.linalg.slogdet(family.scale)[1]
        inverse = np.linalg.inv(np.linalg.cholesky(family.scale))
        blur = (inverse**2 @ (family.resolution**2 / 24.0)).sum()

    def statistics(x):
        y = encode(x)
        return np.concatenate([[1.0], y, y * y])

    def log_marginal(t):
        n, s, q = t[..., 0], t[..., 1 : d + 1], t[..., d + 1 :]
        c, a = family.strength + n, family.shape + 0.5 * d * n
        b = rate + 0.5 * ((q - s * s / c[..., None]) / w2).sum(axis=-1) + n * blur
        level = gammaln(a) - gammaln(family.shape) + family.shape * np.log(rate) - a * np.log(b)
        return level + 0.5 * d * np.log(family.strength / c) - 0.5 * n * (d * np.log(2 * np.pi) + log_det)

    return statistics, log_marginal


def _full(family):
    d, rounding = family.n_features, np.diag(family.resolution**2 / 12.0)

    def statistics(x):
        y = x - family.mean
        return np.concatenate([[1.0], y, np.outer(y, y).ravel()])

    def log_marginal(t):
        n, s, p = t[..., 0], t[..., 1 : d + 1], t[..., d + 1 :].reshape(*t.shape[:-1], d, d)
        c, nu = family.strength + n, family.dof + n
        scale = family.scale + p - s[..., :, None] * s[..., None, :] / c[..., None, None]
        scale = scale + n[..., None, None] * rounding
        level = multigammaln(nu / 2, d) - multigammaln(family.dof / 2, d) - 0.5 * n * d * np.log(np.pi)
        level = level + 0.5 * d * np.log(family.strength / c)
        prior = 0.5 * family.dof * np.linalg.slogdet(family.scale)[1]
        return level + prior - 0.5 * nu * np.linalg.slogdet(scale)[1]

    return statistics, log_marginal


def _levels(weights, codes):
    first = np.concatenate([[0], np.cumsum([len(w) for w in weights])])
    prior = np.concatenate(weights)

    def statistics(x):
        tally = np.zeros(first[-1])
        for j, v in enumerate(codes(x)):
            if not np.isnan(v):
                tally[first[j] + int(v)] = 1.0
        return tally

    def log_marginal(t):
        total = (gammaln(prior + t) - gammaln(prior)).sum(axis=-1)
        for j, w in enumerate(weights):
            n = t[..., first[j] : first[j + 1]].sum(axis=-1)
            total = total - gammaln(w.sum() + n) + gammaln(w.sum())
        return total

    return statistics, log_marginal


def _counts(log_marginal_of, columns):
    def statistics(x):
        seen = ~np.isnan(x[columns])
        return np.concatenate([seen, np.where(seen, x[columns], 0.0)])

    return statistics, lambda t: log_marginal_of(*np.split(t, 2, axis=-1)).sum(axis=-1)


def _poisson(family, columns):
    a, b = family.shape, family.rate
    return _counts(
        lambda n, s: gammaln(a + s) - gammaln(a) + a * np.log(b) - (a + s) * np.log(b + n), columns
    )


def _waiting(family, columns):
    a, b, r = family.success, family.failure, family.trials

    def log_marginal(n, s):
        both = gammaln(a + b + n * r + s) - gammaln(a + b)
        return gammaln(a + n * r) - gammaln(a) + gammaln(b + s) - gammaln(b) - both

    return _counts(log_marginal, columns)


def _side_by_side(parts, widths):
    cuts = np.cumsum(widths)[:-1]

    def log_marginal(t):
        pieces = np.split(t, cuts, axis=-1)
        return sum(one(piece) for (_, one), piece in zip(parts, pieces, strict=True))

    return lambda x: np.concatenate([statistics(x) for statistics, _ in parts]), log_marginal


def parts_of(model):
    """Return how a row of the table's numbers becomes additive statistics, and their log marginal.

    The numbers are those of `model.numbers_of`. What counts add wherever they sit is left out.
    """
    family = model.family_
    if isinstance(family, mapdp.Mixed):
        return _mixed(family)
    if isinstance(family, mapdp.Gaussian):
        return _full(family)
    if isinstance(family, mapdp.SphericalGaussian):
        return _sphere(family, lambda x: x - family.mean)
    if isinstance(family, mapdp.SharedGaussian):
        return _sphere(family, lambda x: family.encode(x[None])[0])
    if isinstance(family, mapdp.DiagonalGaussian):
        return _student(family)
    every = np.arange(family.n_features)
    if isinstance(family, mapdp.Poisson):
        return _poisson(family, every)
    if isinstance(family, mapdp.NegativeBinomial):
        return _waiting(family, every)
    return _levels(family.pseudo_counts, lambda x: x)


def _mixed(family):
    """Columns of one sort together: Gaussian ones, waiting times, levels."""
    sorts = {"mean": [], "trials": [], "": []}
    for j, one in enumerate(family.columns):
        sorts[next(name for name in sorts if hasattr(one, name) or not name)].append(j)
    parts = []
    if sorts["mean"]:
        parts.append(_at(sorts["mean"], _student(_joined(family, sorts["mean"]))))
    if sorts["trials"]:
        parts.append(_waiting(_joined(family, sorts["trials"]), sorts["trials"]))
    if sorts[""]:
        weights = [family.columns[j].pseudo_counts[0] for j in sorts[""]]
        parts.append(_at(sorts[""], _levels(weights, lambda x: x)))
    return _side_by_side(parts, [len(part[0](np.zeros(family.n_features))) for part in parts])


def _joined(family, columns):
    """Return the hyperparameters of one-column families as arrays."""
    some = [vars(family.columns[j]) for j in columns]
    return types.SimpleNamespace(
        **{name: np.array([np.ravel(one[name])[0] for one in some]) for name in some[0]}
    )


def _at(columns, part):
    statistics, log_marginal = part
    return lambda x: statistics(x[columns]), log_marginal


class NaiveLearner:
    """The clusters of a fitted model, learning row by row."""

    def __init__(self, model, numbers, capacity, merges):
        self.statistics, self.log_marginal = parts_of(model)
        self.process, self.capacity, self.merges = model.mixture_.process, capacity, merges
        rows = np.array([self.statistics(x) for x in numbers])
        self.t = np.array([rows[model.labels_ == k].sum(axis=0) for k in range(model.n_clusters_)])
        self.sizes = model.cluster_sizes_.astype(float)
        self.nothing = self.log_marginal(np.zeros((1, rows.shape[1])))[0]
        self.worth = self.log_marginal(self.t)

    def log_sit(self, n):
        return gammaln(n - self.process.discount) - gammaln(1.0 - self.process.discount)

    def learn(self, x):
        """Seat a row; return its cluster, and the pair that was merged for it, or -1, -1."""
        t = self.statistics(x)
        with_row = self.log_marginal(np.vstack([self.t + t, t]))
        new = with_row[-1] - self.nothing
        taken, merged = self.sizes > 0.0, (-1, -1)
        ahead = with_row[:-1] - self.worth
        join = np.where(taken, self.process.log_join(np.where(taken, self.sizes, 2.0)) + ahead, -np.inf)
        k = int(join.argmax())
        if self.process.log_open(taken.sum(), self.sizes.sum() + 1.0) + new > join[k]:
            if not taken.all():
                k = int(taken.argmin())
            elif len(self.sizes) < self.capacity:
                k = len(self.sizes)
                self.t, self.sizes = np.vstack([self.t, 0 * t]), np.append(self.sizes, 0.0)
                self.worth = np.append(self.worth, self.nothing)
            elif not self.merges:
                return -2, merged
            else:
                gain, a, b = self.closest_pair()
                if gain + new > join[k]:
                    self.t[a] += self.t[b]
                    self.sizes[a] += self.sizes[b]
                    self.t[b], self.sizes[b], k, merged = 0.0, 0.0, b, (b, a)
                    self.worth = self.log_marginal(self.t)
        self.worth[k] = with_row[k if self.sizes[k] else -1]
        self.t[k] += t
        self.sizes[k] += 1.0
        return k, merged

    def forget(self, factor):
        self.t, self.sizes = self.t * factor, self.sizes * factor
        gone = (self.sizes < 1 / 64) | (self.sizes - self.process.discount < 1 / 64)
        self.t[gone], self.sizes[gone] = 0.0, 0.0
        self.worth = self.log_marginal(self.t)

    def closest_pair(self):
        a, b = np.triu_indices(len(self.sizes), 1)
        worth = self.worth + self.log_sit(self.sizes)
        both = self.log_marginal(self.t[a] + self.t[b]) + self.log_sit(self.sizes[a] + self.sizes[b])
        gain = both - worth[a] - worth[b]
        best = int(gain.argmax())
        return gain[best], int(a[best]), int(b[best])
