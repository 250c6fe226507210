"""Times programs in XLA, for `vxla bench --against xla`: xla.py FOLDER RUNS SETTLE_SECONDS

FOLDER holds pairs 0.mlir and 0.npz, 1.mlir and 1.npz ...: StableHLO and its arguments arg_0, arg_1 ... as vxla writes them. They run on
the first CUDA or ROCm device of this Python's JAX, else on its CPU, one after another for SETTLE_SECONDS and then RUNS times. Prints one
JSON object: xla (version and platform), device, and programs, of each call_ms (the best call, until its results are there) and
device_ms (the time that the device was busy, by its own events, over the runs; null of a CPU), or error.
"""
import glob
import json
import os
import pathlib
import sys
import tempfile
import time

# A device whose memory vxla shares.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy  # noqa: E402

jax.config.update("jax_enable_x64", True)


def first_device():
    for platform in ("cuda", "rocm", "cpu"):
        try:
            return jax.devices(platform)[0]
        except RuntimeError:
            pass
    sys.exit("JAX has no device")


def arguments(path, device):
    with numpy.load(path) as file:
        for k in range(sum(not name.endswith("__dtype") for name in file.files)):
            value, name = file[f"arg_{k}"], f"arg_{k}__dtype"
            if name in file.files:
                value = of_type(value, str(file[name]))
            yield jax.device_put(value, device)


def of_type(bits, name):
    """What vxla keeps as unsigned integers, of HLO's type of this name."""
    if name == "bf16":
        return bits.view(ml_dtypes.bfloat16)
    if name[0] in "su":  # one element a byte
        return bits.view(numpy.int8 if name[0] == "s" else numpy.uint8).astype(getattr(ml_dtypes, ("int" if name[0] == "s" else "uint") + name[1:]))
    kinds = [each for each in dir(ml_dtypes) if each.replace("float", "f").replace("_", "") == name]
    return bits.view(getattr(ml_dtypes, kinds[0]))


def compiled(text, device):
    """A function of one call, whose results have to be waited for."""
    from jax._src.lib import xla_client
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(numpy.array([[device.id]]))
    if hasattr(device.client, "compile_and_load"):
        program = device.client.compile_and_load(text, xla_client.DeviceList((device,)), options)
    else:
        program = device.client.compile(text, options)
    return lambda values: program.execute_sharded(values).disassemble_into_single_device_arrays()


def busy_ms(run, runs):
    """Of the device's own events, each moment once; None where it has none."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(runs):
                run()
        spans = []
        for path in glob.glob(f"{folder}/**/*.xplane.pb", recursive=True):
            for plane in jax.profiler.ProfileData.from_file(path).planes:
                if plane.name.startswith("/device:GPU:"):
                    spans += [(event.start_ns, event.start_ns + event.duration_ns)
                              for line in plane.lines if line.name.startswith("Stream") for event in line.events]
    busy = end = 0
    for start, stop in sorted(spans):
        busy += max(0, stop - max(start, end))
        end = max(end, stop)
    return busy / runs * 1e-6 if spans else None


def measure(text, values, device, runs, settle):
    program = compiled(text, device)

    def run():
        jax.block_until_ready(program(values))

    start = time.perf_counter()
    run()
    while time.perf_counter() - start < settle:
        run()
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return {"call_ms": best * 1e3, "device_ms": busy_ms(run, runs) if device.platform != "cpu" else None}


def main():
    folder, runs, settle = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    device = first_device()
    programs = []
    for k in range(len(list(folder.glob("*.mlir")))):
        try:
            values = list(arguments(folder / f"{k}.npz", device)) if (folder / f"{k}.npz").exists() else []
            programs.append(measure((folder / f"{k}.mlir").read_text(), values, device, runs, settle))
        except Exception as error:  # one program that XLA does not take is no reason to measure none
            programs.append({"error": " ".join(str(error).split("\n")[:2]) or type(error).__name__})
    json.dump({"xla": f"jax {jax.__version__}, {device.platform}", "device": device.device_kind, "programs": programs}, sys.stdout)


main()
