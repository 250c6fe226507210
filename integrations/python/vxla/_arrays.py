"""Arrays in files of the command: numpy's types as they are, others as unsigned integers beside the name of their type."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

# Of ml_dtypes, by numpy's names.
_NAMES = {"bfloat16": "bf16", "int1": "s1", "uint1": "u1", "int2": "s2", "uint2": "u2", "int4": "s4", "uint4": "u4"}
_FLOATS = ("float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3", "float8_e3m4",
           "float8_e8m0fnu", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
_NAMES.update({name: name.replace("float", "f").replace("_", "") for name in _FLOATS})
_NUMPY_KINDS = "biufc"


def _stored(array: np.ndarray, name: str) -> dict[str, np.ndarray]:
    known = _NAMES.get(array.dtype.name)
    if known is not None:
        bits = np.ascontiguousarray(array).reshape(array.shape).view(f"u{array.dtype.itemsize}")
        return {name: bits, f"{name}__dtype": np.array(known)}
    if array.dtype.kind not in _NUMPY_KINDS or array.dtype.itemsize > 16 or array.dtype.name in ("float128", "longdouble"):
        raise TypeError(f"{name}: numpy's type {array.dtype} is no element type of XLA")
    return {name: array}


def write(path: str, prefix: str, arrays: Sequence[Any]) -> None:
    """An .npz with prefix_0, prefix_1 ...; None is left out."""
    entries: dict[str, np.ndarray] = {}
    for k, value in enumerate(arrays):
        if value is not None:
            entries.update(_stored(np.asarray(value), f"{prefix}_{k}"))
    np.savez(path, **entries)  # type: ignore[arg-type]


def _read(file: Any, name: str) -> np.ndarray:
    array = file[name]
    if f"{name}__dtype" not in file:
        return array
    wanted = str(file[f"{name}__dtype"])
    import ml_dtypes  # JAX brings it
    numpy_name = next(numpy_name for numpy_name, known in _NAMES.items() if known == wanted)
    return array.view(np.dtype(getattr(ml_dtypes, numpy_name)))


def read(path: "str | os.PathLike[str]", prefix: str) -> list[np.ndarray]:
    """What `write` wrote, or the command."""
    with np.load(path, allow_pickle=False) as file:
        numbers = sorted(int(name[len(prefix) + 1:]) for name in file.files if not name.endswith("__dtype"))
        return [_read(file, f"{prefix}_{k}") for k in numbers]
