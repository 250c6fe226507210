"""What an installed wheel does and holds: wheel_test.py WHEEL, run with the environment's Python, away from the sources."""
import ctypes
import re
import subprocess
import sys
import zipfile

wheel = sys.argv[1]
script = """
import jax, jax.numpy as jnp, vxla
f = jax.jit(lambda x: jnp.tanh(x @ x.T))
print(jax.default_backend(), f(jnp.ones((4, 4)))[0, 0], vxla.diff(f, jnp.ones((4, 4))))
"""
done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
print(done.stdout, end="")
assert re.match(r"vulkan 0\.999\d+ AGREE: ", done.stdout), done.stdout + done.stderr

# General eigenvalues are LAPACK's: SciPy's, in the plugin and in the command.
script = """
import jax.numpy as jnp, numpy as np, vxla
a = np.asarray([[0, 1], [-1, 0]], np.float32)
for values in (jnp.linalg.eigvals(a), vxla.run(jnp.linalg.eigvals, a)):
    assert np.allclose(np.sort(np.asarray(values).imag), [-1, 1]), values
"""
done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
assert done.returncode == 0, done.stderr

# Without a Vulkan driver JAX stays on its CPU, quietly.
import os
import jax, vxla
nowhere = {**os.environ, "VK_DRIVER_FILES": "/nowhere", "VK_ICD_FILENAMES": "/nowhere", "VK_ADD_DRIVER_FILES": ""}
done = subprocess.run([sys.executable, "-c", "import jax; print(jax.default_backend())"], capture_output=True, text=True, env=nowhere)
assert done.stdout == "cpu\n" and "Traceback" not in done.stderr, done.stdout + done.stderr

library = ctypes.CDLL(vxla.library_path())
assert library.vxlaVersion() == 1 << 12, library.vxlaVersion()
assert open(vxla.include_folder() + "/vxla/vxla.h").read().startswith("//")

with zipfile.ZipFile(wheel) as archive:
    names = archive.namelist()
assert re.search(r"-py3-none-manylinux_2_\d+_", wheel), wheel
for part in ("jax_plugins/vxla/pjrt_plugin_vxla.so", "vxla/bin/vxla", "vxla/lib/libvxla.so", "vxla/py.typed", "vxla/include/vxla/vxla.h"):
    assert part in names, part
for name in names:
    # The loader is the driver's, and LAPACK and its Fortran SciPy's.
    assert not re.search(r"lib(vulkan|gfortran|lapack|\w*blas)", name), name
assert "jax_plugins/__init__.py" not in names
print(f"{len(names)} files, jax {jax.__version__}")
