"""Knows who is told of the steps of a fit."""

from collections.abc import Callable

from mapdp.trace import Step, StoppedError, silent


class Teller:
    """Prints steps, or hands them on; ends the search where who is told returns True."""

    def __init__(self, verbose: int, callback: Callable[[Step], object] | None) -> None:
        self.is_stopped = False
        self._verbose, self._callback = verbose, callback

    def __call__(self, step: Step) -> None:
        """Tell of a step."""
        if self._verbose:
            print(step, flush=True)
        if self._callback is not None and not self.is_stopped:
            self.is_stopped = bool(self._callback(step))
        if self.is_stopped:
            raise StoppedError


def teller_of_sweeps(verbose: int) -> Callable[[Step], None]:
    """Return who is told of a sampler's sweeps: nobody, or one who prints every hundredth."""
    return _print_hundredth if verbose else silent


def _print_hundredth(step: Step) -> None:
    if step.sweep % 100 == 0:
        print(step, flush=True)
