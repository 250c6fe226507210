"""From a jitted function to a picture of how far vxla's result lies from JAX's: python from_jax.py [options of vxla diff]"""
import pathlib
import subprocess
import sys

import jax, jax.numpy as jnp, numpy as np

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from picture import write_png


@jax.jit
def waves(x):
    return 2 + jnp.sin(8 * jnp.hypot(x, x.T)) * jnp.exp(-x * x)


x = np.linspace(-3, 3, 256, dtype=np.float32)[:, None] * np.ones(256, np.float32)
pathlib.Path("waves.mlir").write_text(waves.lower(x).as_text())
np.savez("args.npz", arg_0=x)
np.savez("jax.npz", result_0=waves(x))
vxla = lambda *words: subprocess.run([here / "../../build/vxla", *words, *sys.argv[1:], "--args", "args.npz"], check=True)
vxla("run", "waves.mlir", "-o", "vxla.npz")
vxla("diff", "waves.mlir", "--against", "jax.npz", "--report", "diff.html")
ours, theirs = np.load("vxla.npz")["result_0"], np.load("jax.npz")["result_0"]
ulp = np.abs(ours - theirs) / np.spacing(np.abs(theirs))
write_png(np.stack([85 * ours, 85 * theirs, 32 * ulp], -1), "diff.png")
print(f"diff.png: red vxla's, green JAX's, blue their difference (255: 8 ulp); at most {ulp.max():g} ulp. diff.html: the report")
