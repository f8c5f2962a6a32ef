"""What all benchmarks share: a Markdown table, and where it goes."""

import pathlib


def table(header, rows):
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write(text, out=None):
    """Print a text, and write it to a file where one is named."""
    print(text, flush=True)
    if out:
        pathlib.Path(out).write_text(text + "\n")
