"""Tables of measured numbers in README and docs that follow from result files.

python -m benchmarks.measured writes them, between lines `<!-- measured: NAME -->` and `<!-- end of NAME -->`; a test
fails where a page has anything else. Result files are docs/experiments/*.csv, which benchmarks and experiments
write, and the pages that other benchmarks write whole or in part.
"""

import csv
import pathlib

import numpy as np

from experiments.map_dpm_2014 import crp, uci

ROOT = pathlib.Path(__file__).parent.parent
OURS = ("paper's prior", "diagonal", "full", "shared")  # columns of bench_real.py that are no other tool
MEASURES = {
    "nmi": "NMI (sum)",
    "nmi_max": "NMI (max)",
    "ami": "AMI",
    "more_clusters": "K minus the true K",
    "iterations": "iterations",
    "cpu_seconds": "CPU seconds",
    "emptied": "clusters that became empty",
    "test_nmi": "NMI of new rows",
    "test_nll": "negative log density of new rows",
}
UNTOUCHED = ("soybean", "digits", "shuttle", "skin_segmentation")  # all but DEVELOPMENT of bench_real.py
AHEAD = 0.05  # adjusted Rand index; smaller differences are called equal


def rows_of(page, *header):
    """Return the table of a page whose header begins with these names, as a dict for each row."""
    lines = iter((ROOT / page).read_text().splitlines())
    start = next(line for line in lines if cells_of(line)[: len(header)] == list(header))
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(cells_of(start), cells_of(line), strict=True)))
    return rows


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def experiment(name):
    """Return a result file of the paper's experiments, as a dict for each row."""
    with (ROOT / "docs" / "experiments" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def crp_mean(method, measure):
    return np.mean([float(row[measure]) for row in experiment("crp") if row["method"] == method])


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def real_tables():
    """Return what bench_real.py wrote, a dict for each table: its size and classes, and a cell for each method."""
    methods = dict.fromkeys((row["method"] for row in experiment("real_tables")), "")
    tables = {}
    for row in experiment("real_tables"):
        size = {name: row[name] for name in ("table", "size", "classes")}
        one = tables.setdefault(row["table"], {**size, **methods})
        one[row["method"]] = f"{float(row['rand']):.2f} / {float(row['mutual']):.2f} ({row['clusters']})"
    return list(tables.values())


def all_methods():
    """Every table and method, and the means over all tables and over those used in development."""
    rows = real_tables()
    development = [row for row in rows if row["table"] not in UNTOUCHED]
    lines = [list(row.values()) for row in rows]
    for title, those in (
        (f"all {len(rows)}", rows),
        (f"the {len(development)} development tables", development),
    ):
        lines.append([f"mean of {title}", "", "", *[mean_cell(those, name) for name in list(rows[0])[3:]]])
    return table(list(rows[0]), lines)


def mean_cell(rows, name):
    cells = [row[name].split(" (")[0].split(" / ") for row in rows if row[name]]
    return " / ".join(f"{mean:.2f}" for mean in np.mean(np.array(cells, dtype=float), axis=0))


def held_out():
    """By how much rows left out are more probable under the learned model, in nats per row."""
    rows = experiment("held_out")
    lines = [
        [row["table"], *[f"{float(row[name]):.2f}" for name in ("density", "probability")]] for row in rows
    ]
    return table(list(rows[0]), lines)


def means(name):
    """Return a method's mean over the tables used in development, and over the others."""
    rows = [row for row in real_tables() if row[name]]
    parts = [
        [row for row in rows if (row["table"] in UNTOUCHED) == untouched] for untouched in (False, True)
    ]
    return [f"{np.mean([rand(row[name]) for row in part]):.2f}" for part in parts]


def others():
    first = real_tables()[0]
    return [name for name in first if name not in ("table", "size", "classes", "MAPDP()", *OURS)]


def rand(cell):
    """Return the adjusted Rand index of a cell such as "0.79 / 0.66 (4)"."""
    return float(cell.split("/")[0])


def wins_and_losses():
    """Against each tool: its means, on how many tables it is behind, equal and ahead, and where it is ahead."""
    lines = [["**`MAPDP()`**", *[f"**{mean}**" for mean in means("MAPDP()")], "", "", "", ""]]
    for name in others():
        both = [row for row in real_tables() if row[name]]
        gain = np.array([rand(row["MAPDP()"]) - rand(row[name]) for row in both]).round(2)
        lost = ", ".join(row["table"] for row, one in zip(both, gain, strict=True) if one < -AHEAD)
        counts = [(gain > AHEAD).sum(), (np.abs(gain) <= AHEAD).sum(), (gain < -AHEAD).sum()]
        lines.append([name, *means(name), *counts, lost.replace("_", " ")])
    n_used = len(real_tables()) - len(UNTOUCHED)
    heads = [f"mean of {n_used} tables", f"of the {len(UNTOUCHED)} others"]
    return table(["method", *heads, "mapdp ahead", "equal", "mapdp behind", "behind on"], lines)


def by_table():
    """Every table: the adjusted Rand index of mapdp and of the other tools, the best in bold."""
    names = ["MAPDP()", *others()]
    lines = []
    for row in real_tables():
        best = max(rand(row[name]) for name in names if row[name])
        shown = [f"{rand(row[name]):.2f}" if row[name] else "" for name in names]
        bold = [f"**{cell}**" if cell == f"{best:.2f}" else cell for cell in shown]
        lines.append([row["table"].replace("_", " "), row["size"], row["classes"], *bold])
    return table(["table", "size", "classes", *[f"`{names[0]}`", *names[1:]]], lines)


def claims():
    """The claims of the README, each with its page."""
    n_used = len(real_tables()) - len(UNTOUCHED)
    against = ", ".join(f"{name} {' / '.join(means(name))}" for name in others())
    speed = rows_of("docs/speed_results.md", "data", "method", "K", "NMI")
    ours, kmeans = [
        next(row for row in speed if row["data"] == "1M x 10, K = 20" and row["method"] == name)
        for name in ("mapdp", "KMeans, K given")
    ]
    large = rows_of("docs/scale.md", "rows", "how")[-1]
    fewer = crp_mean("Gibbs, r = 0.01", "iterations") / crp_mean("MAP-DPM, sequential start", "iterations")
    lines = [
        [
            f"agreement with known classes: {n_used} tables used in development / {len(UNTOUCHED)} others",
            f"mean adjusted Rand index **{' / '.join(means('MAPDP()'))}**; {against}",
            "[which method?](docs/which_method.md)",
        ],
        [
            "a million rows, 20 clusters",
            f"**{ours['seconds']} s**, NMI {float(ours['NMI']):.2f}; K-means, told the 20, {kmeans['seconds']} s and "
            f"{float(kmeans['NMI']):.2f}",
            "[speed](docs/speed_results.md)",
        ],
        [
            f"{large['rows']} rows, {large['how']}",
            f"**{large['peak memory, GB']} GB** of memory, {large['CPU us a row']} µs of CPU time a row",
            "[large tables](docs/scale.md)",
        ],
        [
            "the paper's experiment, 100 draws",
            f"NMI **{crp_mean('MAP-DPM, sequential start', 'nmi'):.2f}** (paper: 0.71), "
            f"{fewer:,.0f} times fewer sweeps than Gibbs sampling",
            "[the paper](docs/paper.md)",
        ],
    ]
    return table(["", "measured", "more"], lines)


def paper_crp():
    """The paper's Tables 1, 4 and 5 beside ours."""
    ours = {"gibbs": "Gibbs, r = 0.01", "map": "MAP-DPM, sequential start"}
    lines = [
        [
            words,
            *[
                short(number)
                for who in ours
                for number in (crp.PAPER[key][who][0], crp_mean(ours[who], key))
            ],
        ]
        for key, words in MEASURES.items()
    ]
    return table(["mean of 100 draws", "Gibbs: paper", "ours", "MAP-DPM: paper", "ours"], lines)


def short(number):
    return (
        f"{number:,.0f}"
        if abs(number) >= 100.0
        else f"{number:.2g}"
        if abs(number) < 0.1
        else f"{number:.2f}"
    )


def paper_uci():
    """The paper's Tables 2 and 3 beside ours."""
    methods = ["DP-means, true K", "Gibbs, r = 0.01", "MAP-DPM, sequential start"]
    found = {(row["data"], row["method"]): row for row in experiment("uci")}
    lines = []
    for name, (nmi, iterations, _) in uci.PAPER.items():
        ours = [found[name, method] for method in methods]
        nmis = [f"{paper:.2f} / {float(one['nmi']):.2f}" for paper, one in zip(nmi, ours, strict=True)]
        sweeps = [
            f"{paper} / {int(one['iterations']):,}" for paper, one in zip(iterations, ours, strict=True)
        ]
        lines.append([name.replace("_", " "), *nmis, *sweeps])
    short_names = [method.split(",")[0] for method in methods]
    header = [f"{what}, {name}" for what in ("NMI", "iterations") for name in short_names]
    return table(["paper / ours", *header], lines)


BLOCKS = {
    "README.md": {"claims": claims},
    "docs/choosing.md": {"comparison": all_methods, "held out": held_out},
    "docs/which_method.md": {"wins": wins_and_losses, "tables": by_table},
    "docs/paper.md": {"crp": paper_crp, "uci": paper_uci},
}


def with_blocks(text, blocks):
    """Return a page with its tables as the result files have them."""
    for name, build in blocks.items():
        begin, end = f"<!-- measured: {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"there is no place for {name}"
        text = f"{before}{begin}\n{build()}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    for page, blocks in BLOCKS.items():
        path = ROOT / page
        path.write_text(with_blocks(path.read_text(), blocks))
