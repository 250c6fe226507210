"""The module vxla: what diff, run and explain return and raise. PYTHONPATH names the build's python folder; the device is llvmpipe's.

Options: --only=PART of a name, --custom-calls=LIBRARY (tests/support/custom_call_library.cc). JAX is on its CPU here: the command runs what JAX lowers for the platform "vulkan".
"""

import functools
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import vxla
from vxla import _arrays, _lapack, _program

DEVICE = os.environ.get("VXLA_TEST_DEVICE", "llvmpipe")
diff = functools.partial(vxla.diff, device=DEVICE)
run = functools.partial(vxla.run, device=DEVICE)
explain = functools.partial(vxla.explain, device=DEVICE)
ADD = "HloModule m\nENTRY e { a = f32[3] parameter(0)  b = f32[3] parameter(1)  ROOT r = f32[3] add(a, b) }\n"
ONES = np.ones(3, np.float32)
CUSTOM_CALLS = next((word.partition("=")[2] for word in sys.argv if word.startswith("--custom-calls=")), None)
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def raises(kind, words, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        assert words in str(error), f"'{words}' is not in: {error}"
        return error
    raise AssertionError(f"no {kind.__name__}")


@case
def a_function_agrees():
    @jax.jit
    def f(x, scale):
        return {"product": jnp.tanh(x @ x.T) * scale, "functions": (jax.lax.lgamma(x), jnp.sort(x))}
    x = np.random.default_rng(0).uniform(0.5, 4, (5, 7)).astype(np.float32)
    verdict = diff(f, x, 3)
    assert verdict and verdict.agrees and str(verdict).startswith("AGREE: ")
    assert verdict.device.startswith("llvmpipe") and verdict.reference == "the CPU reference"
    assert [result.name for result in verdict.results] == ["result['functions'][0]", "result['functions'][1]", "result['product']"]
    assert [result.elements for result in verdict.results] == [35, 35, 25]
    assert verdict.first_bad is None and verdict.fault is None and verdict.bisected is None
    assert verdict.report.startswith("<!") and "AGREE" not in verdict.report[:20]
    page = verdict._repr_html_()
    assert page.startswith("<iframe") and "&lt;" in page
    with tempfile.TemporaryDirectory() as folder:
        verdict.save(pathlib.Path(folder, "page.html"))
        assert pathlib.Path(folder, "page.html").read_text(encoding="utf-8") == verdict.report


@case
def a_difference_names_its_element():
    verdict = diff(ADD, ONES, ONES, against=[np.asarray([2, 2.5, 2], np.float32)])
    assert not verdict and str(verdict).startswith("DIFFER: ")
    (result,) = verdict.results
    assert result.name == "result_0" and not result.agrees and (result.outside, result.differing, result.elements) == (1, 1, 3)
    assert result.max_abs == 0.5 and result.max_abs_where == (1,) and result.max_ulp_where == (1,)
    assert verdict.fault == "expected file" and verdict.first_bad
    assert diff(ADD, ONES, ONES, against=[np.asarray([2, 2.5, 2], np.float32)], atol=0.5)
    expected = {"y": jnp.asarray([2.0, 4.0])}
    assert diff(lambda x: {"y": x + x}, jnp.asarray([1.0, 2.0]), against=expected)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "saved.npz")
        np.savez(path, 2 * ONES)
        assert diff(ADD, ONES, ONES, against=path) and diff(ADD, ONES, ONES, against=str(path))
    assert diff(ADD, ONES, ONES, against="cpu") and diff(ADD, ONES, ONES, against=DEVICE)


@case
def a_wrong_instruction_becomes_a_program():
    text = "HloModule m\nENTRY e { a = f32[5] parameter(0)  b = f32[5] exponential(a)  ROOT r = f32[5] custom-call(b), custom_call_target=\"twice\" }"
    with tempfile.TemporaryDirectory() as folder:
        kernel = pathlib.Path(folder, "twice.comp")
        options = ["--kernel", f"twice={kernel}", "--custom-call", f"twice={CUSTOM_CALLS}:twice"]
        kernel.write_text("void vxla_element(uint i) { SET_OUT0(i, 2 * IN0(i)); }\n")
        verdict = diff(text, bisect=True, options=options)
        assert verdict and verdict.bisected is None
        kernel.write_text("void vxla_element(uint i) { SET_OUT0(i, (i == 3 ? 2.5 : 2.0) * IN0(i)); }\n")
        verdict = diff(text, bisect=True, options=options)
        assert not verdict and verdict.fault == "algorithm" and verdict.results[0].max_ulp_where == (3,)
        found = verdict.bisected
        assert found is not None and found.instruction == verdict.first_bad and "custom-call" in found.program
        assert [argument.shape for argument in found.arguments] == [(5,)]
        assert diff(found.program, *found.arguments, options=options).results[0].max_ulp_where == (3,)


