"""What the examples that make pictures share: a JAX function of no arguments to HLO text, and vxla's result to a PNG.

A picture is f32[height, width, 3], red, green and blue from 0 to 255.
"""
import pathlib
import struct
import sys
import zlib

import numpy as np


def export(picture, path):
    """Writes the HLO text of a function of no arguments."""
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")
    pathlib.Path(path).write_text(jax.jit(picture).lower().as_text(dialect="hlo"))


def write_png(rgb, path, shrink=1):
    """Squares of shrink x shrink points become one; 64 shades of each colour, so that the file stays small."""
    height, width = rgb.shape[0] // shrink, rgb.shape[1] // shrink
    points = rgb[: height * shrink, : width * shrink].reshape(height, shrink, width, shrink, 3).mean((1, 3))
    lines = np.clip(np.rint(points / 4) * 4, 0, 255).astype(np.uint8).reshape(height, -1)
    raw = np.hstack([np.zeros((height, 1), np.uint8), lines]).tobytes()
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) +
                                   chunk(b"IEND", b""))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: picture.py RESULT.npz PICTURE.png [SHRINK]")
    with np.load(sys.argv[1]) as results:
        write_png(results[results.files[0]], sys.argv[2], *map(int, sys.argv[3:]))
