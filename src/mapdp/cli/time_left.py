"""About how long a search will still take, from how fast the joint has risen so far."""

import math
from collections.abc import Sequence

_ENOUGH = 5.0  # seconds of a climb, before which nothing can be said
_LEAST = 1e-6  # share of the log joint: a search that gains no more is about to end


def seconds_left(seconds: Sequence[float], log_joints: Sequence[float]) -> float | None:
    """Return about how many seconds are left of a climb; None where that cannot be said.

    What a climb gains falls off like powers of a number below one. That number is what the second half of
    its time gained as a share of what the first half did. The end is where half as long gains next to
    nothing.

    Examples
    --------
    >>> joint_at = {0.0: -1e6, 5.0: -1e5, 10.0: -1e4}
    >>> round(seconds_left(list(joint_at), list(joint_at.values())), 1)  # each 5 s gain a tenth
    34.8
    """
    if not seconds:
        return None
    half = 0.5 * (seconds[-1] - seconds[0])
    if 2.0 * half < _ENOUGH:
        return None
    middle = next(at for at, now in enumerate(seconds) if now >= seconds[0] + half)
    first, second = log_joints[middle] - log_joints[0], log_joints[-1] - log_joints[middle]
    if not 0.0 < second < first:
        return None
    n_halves = math.log(max(_LEAST * abs(log_joints[-1]), 1e-12) / second) / math.log(second / first)
    return max(0.0, n_halves * half)
