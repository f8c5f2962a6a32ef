"""What stands beside the C code of a model: a README with sizes, and a program that uses it."""

from mapdp.outputs.c_code.choice import Export, of_process
from mapdp.outputs.c_code.encoding import Cell, cells_of, tables_to_encode
from mapdp.outputs.c_code.kinds import Kind
from mapdp.outputs.c_code.text import escaped, filled
from mapdp.outputs.c_code.writer import about, parts_of, pieces, tables_of_prior

_FRAME = 400  # bytes of stack for calls, as measured on Cortex-M


def example(choice: Export) -> str:
    """Return main.c."""
    verb, also = ("mapdp_learn", ", and learns it") if choice.learn else ("mapdp_assign", "")
    return filled(pieces()["main"], {"verb": verb, "also": also})


def readme(choice: Export) -> str:
    """Return README.md."""
    cells = cells_of(choice)
    parts = {
        **parts_of(choice, cells),
        "about": f"Written by mapdp: {about(choice)}.",
        "constant_bytes": str(_constant_bytes(choice, cells)),
        "state_bytes": _state_bytes(choice),
        "stack_bytes": str(_stack_bytes(choice)),
        "calls": _calls(choice),
        "columns": "\n".join(_column_lines(choice, cells)),
        "state_layout": _state_layout(choice),
    }
    return filled(pieces()["README.md"], parts)


def _calls(choice: Export) -> str:
    calls = [
        "int cluster = mapdp_assign(&state, x);   /* -1 is MAPDP_NEW: like none of them */",
        "mapdp_real density = mapdp_score(&state, x);   /* its logarithm */",
    ]
    learned = "int sat = mapdp_learn(&state, x);        /* seats the row for good; may open a cluster */"
    return "\n".join([*calls, learned] if choice.learn else calls)


def _column_lines(choice: Export, cells: list[Cell]) -> list[str]:
    """Return a line of a table for each column."""
    holds = {cell.source: cell.about() for cell in cells}
    return [
        f"| {j} | {'' if column.name is None else escaped(column.name)} | {holds.get(j, 'not used')} |"
        for j, column in enumerate(choice.mixture.schema.columns)
    ]


def _state_layout(choice: Export) -> str:
    if not choice.learn:
        return ""
    n = n_numbers(choice.kinds)
    parts = {"real_bytes": choice.real_bytes, "n_numbers": n, "one_bytes": n * choice.real_bytes}
    return filled(pieces()["state_layout.md"], {name: str(value) for name, value in parts.items()})


def n_numbers(kinds: list[Kind]) -> int:
    """Return how many numbers the statistics of a cluster are."""
    return 1 + sum(table.values.shape[1] for kind in kinds for table in kind.sums)


def _state_bytes(choice: Export) -> str:
    """Return the bytes of the state; that of a model that does not learn is a pointer and a number."""
    if not choice.learn:
        return "8 where pointers have 4 bytes, 16 where they have 8"
    one = n_numbers(choice.kinds) + _n_predictive(choice.kinds) + 1
    whole_numbers = 12 if choice.real_bytes == 4 else 16  # three of them, and a gap where doubles are
    return str((choice.capacity + 1) * one * choice.real_bytes + whole_numbers)


def _n_predictive(kinds: list[Kind]) -> int:
    return sum(table.values.shape[1] for kind in kinds for table in kind.predictive)


def _constant_bytes(choice: Export, cells: list[Cell]) -> int:
    """Return the bytes of all constants."""
    n_clusters = choice.mixture.n_clusters
    if choice.learn:
        n = n_clusters * n_numbers(choice.kinds) + len(of_process(choice.mixture.process))
    else:
        n = (n_clusters + 1) * (_n_predictive(choice.kinds) + 1)
    tables = [table for kind in choice.kinds for table in tables_of_prior(kind, choice)]
    tables += tables_to_encode(choice, cells)
    n += sum(len(table.values) for table in tables if not table.is_whole)
    n_whole = sum(len(table.values) for table in tables if table.is_whole)
    return n * choice.real_bytes + 2 * n_whole + (4 if choice.learn else 0)  # and the fingerprint


def _stack_bytes(choice: Export) -> int:
    """Return about how much stack a call takes at most."""
    triangle = choice.kinds[0].lengths.get("MAPDP_TRIANGLE", 0)
    residuals = 3 * choice.mixture.family.n_features if triangle else 0
    worth = choice.capacity if choice.merges else 0
    return _FRAME + (triangle + residuals + worth) * choice.real_bytes
