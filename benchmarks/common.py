"""What all benchmarks share: a Markdown table, where it goes, and files of results."""

import csv
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


def record(rows, out, *keys):
    """Write results as CSV; of what the file holds, rows with the same keys are replaced and others stay."""
    path = pathlib.Path(out)
    found = {tuple(str(row[key]) for key in keys): row for row in [*recorded(path), *rows]}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found.values())


def recorded(path):
    """Return the rows of a file of results, none where there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
