"""JAX's own tests of its primitives through vxla: each harness of jax._src.internal_test_util.test_harnesses (7,526 in JAX 0.10.2: every
primitive, element type and kind of dimension numbers), lowered to StableHLO, must run to JAX's own results.

    python primitive_harnesses.py --vxla build/vxla [--device cpu|llvmpipe|...] [--every N] [-j N] [NAME...]

--every N: each N-th alone. NAME: those whose full names contain one of them. Prints a line for each harness that fails, and ends with
`N passed, N failed, N without a JAX of this machine`. Needs jax for CPUs and absl.
"""

import argparse, concurrent.futures, os, pathlib, re, shutil, sys, tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
import jax, numpy as np
import ml_dtypes

from jax_programs import run_vxla  # and 64-bit types, which the harnesses look for
from jax._src.internal_test_util import test_harnesses

# Of the largest magnitude of a result, or of the element; f16 and bf16 are summed in another order. The matrices that cholesky gets are
# nearly singular.
TOLERANCE = dict(float16=4e-3, bfloat16=3e-2, float32=3e-5, float64=1e-11, complex64=3e-5, complex128=1e-11)


def stored(array):
    """What vxla writes for elements that numpy has no type for, as numbers."""
    return array.astype(np.float64) if array.dtype.kind not in "biufc" else array


def elements(array, wanted):
    """The array of an .npz as elements of the wanted type; a sidecar names those that are stored as others."""
    if wanted.dtype.kind not in "biufc":
        array = np.ascontiguousarray(array).reshape(-1).view(wanted.dtype).reshape(array.shape)
    return stored(array)


def close(got, want, tolerance):
    if tolerance is None:
        return np.array_equal(got, want, equal_nan=got.dtype.kind in "fc")
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    with np.errstate(all="ignore"):
        return np.allclose(got, want, rtol=tolerance, atol=tolerance * min(largest, 1e30) / 10, equal_nan=True)


def factors(name, k, got, want):
    """What JAX promises of singular vectors and eigenvectors: their magnitudes, and of complete bases the ones that belong to values."""
    if "fullmatrices_True" in name and k > 0:
        count = min(int(n) for n in re.search(r"_(\d+)_(\d+)_full", name).groups())
        of = (..., slice(count)) if k == 1 else (..., slice(count), slice(None))
        got, want = got[of], want[of]
    return np.abs(got), np.abs(want)


def places_of_equals(name, k):
    """What depends on which of equal values comes first, where neither an unstable sort nor an approximate top-k says it."""
    return "isstable_False" in name and "multiple_arrays" in name or name.startswith("approx_top_k") and k == 1


def difference(name, path, wanted):
    with np.load(path) as file:
        for k, want in enumerate(wanted):
            got = file.get(f"result_{k}")
            if got is None or got.shape != want.shape:
                return f"result_{k}: {None if got is None else got.shape} instead of {want.shape}"
            kind = str(want.dtype)
            got, want = elements(got, want), stored(want)
            if got.dtype != want.dtype:
                return f"result_{k}: {got.dtype} instead of {want.dtype}"
            tolerance = TOLERANCE.get(kind)
            if re.match("svd|eig", name):
                got, want = factors(name, k, got, want)
                tolerance = 1e-9 if kind in ("float64", "complex128") else 2e-3
            if name.startswith("cholesky") and tolerance is not None:
                tolerance *= 100
            if places_of_equals(name, k):
                continue
            if not close(got, want, tolerance):
                return f"result_{k}: got {np.ravel(got)[:4]}, want {np.ravel(want)[:4]}"
    return None


def prepare(options, folder, harness, seed):
    """JAX's part, which writes the files: what is left is vxla's. None where JAX itself does not run the harness on a CPU."""
    try:
        arguments = harness.dyn_args_maker(np.random.RandomState(seed))
        jitted = jax.jit(harness.dyn_fun, keep_unused=True)
        lowered = jitted.lower(*arguments)
        wanted = [np.asarray(r) for r in jax.tree.leaves(jitted(*arguments))]
        types = [aval.dtype for aval in jax.tree.leaves(lowered.in_avals)]
        values = [np.asarray(a).astype(t) for a, t in zip(jax.tree.leaves(arguments), types)]
    except Exception:  # whatever JAX says
        return None
    folder.mkdir()
    (folder / "program.mlir").write_text(lowered.as_text())
    np.savez(folder / "args.npz", **{f"arg_{k}": v for k, v in enumerate(values)})

    def judge():
        out = folder / "out.npz"
        words = ["run", folder / "program.mlir", "--args", folder / "args.npz", "-o", out, "--device", options.device]
        reason = run_vxla(options, *words) or difference(harness.fullname, out, wanted)
        shutil.rmtree(folder)
        return reason

    return judge


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vxla", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("-j", type=int, default=2, help="programs of vxla at a time")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [(n, h) for n, h in enumerate(test_harnesses.all_harnesses) if n % options.every == 0]
    if options.names:
        chosen = [(n, h) for n, h in chosen if any(name in h.fullname for name in options.names)]
    passed = failed = without = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        os.environ["XDG_CACHE_HOME"] = scratch
        judged = []
        for seed, harness in chosen:
            judge = prepare(options, pathlib.Path(scratch) / str(seed), harness, seed)
            without += judge is None
            if judge is not None:
                judged.append((harness.fullname, pool.submit(judge)))
        for name, judge in judged:
            reason = judge.result()
            passed, failed = passed + (reason is None), failed + (reason is not None)
            if reason is not None:
                print(f"fail  {name}: {reason}", flush=True)
    print(f"{passed} passed, {failed} failed, {without} without a JAX of this machine")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
