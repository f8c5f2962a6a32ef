"""Try an installed mapdp: fit, predict, save, load, the command line and its report. Needs the extra `cli`.

python scripts/smoke.py
"""

import importlib.resources
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import mapdp


def blobs() -> np.ndarray:
    """Three groups that nobody could take for fewer or more."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 2)) + 12.0 * (np.arange(150) % 3)[:, None]


def try_library(folder: pathlib.Path) -> None:
    """Fit, predict, and read a saved model back."""
    X = blobs()
    model = mapdp.MAPDP(random_state=0).fit(X)
    assert model.n_clusters_ == 3, model.n_clusters_
    assert len({tuple(model.labels_[i::3]) for i in range(3)}) == 3
    mapdp.save(model, folder / "model.mapdp")
    again = mapdp.load(folder / "model.mapdp")
    assert (again.predict(X) == model.predict(X)).all()
    mapdp.export_c(model, folder / "firmware", learn=True)
    assert (importlib.resources.files("mapdp") / "py.typed").is_file()


def try_command(folder: pathlib.Path) -> None:
    """Cluster a file from the command line, and look at what it writes."""
    lines = ["width,height", *(f"{a:.3f},{b:.3f}" for a, b in blobs())]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mapdp", "fit", "table.csv", "--out", "found"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    written = {path.name for path in (folder / "found").iterdir()}
    assert {"labels.csv", "model.mapdp", "report.html"} <= written, written
    assert "<html" in (folder / "found" / "report.html").read_text()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        try_library(pathlib.Path(name))
        try_command(pathlib.Path(name))
    about = f"mapdp {mapdp.__version__} on Python {sys.version.split()[0]}, NumPy {np.__version__}"
    print(f"{about}: fit, command line and report work.")
