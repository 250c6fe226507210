"""Each script of this folder, as a user has it, on the platform "vulkan" and on JAX's CPU: what its `results` hold is compared.

    run.py [--only=PART ...] [--sample]

PYTHONPATH names the build's python folder, unless vxla is installed. --sample: those that CI has time for. A script whose packages are
not installed is named, not run. Exit code 0: all agree.
"""

import argparse
import os
import pathlib
import pickle
import runpy
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
# How far results may lie apart, of the largest magnitude of each array. Training lets roundings grow, and what samplers accept turns on them.
TOLERANCES = {
    "callbacks": 1e-5, "checkpointed_scan": 1e-4, "custom_derivatives": 1e-4, "diffusion": 2e-2, "donated_training": 2e-2,
    "equinox_mlp": 1e-2, "gaussian_process": 2e-2, "gpt": 2e-2, "graph_network": 1e-2, "haiku_lstm": 2e-2, "images": 1e-3,
    "kmeans": 0, "mlp_digits": 2e-2, "n_body": 1e-3, "navier_stokes_fft": 1e-3, "nuts_blackjax": 0.2, "nuts_numpyro": 0.5,
    "ode_diffrax": 1e-2, "optimisers": 1e-3, "parallel_filter": 1e-4, "pinn": 2e-2, "principal_components": 1e-3,
    "reinforce_cartpole": 5e-2, "resnet_nnx": 2e-2, "sharded_gpt": 2e-2, "vae_nnx": 1e-2, "vmap_of_scan": 1e-4, "x64_optimisation": 1e-6,
}
SAMPLE = ("custom_derivatives", "kmeans")
OTHERS = {"blackjax", "diffrax", "equinox", "flax", "haiku", "numpyro", "optax", "scipy", "sklearn"}
MISSING = 77


def run_here(script, results_file):
    """What a child does."""
    try:
        results = runpy.run_path(str(script))["results"]
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] not in OTHERS:
            raise
        print(error)
        sys.exit(MISSING)
    import jax
    import numpy as np
    with open(results_file, "wb") as file:
        pickle.dump([(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in jax.tree_util.tree_leaves_with_path(results)], file)
    print("platform:", jax.default_backend())


def run_on(platform, script, folder):
    """The results of a child, what it printed, its seconds."""
    results_file = pathlib.Path(folder, f"{script.stem}_{platform}")
    begin = time.monotonic()
    # lavapipe's threads make many small dispatches slower.
    environment = {"LP_NUM_THREADS": "0", **os.environ, "JAX_PLATFORMS": "cpu" if platform == "cpu" else f"{platform},cpu"}
    child = subprocess.run([sys.executable, __file__, "--child", str(script), str(results_file)], env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = time.monotonic() - begin
    if child.returncode == MISSING:
        return None, child.stdout.strip(), seconds
    if child.returncode != 0 or f"platform: {platform}" not in child.stdout:
        raise AssertionError(f"on {platform}, exit code {child.returncode}:\n{child.stdout[-4000:]}")
    with open(results_file, "rb") as file:
        return pickle.load(file), child.stdout, seconds


def largest_difference(expected, given):
    """The largest of all arrays, each as a share of its largest magnitude, and that array's name."""
    import numpy as np
    worst, where = 0.0, ""
    assert [name for name, _ in expected] == [name for name, _ in given]
    for (name, e), (_, g) in zip(expected, given):
        assert e.dtype == g.dtype and e.shape == g.shape, f"{name}: {g.dtype}{g.shape}, not {e.dtype}{e.shape}"
        e, g = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (e, g))
        assert np.array_equal(np.isfinite(e), np.isfinite(g)), f"{name}: other elements are finite"
        if e.size and np.isfinite(e).any():
            finite = np.isfinite(e)
            difference = float(np.abs(e - g)[finite].max() / max(np.abs(e[finite]).max(), 1e-30))
            if difference > worst:
                worst, where = difference, name
    return worst, where


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        return run_here(*options.child)
    scripts = sorted(path for path in HERE.glob("*.py") if path.name != "run.py")
    unlisted = {path.stem for path in scripts} ^ set(TOLERANCES)
    assert not unlisted, f"TOLERANCES and this folder differ in {unlisted}"
    if options.sample:
        scripts = [path for path in scripts if path.stem in SAMPLE]
    if options.only:
        scripts = [path for path in scripts if any(part in path.stem for part in options.only)]
    agree, failed, missing = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts:
            try:
                expected, printed, _ = run_on("cpu", script, folder)
                if expected is None:
                    missing.append(script.stem)
                    print(f"{script.stem}: not run: {printed}")
                    continue
                given, _, seconds = run_on("vulkan", script, folder)
                worst, where = largest_difference(expected, given)
                assert worst <= TOLERANCES[script.stem], f"{where} differs by {worst:.3g} of its largest, {TOLERANCES[script.stem]} is allowed"
                agree += 1
                print(f"{script.stem}: {seconds:.1f} s, largest difference {worst:.2g}", flush=True)
            except AssertionError as error:
                failed.append(script.stem)
                print(f"{script.stem}: FAILED: {error}", flush=True)
    print(f"{agree} scripts agree with JAX's CPU, {len(failed)} do not" + (f", {len(missing)} not run" if missing else ""))
    return 1 if failed or agree == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
