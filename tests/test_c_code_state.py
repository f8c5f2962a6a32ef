"""A state as bytes, read back on the device and in Python; what the README says of sizes and cells."""

import ctypes
import re
import struct
import subprocess
import zlib

import numpy as np
import pandas as pd
import pytest

import mapdp
from tests.embedded import cases
from tests.embedded.cases import STRICT, as_table, case_named, compiled, exported, needs, run

ABOUT_STATE = """#include "mapdp_model.h"
size_t state_size(void) { return sizeof(mapdp_state); }
#ifdef MAPDP_STATE_BYTES
size_t content_size(void) { return MAPDP_STATE_BYTES; }
#endif
"""


class Device:
    """An exported model in this process, with a state."""

    def __init__(self, model, folder, **how):
        exported(model, folder, **how)
        (folder / "about.c").write_text(ABOUT_STATE)
        command = [
            "gcc",
            *STRICT,
            "-O1",
            "-shared",
            "-fPIC",
            "about.c",
            "mapdp_model.c",
            "-lm",
            "-o",
            "model.so",
        ]
        subprocess.run(command, cwd=folder, check=True)
        self.code = ctypes.CDLL(str(folder / "model.so"))
        self.code.state_size.restype = ctypes.c_size_t
        self.state = ctypes.create_string_buffer(self.code.state_size())
        self.code.mapdp_init(self.state)

    def learn(self, row):
        raw = (ctypes.c_double * len(row))(*row)
        x = (ctypes.c_double * len(row))()
        self.code.mapdp_encode(raw, x)
        return self.code.mapdp_learn(self.state, x)

    def forget(self, factor):
        return self.code.mapdp_forget(self.state, ctypes.c_double(factor))

    def write(self):
        self.code.content_size.restype = self.code.mapdp_write.restype = ctypes.c_size_t
        content = ctypes.create_string_buffer(self.code.content_size())
        n_bytes = self.code.mapdp_write(self.state, content)
        return content.raw[:n_bytes]

    def read(self, content):
        return self.code.mapdp_read(self.state, content, ctypes.c_size_t(len(content)))


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    """Return the device of a case, made once."""
    made = {}

    def device_of(name):
        if name not in made:
            model, folder = case_named(name).model, tmp_path_factory.mktemp(name)
            made[name] = Device(model, folder, learn=True, capacity=model.n_clusters_ + 2)
        made[name].code.mapdp_init(made[name].state)
        return made[name]

    return device_of


def signed(content):
    return bytes(content) + zlib.crc32(content).to_bytes(4, "little")


def with_number(content, n_numbers, cluster, at, number):
    """Return a state in which one statistic is another, with the checksum of that."""
    begin = 16 + cluster * (4 + 8 * n_numbers) + 4 + 8 * at
    return signed(content[:begin] + struct.pack("<d", number) + content[begin + 8 : -4])


SENSELESS = [0.0, -1.0, 1e30, np.nan, np.inf, -np.inf]


@needs("gcc")
@pytest.mark.parametrize("name", cases.NAMES)
def test_senseless_numbers_are_refused_on_the_device_and_here(name, devices):
    device, model = devices(name), case_named(name).model
    content, before = device.write(), device.state.raw
    n_numbers = struct.unpack_from("<I", content, 8)[0]
    forged = [with_number(content, n_numbers, 1, 0, number) for number in SENSELESS]  # a size
    forged += [
        with_number(content, n_numbers, 1, at, number)
        for at in range(1, n_numbers)
        for number in (np.nan, -1e308, 1e308)
    ]
    one = 4 + 8 * n_numbers
    forged.append(signed(content[: 16 + one] + content[16:20] + content[20 + one : -4]))  # one chair twice
    for state in forged:
        assert device.read(state) == 0
        assert device.state.raw == before
        with pytest.raises(ValueError, match="no state of a device"):
            mapdp.import_state(model, state)
    assert device.read(content) == 1
    assert device.write() == content


@needs("gcc")
def test_sizes_below_the_discount_are_refused(devices):
    device, model = devices("pitman_yor"), case_named("pitman_yor").model
    content = device.write()
    n_numbers = struct.unpack_from("<I", content, 8)[0]
    for size, is_read in ((0.29, 0), (90.0, 1)):
        assert device.read(with_number(content, n_numbers, 0, 0, size)) == is_read
    with pytest.raises(ValueError, match="has no rows, or too many"):
        mapdp.import_state(model, with_number(content, n_numbers, 0, 0, 0.29))


@needs("gcc")
@pytest.mark.parametrize("name", ["diagonal", "full", "learned", "mixed"])
def test_a_state_in_which_all_is_forgotten_comes_back(name, devices):
    device, case = devices(name), case_named(name)
    assert device.forget(1e-9) == 0
    content = device.write()
    learned = mapdp.import_state(case.model, content)
    assert (learned.n_clusters_, learned.log_joint_, learned.device_clusters_.tolist()) == (0, 0.0, [])
    rows = case.rows(np.random.default_rng(0), 3)
    table = as_table(case, rows)
    assert (learned.predict(table) == -1).all()
    if name == "diagonal":  # the density of a row alone is that of its own cluster
        alone = [case.model.log_joint_of(row[None], [0]) for row in rows]
        assert np.allclose(learned.score_samples(table), alone, rtol=1e-12)
    for ask in (learned.describe, lambda: learned.tree_, lambda: learned.explain(table)):
        with pytest.raises(ValueError, match="this model has no clusters"):
            ask()
    with pytest.raises(ValueError, match="no clusters left to export"):
        mapdp.export_c(learned, "nowhere")
    device.code.mapdp_init(device.state)
    assert device.read(content) == 1
    assert device.learn(rows[0]) == 0


