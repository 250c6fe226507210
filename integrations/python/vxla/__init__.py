"""XLA programs on Vulkan devices, each result proved against a CPU reference.

    vxla.diff(f, *args)       is what the device computes right? A verdict, with a page for notebooks
    vxla.run(f, *args)        the results, as numpy arrays
    vxla.explain(f, *args)    what the program becomes: kernels, buffers, what stays on the CPU

`f` is a function of JAX, jitted or not; or a program: HLO or StableHLO text, StableHLO bytecode, or the path of a file with one.
Each call runs the command `vxla` in a process of its own: a driver that crashes there raises `vxla.DeviceError` here.
"""

from vxla._api import diff, explain, run
from vxla._command import (DeviceError, Error, InternalError, InvalidArgumentError, ResourceExhaustedError, UnsupportedError,
                           command_path, include_folder, library_path)
from vxla._results import Bisected, Explanation, ResultVerdict, Verdict

__all__ = [
    "Bisected", "DeviceError", "Error", "Explanation", "InternalError", "InvalidArgumentError", "ResourceExhaustedError",
    "ResultVerdict", "UnsupportedError", "Verdict", "command_path", "diff", "explain", "include_folder", "library_path", "run",
]
