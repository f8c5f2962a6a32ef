"""Cortex-M boards in QEMU: how to compile for them, run a model on them, and measure it."""

import pathlib
import subprocess
from typing import NamedTuple

import numpy as np

HERE = pathlib.Path(__file__).parent
KNOWN_INSTRUCTIONS = 200_000  # of the loop that board.c times
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm")


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
    return ["arm-none-eabi-gcc", "-std=c99", "-mthumb", *board.flags, "-Os", "-ffunction-sections", "-fdata-sections"]


def build(folder: pathlib.Path, board: Board, *flags: str) -> pathlib.Path:
    """Compile an exported model with the board's program; return the image."""
    image = folder / f"{board.machine}.elf"
    script = folder / "board.ld"
    text = (HERE / "board.ld").read_text()
    script.write_text(text.replace("FLASH_BYTES", board.flash).replace("RAM_BYTES", board.ram))
    command = [*flags_of(board), *flags, "-I", str(folder), str(HERE / "board.c"), str(folder / "mapdp_model.c")]
    linked = ["--specs=nano.specs", "-nostartfiles", "-Wl,--gc-sections", "-T", str(script), "-lm", "-o", str(image)]
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


def bytes_of(folder: pathlib.Path, board: Board, *flags: str) -> dict[str, int]:
    """Return bytes of code, of constants and of RAM of a model; what it takes of libm and libgcc is code, too."""
    build(folder, board, *flags)
    objects = subprocess.run(
        [*flags_of(board), *flags, "-c", "mapdp_model.c", "-o", "model.o"],
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert objects.returncode == 0
    with_model = _sections(folder / f"{board.machine}.elf")
    return with_model


def _sections(path: pathlib.Path) -> dict[str, int]:
    listed = subprocess.run(["arm-none-eabi-size", "-A", str(path)], check=True, capture_output=True, text=True)
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) == 3 and line[0].startswith(".")}