@needs("gcc")
def test_after_forgetting_python_predicts_as_the_device_does(tmp_path):
    """Under a mixture of finite mixtures, where what rows count for in all matters."""
    case = case_named("learned")
    assert isinstance(case.model.mixture_.process, mapdp.MixtureOfFiniteMixtures)
    rows = case.rows(np.random.default_rng(4), 60)
    device = Device(case.model, tmp_path, learn=True)
    for row in rows:
        device.learn(row)
        device.forget(0.7)
    learned = mapdp.import_state(case.model, device.write())
    assert 2.0 < learned.cluster_sizes_.sum() < 3.0
    device.code.mapdp_score.restype = ctypes.c_double
    clusters = np.append(learned.device_clusters_, -1)
    for row, label, density in zip(rows, learned.predict(rows), learned.score_samples(rows), strict=True):
        x = (ctypes.c_double * 3)()
        device.code.mapdp_encode((ctypes.c_double * 3)(*row), x)
        assert device.code.mapdp_assign(device.state, x) == clusters[label]
        assert device.code.mapdp_score(device.state, x) == pytest.approx(density, rel=1e-9)


def sizes_in(folder):
    """Return the bytes of constants, and the cell for those of the state, as the README has them."""
    text = (folder / "README.md").read_text()
    constants, state = (
        re.search(rf"\| {word} [^|]*\| ([^|]*) \|", text)[1] for word in ("constants", "state")
    )
    return int(constants), state


@needs("gcc", "nm")
@pytest.mark.parametrize("name", cases.NAMES)
@pytest.mark.parametrize(
    "how",
    [{}, {"learn": True}, {"learn": True, "when_full": "refuse", "precision": "float"}],
    ids=["assigns", "learns", "refuses"],
)
def test_the_readme_has_the_sizes_that_the_compiler_finds(name, how, tmp_path):
    if name == "learned" and "precision" in how:
        how = how | {"precision": "double"}
    device = Device(case_named(name).model, tmp_path, **how)
    subprocess.run(["gcc", *STRICT, "-O0", "-c", "mapdp_model.c"], cwd=tmp_path, check=True)
    command = ["nm", "-S", "--defined-only", "mapdp_model.o"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    constants = [int(line.split()[1], 16) for line in listed.splitlines() if line.split()[2] in "rR"]
    expected = len(device.state)
    if "learn" not in how:
        expected = "8 where pointers have 4 bytes, 16 where they have 8"
        assert len(device.state) == 2 * ctypes.sizeof(ctypes.c_void_p)
    assert sizes_in(tmp_path) == (sum(constants), str(expected))


@needs("gcc")
def test_cells_of_dates_and_times_hold_what_the_readme_says(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(120) % 2
    moment = pd.Timestamp("2021-03-01") + pd.to_timedelta(
        group * 200 + rng.uniform(0.0, 9.0, 120), unit="D"
    )
    frame = pd.DataFrame(
        {
            "when": pd.Series(moment).dt.round("s"),
            "clock": pd.Series(moment + pd.to_timedelta(group * 0.3, unit="D")).dt.round("s"),
            "took": pd.to_timedelta(
                np.round(3600.0 * (1 + 5 * group + rng.uniform(0.0, 1.0, 120))), unit="s"
            ),
            "paid": group == 1,
        }
    )
    kinds = {"clock": "time", "took": "real"}
    model = mapdp.MAPDP(alpha=1.0, columns=kinds, covariance="diagonal", n_init=1).fit(frame)
    found = run(compiled(exported(model, tmp_path)), as_the_readme_says(frame, tmp_path))
    assert np.array_equal(found[:, 0], model.predict(frame))
    assert np.allclose(found[:, 1], model.score_samples(frame), rtol=1e-9)


def as_the_readme_says(frame, folder):
    """Return rows in the numbers that the README describes."""
    text = (folder / "README.md").read_text()
    cells = dict(re.findall(r"^\| \d+ \| (\w+) \| ([^|]*) \|$", text, flags=re.MULTILINE))
    assert "in days since the beginning of 1970-01-01" in cells["when"]
    assert "the fraction of the day that is gone" in cells["clock"]
    assert "a span of time, in days" in cells["took"]
    assert "0 = false, 1 = true" in cells["paid"] or "1 = true, 0 = false" in cells["paid"]
    day, first = pd.Timedelta(days=1), pd.Timestamp("1970-01-01")
    clock = (frame["clock"] - frame["clock"].dt.normalize()) / day
    return np.column_stack([(frame["when"] - first) / day, clock, frame["took"] / day, frame["paid"]])
