"""Cortex-M boards in QEMU: how to compile for them, run a model on them, and measure it."""

import pathlib
import subprocess
from typing import NamedTuple

import numpy as np

HERE = pathlib.Path(__file__).parent
KNOWN_INSTRUCTIONS = 200_000  # of the loop that board.c times
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "arm-none-eabi-nm", "qemu-system-arm")


class Board(NamedTuple):
    """A processor, and the machine that QEMU has with it."""

    processor: str
    machine: str
    flags: tuple[str, ...]
    flash: str
    ram: str


BOARDS = (
    # QEMU has no M0+; the M0 of the micro:bit has the same instructions.
    Board("M0+", "microbit", ("-mcpu=cortex-m0plus", "-mfloat-abi=soft"), "256K", "16K"),
    Board("M3", "mps2-an385", ("-mcpu=cortex-m3", "-mfloat-abi=soft"), "4M", "4M"),
    Board("M4F", "mps2-an386", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "4M", "4M"),
)


def flags_of(board: Board) -> list[str]:
    """Return what the cross compiler is told."""
    return [
        "arm-none-eabi-gcc",
        "-std=c99",
        "-mthumb",
        *board.flags,
        "-Os",
        "-ffunction-sections",
        "-fdata-sections",
    ]


def build(folder: pathlib.Path, board: Board, *flags: str) -> pathlib.Path:
    """Compile an exported model with the board's program; return the image."""
    image = folder / f"{board.machine}.elf"
    script = folder / "board.ld"
    text = (HERE / "board.ld").read_text()
    script.write_text(text.replace("FLASH_BYTES", board.flash).replace("RAM_BYTES", board.ram))
    command = [
        *flags_of(board),
        *flags,
        "-I",
        str(folder),
        str(HERE / "board.c"),
        str(folder / "mapdp_model.c"),
    ]
    linked = [
        "--specs=nano.specs",
        "-nostartfiles",
        "-Wl,--gc-sections",
        "-T",
        str(script),
        "-lm",
        "-o",
        str(image),
    ]
    subprocess.run([*command, *linked], check=True, capture_output=True, text=True)
    return image


def run_on(folder: pathlib.Path, board: Board, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Run an image on rows; return their labels, and the instructions that each took on average."""
    rows.tofile(folder / "rows.bin")
    command = ["qemu-system-arm", "-M", board.machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native", "-icount", "shift=0"]
    command += ["-kernel", f"{board.machine}.elf"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    ticks, n_rows, known = np.fromfile(folder / "ticks.bin", np.uint32).astype(float)
    return np.fromfile(folder / "out.bin", np.int32), ticks / n_rows * KNOWN_INSTRUCTIONS / known


class Bytes(NamedTuple):
    """What a model takes of a processor's memory."""

    code: int  # in flash, with what it takes of libm and libgcc
    constants: int  # in flash
    ram: int


_STUB = """#include "mapdp_model.h"
void mapdp_init(mapdp_state *s) { s->n_chairs = 0; }
void mapdp_encode(const mapdp_real *raw, mapdp_real *x) { x[0] = raw[0]; }
int mapdp_assign(const mapdp_state *s, const mapdp_real *x) { return s->n_chairs + (x != 0); }
#ifdef LEARN
int mapdp_learn(mapdp_state *s, const mapdp_real *x) { return s->n_chairs + (x != 0); }
size_t mapdp_write(const mapdp_state *s, uint8_t *bytes) { return bytes[s->n_chairs]; }
#endif
"""


def bytes_of(folder: pathlib.Path, board: Board, *flags: str) -> Bytes:
    """Return what a model takes, beyond a program that reads and writes the same and computes nothing."""
    with_model = sections(build(folder, board, *flags))
    command = [*flags_of(board), *flags, "-c", "mapdp_model.c", "-o", "model.o"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    constants = sum(n for name, n in sections(folder / "model.o").items() if name.startswith(".rodata"))
    empty = folder / "stub"
    empty.mkdir(exist_ok=True)
    (empty / "mapdp_model.h").write_text((folder / "mapdp_model.h").read_text())
    (empty / "mapdp_model.c").write_text(_STUB)
    without = sections(build(empty, board, *flags))
    code = with_model[".text"] - without[".text"] - constants
    more_data = with_model.get(".data", 0) - without.get(".data", 0)
    return Bytes(code, constants, _state_bytes(folder / f"{board.machine}.elf") + more_data)


def sections(path: pathlib.Path) -> dict[str, int]:
    """Return the bytes of each section of an object or image."""
    command = ["arm-none-eabi-size", "-A", str(path)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) == 3 and line[0].startswith(".")}


def _state_bytes(image: pathlib.Path) -> int:
    command = ["arm-none-eabi-nm", "-S", str(image)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return next(int(line.split()[1], 16) for line in listed.stdout.splitlines() if line.endswith(" state"))
