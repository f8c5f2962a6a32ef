"""Listeners to the steps of a fit: they print, call back, and can stop the search."""

from collections.abc import Callable

from mapdp.engine.trace import Step, StoppedError, silent

_FIRST = ("start", "prior")  # moves that climbs begin with


class StepListener:
    """Prints steps and passes them to a callback; stops the search where the callback returns True."""

    def __init__(self, verbose: int, callback: Callable[[Step], object] | None) -> None:
        self.is_stopped = False
        self._verbose, self._callback, self._climb = verbose, callback, -1

    def __call__(self, step: Step) -> None:
        """Print a step and pass it on, with the number of its climb."""
        self._climb += step.move in _FIRST
        if self.asks_to_stop(step._replace(climb=max(self._climb, 0))):
            raise StoppedError

    def asks_to_stop(self, step: Step) -> bool:
        """Print a step and pass it on; say whether the callback wants the search to end."""
        if self._verbose:
            print(step, flush=True)
        if self._callback is not None and not self.is_stopped:
            self.is_stopped = bool(self._callback(step))
        return self.is_stopped


def listener_to_sweeps(verbose: int, log_units: float = 0.0) -> Callable[[Step], None]:
    """Return a listener that prints every 100th sweep of a sampler, or one that does nothing."""

    def print_hundredth(step: Step) -> None:
        if step.sweep % 100 == 0:
            print(step.less(log_units), flush=True)

    return print_hundredth if verbose else silent