@case
def results_come_as_the_function_returns_them():
    def f(x, *, times=2):
        return {"a": (x * times, [x.sum(), None]), "b": jnp.arange(3, dtype=jnp.int8)}
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected, given = jax.tree.map(np.asarray, f(x)), run(f, x)
    assert jax.tree.structure(expected) == jax.tree.structure(given)
    for e, g in zip(jax.tree.leaves(expected), jax.tree.leaves(given)):
        assert isinstance(g, np.ndarray) and g.dtype == e.dtype
        np.testing.assert_array_equal(g, e)
    np.testing.assert_array_equal(run(functools.partial(f, times=5), x)["a"][0], 5 * x)
    assert run(lambda x, y: y, x, 3) == 3  # an argument that nothing uses
    np.testing.assert_array_equal(run(lambda x: x, x, device="cpu"), x)
    key = jax.random.key(7)
    np.testing.assert_array_equal(run(lambda key: jax.random.bits(key, (4,)), key), jax.random.bits(key, (4,)))


@case
def static_arguments():
    @functools.partial(jax.jit, static_argnums=(1,))
    def f(x, name):
        return {"twice": 2 * x, "thrice": 3 * x}[name]
    np.testing.assert_array_equal(run(f, ONES, "thrice"), 3 * ONES)
    g = jax.jit(lambda x, y, n: x * y * n, static_argnums=2)
    np.testing.assert_array_equal(run(g, ONES, ONES, 4), 4 * ONES)
    raises(TypeError, "bind static ones with functools.partial", run, g, ONES, 2.0, 4)


@case
def every_element_type():
    for dtype in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64", "int4",
                  "uint4", "float8_e4m3fn", "float8_e5m2"):
        x = np.asarray([[0, 1, 2], [3, 1, 0]]).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
        given = run(lambda x: x.T, x)
        assert given.dtype == x.dtype and given.shape == (3, 2), dtype
        np.testing.assert_array_equal(given.astype(np.complex64), x.T.astype(np.complex64))
    text = "HloModule m\nENTRY e { a = f64[2] parameter(0)  b = s64[2] convert(a)  ROOT t = (f64[2], s64[2]) tuple(a, b) }"
    f64, s64 = run(text, np.asarray([1.5, -2.0]))
    assert f64.dtype == np.float64 and s64.dtype == np.int64 and list(s64) == [1, -2]
    (negative,) = run("HloModule m\nENTRY e { a = s4[2] parameter(0)  ROOT b = s4[2] negate(a) }", np.asarray([-8, 3], ml_dtypes.int4))
    assert [int(x) for x in negative] == [-8, -3]


@case
def arrays_in_files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npz")
        arrays = [np.zeros((0, 3), np.float32), np.asarray(2.5, ml_dtypes.bfloat16), np.arange(12)[::-2], np.asfortranarray(np.eye(3))]
        _arrays.write(path, "arg", arrays)
        for wrote, read in zip(arrays, _arrays.read(path, "arg"), strict=True):
            assert wrote.dtype == read.dtype and wrote.shape == read.shape
            np.testing.assert_array_equal(wrote.astype(np.float64), read.astype(np.float64))
        _arrays.write(path, "arg", [np.asarray(k) for k in range(12)])  # in the order of numbers, not of names
        assert [int(x) for x in _arrays.read(path, "arg")] == list(range(12))
    raises(TypeError, "arg_1: numpy's type object is no element type of XLA", run, ADD, ONES, [object()])
    raises(TypeError, "is no element type of XLA", run, ADD, ONES, np.asarray(["text"]))


@case
def programs_of_every_form():
    (two,) = run(ADD, ONES, ONES)
    np.testing.assert_array_equal(two, 2 * ONES)
    np.testing.assert_array_equal(run(ADD.encode(), ONES, ONES)[0], two)
    np.testing.assert_array_equal(run("f32[3] add(f32[3], f32[3])", ONES, ONES)[0], two)
    stablehlo = jax.jit(lambda x: x + x).lower(ONES)
    np.testing.assert_array_equal(run(stablehlo.as_text(), ONES)[0], two)
    exported = jax.export.export(jax.jit(lambda x: x + x))(ONES)
    np.testing.assert_array_equal(run(exported.mlir_module_serialized, ONES)[0], two)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "-add (1).hlo")  # neither an option nor text
        path.write_text(ADD)
        for each in (path, str(path)):
            np.testing.assert_array_equal(run(each, ONES, ONES)[0], two)
        here = os.getcwd()
        os.chdir(folder)
        try:
            np.testing.assert_array_equal(run("-add (1).hlo", ONES, ONES)[0], two)
        finally:
            os.chdir(here)
    seeded = run(ADD)  # the command's own arguments, the same each time
    np.testing.assert_array_equal(seeded[0], run(ADD)[0])
    assert not np.array_equal(seeded[0], run(ADD, options=["--seed", "1"])[0])
    assert diff(jnp.sin, jax.ShapeDtypeStruct((8,), jnp.float32), options=["--fill", "special"])


