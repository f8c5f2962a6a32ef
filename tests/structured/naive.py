"""Structured priors written customer by customer, every seating of a few rows, and a Gibbs sampler."""

import numpy as np


def crp(sizes, concentration):
    """Return the log probability of tables of these sizes, filled one row at a time."""
    total, seated = 0.0, 0
    for size in sizes:
        for already in range(size):
            total += np.log(already if already else concentration) - np.log(concentration + seated)
            seated += 1
    return total


def hierarchical_log_prior(groups, tables, dishes, alpha, gamma):
    """Return the log prior of a franchise: tables of each group, then dishes of all tables."""
    total, served = 0.0, []
    for g in sorted(set(groups)):
        rows = [i for i in range(len(groups)) if groups[i] == g]
        names = sorted({tables[i] for i in rows})
        total += crp([sum(tables[i] == t for i in rows) for t in names], alpha)
        served += [dishes[next(i for i in rows if tables[i] == t)] for t in names]
    return total + crp([served.count(k) for k in sorted(set(served))], gamma)


def partitions(n):
    """Yield every partition of n things, parts numbered in order of appearance."""

    def extend(prefix, n_parts):
        if len(prefix) == n:
            yield list(prefix)
            return
        for k in range(n_parts + 1):
            yield from extend([*prefix, k], max(n_parts, k + 1))

    yield from extend([], 0)


def franchises(groups):
    """Yield tables and dishes of every seating of rows in groups."""
    groups = list(groups)
    names = sorted(set(groups))

    def tables_of(left, tables):
        if not left:
            yield dict(tables)
            return
        rows = [i for i in range(len(groups)) if groups[i] == left[0]]
        for parts in partitions(len(rows)):
            yield from tables_of(
                left[1:], {**tables, **{i: (left[0], p) for i, p in zip(rows, parts, strict=True)}}
            )

    for tables in tables_of(names, {}):
        every = sorted(set(tables.values()))
        for dishes in partitions(len(every)):
            dish = dict(zip(every, dishes, strict=True))
            rows = range(len(groups))
            yield [every.index(tables[i]) for i in rows], [dish[tables[i]] for i in rows]


def sequences(is_first, alpha, gamma, stickiness):
    """Yield states, tables, whether each table is of the house, and the log probability, row by row."""
    n = len(is_first)

    def extend(i, states, tables, opened, log_p):
        # opened: list of (restaurant, dish, is_own, size)
        if i == n:
            yield list(states), list(tables), [opened[t][2] for t in tables], log_p
            return
        r = -1 if is_first[i] else states[i - 1]
        total = alpha + (stickiness if r >= 0 else 0.0) + sum(size for q, _, _, size in opened if q == r)
        shared = [dish for _, dish, own, _ in opened if not own]
        n_states = max(states, default=-1) + 1
        choices = [
            (t, opened[t][1], opened[t][2], size) for t, (q, _, _, size) in enumerate(opened) if q == r
        ]
        new = len(opened)
        for k in range(n_states + 1):
            weight = shared.count(k) if k in shared else (gamma if k == n_states else 0.0)
            choices.append((new, k, False, alpha * weight / (len(shared) + gamma)))
        if r >= 0 and stickiness > 0.0:
            choices.append((new, r, True, stickiness))
        for t, k, own, weight in choices:
            if weight > 0.0:
                more = [list(one) for one in opened]
                if t == new:
                    more.append([r, k, own, 0])
                more[t][3] += 1
                log_more = log_p + np.log(weight) - np.log(total)
                yield from extend(i + 1, [*states, k], [*tables, t], [tuple(o) for o in more], log_more)

    yield from extend(0, [], [], [], 0.0)


def nested_states(groups):
    """Yield labels of groups and of rows of every nested partition."""
    n_groups = max(groups) + 1
    for of_groups in partitions(n_groups):
        clusters = [of_groups[g] for g in groups]

        def within(left, labels, first, clusters=clusters):
            if not left:
                yield list(labels)
                return
            rows = [i for i, c in enumerate(clusters) if c == left[0]]
            for parts in partitions(len(rows)):
                for i, p in zip(rows, parts, strict=True):
                    labels[i] = first + p
                yield from within(left[1:], labels, first + max(parts) + 1)

        for labels in within(sorted(set(clusters)), [0] * len(groups), 0):
            yield of_groups, labels


def nested_log_prior(of_groups, groups, labels, alpha, beta):
    """Return the log prior of a nested partition."""
    total = crp([of_groups.count(c) for c in sorted(set(of_groups))], alpha)
    for c in sorted(set(of_groups)):
        inside = [labels[i] for i in range(len(groups)) if of_groups[groups[i]] == c]
        total += crp([inside.count(k) for k in sorted(set(inside))], beta)
    return total
