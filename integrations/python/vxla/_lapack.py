"""Which LAPACK vxla opens: SciPy's, which is there wherever JAX is."""

from __future__ import annotations

import importlib.util
import os
import pathlib


def scipy_library() -> str | None:
    """The path of the OpenBLAS with integers of 32 bits in SciPy's wheel; None where there is none."""
    spec = importlib.util.find_spec("scipy")
    if spec is None or spec.origin is None:
        return None
    beside = pathlib.Path(spec.origin).parent.parent / "scipy.libs"
    found = sorted(beside.glob("libscipy_openblas-*.so*"))
    return str(found[0]) if found else None


def name_in(environment: "os._Environ[str] | dict[str, str]") -> None:
    """Sets VXLA_LAPACK, unless the user has."""
    if "VXLA_LAPACK" in environment:
        return
    path = scipy_library()
    if path is not None:
        environment["VXLA_LAPACK"] = path