@case
def errors_are_exceptions():
    error = raises(vxla.InvalidArgumentError, "program:2:", run, ADD.replace("add(a, b)", "add(a, c)"), ONES, ONES)
    assert isinstance(error, ValueError) and error.code == "invalid_argument" and error.where.startswith("program:2:")
    raises(vxla.InvalidArgumentError, "arg_1: f32[4] given, the program wants f32[3]", run, ADD, ONES, np.ones(4, np.float32))
    raises(vxla.InvalidArgumentError, "arg_0: f64[3] given, the program wants f32[3]", diff, ADD, np.ones(3), ONES)
    raises(vxla.Error, "no such GPU", vxla.run, ADD, ONES, ONES, device="no such GPU")
    raises(vxla.InvalidArgumentError, "--rtol", diff, ADD, ONES, ONES, rtol=-1)
    raises(vxla.InvalidArgumentError, "--no-such-option", run, ADD, ONES, ONES, options=["--no-such-option"])
    raises(vxla.InvalidArgumentError, "the program gives", diff, ADD, ONES, ONES, against=[])
    raises(vxla.UnsupportedError, "nowhere", run, jax.export.export(jax.jit(lambda x: x))(ONES).mlir_module().replace(
        "return %arg0", '%0 = stablehlo.custom_call @nowhere(%arg0) : (tensor<3xf32>) -> tensor<3xf32>\n    return %0'), ONES)
    raises(TypeError, "a program is a function, text, bytes or a path, not int", run, 3)
    raises(TypeError, "options is a list of words", run, ADD, options="--seed 1")
    raises(FileNotFoundError, "nowhere.hlo", run, "nowhere.hlo")
    raises(vxla.InvalidArgumentError, "one device at a time", vxla.diff, ADD, ONES, ONES, device="all")
    raises(ZeroDivisionError, "", run, lambda x: x / (1 // 0), ONES)  # the function's own


@case
def a_crash_is_an_exception():
    from vxla import _command
    original = _command.command_path
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder, "vxla")
        for script, kind, words in (("kill -SEGV $$", vxla.DeviceError, "ended by SIGSEGV: gone"),
                                    ("exit 3", vxla.InternalError, "ended with 3 and no report: gone"),
                                    ("exit 130", KeyboardInterrupt, "")):
            fake.write_text(f"#!/bin/sh\necho gone >&2\n{script}\n")
            fake.chmod(0o755)
            _command.command_path = lambda: str(fake)
            try:
                raises(kind, words, vxla.run, ADD, ONES, ONES)
            finally:
                _command.command_path = original


@case
def explanations():
    explanation = explain(lambda x: jnp.tanh(x @ x.T), jax.ShapeDtypeStruct((8, 4), jnp.float32))
    assert explanation.dispatches == 1 and len(explanation.kernels) == 1 and explanation.fallbacks == ()
    assert explanation.peak_bytes >= 8 * 4 * 4 + 8 * 8 * 4 and str(explanation).startswith("1 dispatch of 1 kernel")
    module = explain(ADD, options=["--dump-after", "all"])
    assert module.json["passes"]


@case
def lapack_is_opened_when_it_is_needed():
    a = np.random.default_rng(1).normal(size=(5, 5)).astype(np.float32)
    eigenvalues = functools.partial(jnp.linalg.eigvals)
    environment = dict(os.environ)
    library = _lapack.scipy_library()
    assert library is not None, "JAX brings SciPy"
    try:
        os.environ["VXLA_LAPACK"] = library
        given = run(eigenvalues, a)
        np.testing.assert_allclose(np.sort_complex(given), np.sort_complex(np.linalg.eigvals(a)), rtol=1e-4)
        os.environ["VXLA_LAPACK"] = "/nowhere/lapack.so"
        raises(vxla.UnsupportedError, "this machine has none that vxla can open: /nowhere/lapack.so: cannot open", run, eigenvalues, a)
        np.testing.assert_array_equal(run(lambda a: a, a), a)
    finally:
        os.environ.clear()
        os.environ.update(environment)


@case
def the_package_is_typed_and_light():
    folder = pathlib.Path(vxla.__file__).parent
    assert (folder / "py.typed").exists() and pathlib.Path(vxla.command_path()).exists()
    for name in vxla.__all__:
        assert getattr(vxla, name).__doc__, name
    assert pickle.loads(pickle.dumps(diff(ADD, ONES, ONES))).agrees
    # JAX is no requirement of programs in files.
    code = ("import sys, vxla, numpy; sys.modules['jax'] = None\n"
            f"print(vxla.run({ADD!r}, numpy.ones(3, 'f4'), numpy.ones(3, 'f4'), device={DEVICE!r}))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "2." in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "vxla", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("vxla "), done
    assert _program._is_text(ADD) and not _program._is_text("/tmp/x.hlo")


def main():
    only = [word[len("--only="):] for word in sys.argv[1:] if word.startswith("--only=")]
    failed = []
    for name, function in CASES.items():
        if only and not any(part in name for part in only):
            continue
        begin = time.monotonic()
        try:
            function()
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
        except Exception as error:
            failed.append(name)
            print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
    print(f"{len(failed)} of the module's cases fail" if failed else "the module's cases pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
