"""Programs of JAX on the platform "vulkan", by the PJRT plugin, against JAX's own results for the CPU.

PYTHONPATH names the build's python folder. Options: --only=PART of a name, --brief, --compiler=a C++ compiler.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

os.environ.setdefault("JAX_PLATFORMS", "vulkan,cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import case, run_cases

VULKAN, CPU = jax.devices("vulkan"), jax.devices("cpu")[0]


def check(function, *arguments, tolerance=2e-5):
    """The function, compiled, gives on both platforms what is close and of the same types."""
    results = []
    for device in (CPU, VULKAN[0]):
        with jax.default_device(device):
            placed = jax.device_put(arguments, device)
            results.append(jax.tree.map(np.asarray, jax.jit(function)(*placed)))
    expected, given = (jax.tree.leaves(result) for result in results)
    assert len(expected) == len(given)
    for e, g in zip(expected, given):
        assert e.dtype == g.dtype and e.shape == g.shape, f"{g.dtype}{g.shape}, not {e.dtype}{e.shape}"
        if e.dtype.kind not in "fc":
            np.testing.assert_array_equal(g.astype(np.float32) if e.dtype.kind == "V" else g,
                                          e.astype(np.float32) if e.dtype.kind == "V" else e)
        else:
            np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def raises(words, function, *arguments):
    try:
        jax.block_until_ready(function(*arguments))
    except Exception as error:
        assert words in str(error), f"'{words}' is not in: {error}"
        return
    raise AssertionError("nothing was raised")


@case
def platform_and_devices():
    device = VULKAN[0]
    assert device.platform == "vulkan" and "vxla " in device.client.platform_version
    assert device.default_memory().kind == "device"
    assert {memory.kind for memory in device.addressable_memories()} == {"device", "pinned_host"}
    statistics = device.memory_stats()
    assert statistics["bytes_limit"] > 0 and statistics["bytes_reserved"] < 0  # nobody knows
    assert device.device_kind


@case
def elementwise():
    x = numbers(5, 7)
    for f in (jnp.sin, jnp.exp, jnp.tanh, jnp.log1p, jnp.arctan, jnp.cbrt, jnp.square, jnp.rint, jnp.sign, jax.nn.gelu):
        check(f, np.abs(x))
    check(lambda x, y: x * y + jnp.where(x > y, x, y) - x / y, x, numbers(5, 7, seed=1))


@case
def element_types():
    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
                  "float32", "float64", "complex64", "complex128"):
        x = jnp.asarray(numbers(3, 5) * 4).astype(dtype)
        x = np.asarray(x)
        np.testing.assert_array_equal(np.asarray(jax.device_put(x, VULKAN[0])), x)
        if dtype in ("float16", "bfloat16"):
            check(lambda x: (x + x).astype(jnp.float32), x, tolerance=1e-2)
        else:
            check(lambda x: x | x if x.dtype == bool else x * x + x, x)
    for dtype in ("int4", "uint4", "float8_e4m3fn", "float8_e5m2"):
        x = jnp.asarray(np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), dtype=dtype, device=CPU)
        given = jax.device_put(np.asarray(x), VULKAN[0])
        np.testing.assert_array_equal(np.asarray(given).astype(np.float32), np.asarray(x).astype(np.float32))
        check(lambda x: x.astype(jnp.float32) * 2, np.asarray(x))
    negative = np.asarray(jnp.asarray([-8, -1, 7], dtype="int4", device=CPU))
    check(lambda x: (x.astype(jnp.int32), -x), negative)


@case
def transfers():
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    for view in (x, x.T, x[::-1, :, ::-2], x[:, :0], np.broadcast_to(x[0, 0], (4, 5)), np.asfortranarray(x), np.float32(3)):
        np.testing.assert_array_equal(np.asarray(jax.device_put(view, VULKAN[0])), view)
    on_host = jax.device_put(x, jax.sharding.SingleDeviceSharding(VULKAN[0], memory_kind="pinned_host"))
    assert on_host.sharding.memory_kind == "pinned_host"
    back = jax.device_put(on_host, jax.sharding.SingleDeviceSharding(VULKAN[0], memory_kind="device"))
    np.testing.assert_array_equal(np.asarray(back + 1), x + 1)
    copy = jax.device_put(jax.device_put(x, CPU), VULKAN[0])
    np.testing.assert_array_equal(np.asarray(jax.device_put(copy, CPU)), x)


@case
def other_libraries():
    x = jax.device_put(np.arange(6, dtype=np.float32).reshape(2, 3), VULKAN[0])
    np.testing.assert_array_equal(np.from_dlpack(x), np.arange(6).reshape(2, 3))
    raises("cannot be lent", lambda: x.__dlpack__(copy=False))
    np.testing.assert_array_equal(np.asarray(jax.device_put(jax.dlpack.from_dlpack(np.arange(4)), VULKAN[0])), np.arange(4))


@case
def products():
    a, b = numbers(17, 33), numbers(33, 9, seed=1)
    check(lambda a, b: a @ b, a, b, tolerance=1e-4)
    check(lambda a: jnp.einsum("bij,bkj->bik", a, a), numbers(3, 4, 5), tolerance=1e-4)
    check(lambda a, b: a @ b, a.astype(np.float64), b.astype(np.float64), tolerance=1e-12)
    check(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), numbers(2, 3, 8, 8), numbers(4, 3, 3, 3), tolerance=1e-4)


@case
def reductions():
    x = numbers(6, 11, 5)
    for f in (jnp.sum, jnp.max, jnp.min, jnp.argmax, jnp.prod, jnp.mean, jnp.var):
        check(lambda x, f=f: f(x, axis=1), x, tolerance=1e-4)
    check(lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 1), jnp.all(x > -9), jax.nn.softmax(x)), x, tolerance=1e-4)
    check(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID"), x)


@case
def sorting():
    x = numbers(4, 37)
    check(lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 5), jnp.median(x, axis=1)), x)
    check(lambda x: jnp.unique(x, size=5), np.array([3, 1, 2, 3, 1, 7], np.int32))


@case
def indexing():
    x, i = numbers(10, 4), np.array([3, 9, 0, 3], np.int32)
    check(lambda x, i: (x[i], x[i, 1], x.at[i].add(1.0), x.at[i, 2].set(5.0), x.at[i].max(0.5)), x, i)
    check(lambda x, i: (lax.dynamic_slice(x, (i[0], i[2]), (2, 2)), lax.dynamic_update_slice(x, x[:2] * 2, (i[1], i[2]))), x, i)
    check(lambda x: x.at[jnp.array([50])].set(1.0, mode="drop"), x)
    check(lambda x: jax.ops.segment_sum(x, jnp.array([0, 1, 0, 2, 2, 1, 0, 3, 3, 3]), 4), x)


@case
def control_flow():
    check(lambda x: lax.fori_loop(0, 10, lambda i, v: v * 1.1 + i, x), numbers(5))
    check(lambda x: lax.while_loop(lambda v: v[0] < 100, lambda v: v * 2 + 1, x), np.array([1.0, 2.0]))
    check(lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), numbers(5))
    check(lambda x: lax.switch(jnp.int32(2), [jnp.sin, jnp.cos, jnp.tan], x), numbers(5))
    check(lambda x: lax.scan(lambda c, v: (c + v, c * v), x[0], x), numbers(8, 3))
    check(lambda x: lax.associative_scan(jnp.add, x), numbers(9))


@case
def derivatives():
    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)
    check(jax.grad(loss), numbers(5, 3), numbers(8, 5), tolerance=1e-4)
    check(jax.hessian(lambda v: jnp.sum(jnp.sin(v) ** 3)), numbers(4))
    check(jax.vmap(jax.jacfwd(lambda v: v ** 2 / (1 + jnp.sum(v)))), np.abs(numbers(3, 4)), tolerance=1e-4)


@case
def random_numbers():
    def draw(seed):
        key = jax.random.key(seed)
        a, b, c, d = jax.random.split(key, 4)
        return (jax.random.bits(a, (13,)), jax.random.uniform(a, (7,)), jax.random.normal(b, (7,)), jax.random.permutation(c, 10),
                jax.random.categorical(d, jnp.zeros(5), shape=(6,)), jax.random.gamma(a, 2.0, (3,)))
    check(draw, np.int32(7), tolerance=1e-4)
    check(lambda: jax.random.bits(jax.random.key(3, impl="rbg"), (9,)))


@case
def linear_algebra():
    a = numbers(5, 5)
    s = a @ a.T + 5 * np.eye(5, dtype=np.float32)
    check(lambda s: (jnp.linalg.cholesky(s), jnp.linalg.inv(s), jnp.linalg.det(s), jnp.linalg.solve(s, s[0])), s, tolerance=1e-3)
    check(lambda s: (jnp.linalg.eigvalsh(s), jnp.linalg.svd(s, compute_uv=False)), s, tolerance=1e-3)
    check(lambda a: jnp.abs(jnp.linalg.qr(a)[1]), a, tolerance=1e-3)
    check(lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), a, tolerance=1e-3)
    check(lambda s: (jax.scipy.linalg.expm(s / 20), jax.scipy.linalg.lu(s)[2]), s, tolerance=1e-3)
    check(lambda s: jax.scipy.linalg.solve_triangular(jnp.tril(s), s, lower=True), s, tolerance=1e-3)


@case
def linear_algebra_of_other_names():
    d, b = np.array([4.0, 5, 6, 7], np.float32), numbers(4, 2)
    lower, upper = np.array([0, 1, 1, 1], np.float32), np.array([1, 1, 1, 0], np.float32)
    check(lambda *a: lax.linalg.tridiagonal_solve(*a), lower, d, upper, b, tolerance=1e-4)
    check(jnp.linalg.cholesky, np.stack([np.ones((2, 2)), np.array([[4, 2], [2, 3]])]).astype(np.float32))  # one is singular
    s = b @ b.T + 4 * np.eye(4, dtype=np.float32)
    jacobi = lax.linalg.EighImplementation.JACOBI
    with jax.default_device(VULKAN[0]):
        w = jax.jit(lambda s: lax.linalg.eigh(s, implementation=jacobi)[1])(s)
    np.testing.assert_allclose(np.asarray(w), np.linalg.eigvalsh(s), rtol=1e-4)


@case
def effects_without_results():
    from jax._src.lax import lax as private
    check(lambda x: (private.dce_sink(x * 3), x + 1)[1], numbers(3))
    try:
        from jax.experimental.control_deps import schedule
    except ImportError:
        return

    def ordered(x):
        a, b = jnp.sin(x), jnp.cos(x)
        schedule([b, a])
        return a + b
    check(ordered, numbers(3))


@case
def sparse_solutions():
    from jax.experimental import sparse
    from jax.experimental.sparse import linalg
    dense = np.diag(np.arange(2.0, 8)) + np.diag(np.ones(5), 1)
    matrix = sparse.BCSR.fromdense(jnp.asarray(dense, jnp.float32))

    def solve(data, b):
        return linalg.spsolve(data, matrix.indices, matrix.indptr, b)
    check(lambda b: (solve(matrix.data, b), jax.grad(lambda b: solve(matrix.data, b).sum())(b)), numbers(6), tolerance=1e-4)


@case
def buffer_callbacks():
    from jax.experimental.buffer_callback import ExecutionStage, buffer_callback

    def twice(context, out, a, b):
        assert context.stage == ExecutionStage.EXECUTE and (a.shape, a.dtype, a.ndim) == ((3, 4), np.float32, 2)
        assert out["sum"].writeable and not a.writeable and not np.asarray(a).flags.writeable
        raises("GPU context", lambda: context.stream)
        np.testing.assert_array_equal(np.from_dlpack(a), np.asarray(a))
        assert np.asarray(a, np.float64).dtype == np.float64
        np.asarray(out["sum"])[...] = np.asarray(a) + np.asarray(b)
        np.asarray(out["none"])[...] = 0

    def onward(context, out, a):
        assert np.asarray(a).ctypes.data == np.asarray(out).ctypes.data
        np.asarray(out)[0] += 1

    a, b = numbers(3, 4), numbers(3, 4, seed=1)
    shapes = {"sum": jax.ShapeDtypeStruct((3, 4), jnp.float32), "none": jax.ShapeDtypeStruct((0, 2), jnp.int8)}
    with jax.default_device(VULKAN[0]):
        result = jax.jit(lambda a, b: buffer_callback(twice, shapes)(jnp.sin(a), b))(a, b)
        np.testing.assert_allclose(result["sum"], np.sin(a) + b, rtol=1e-5)
        assert result["none"].shape == (0, 2)
        in_place = buffer_callback(onward, jax.ShapeDtypeStruct((4,), jnp.float32), input_output_aliases={0: 0},
                                   vmap_method="sequential")
        np.testing.assert_allclose(jax.vmap(in_place)(jnp.asarray(a)), a + np.array([1, 0, 0, 0], np.float32))
        raises("must not return", lambda: buffer_callback(lambda *_: 1, shapes["sum"])(a).block_until_ready())
        seen = []
        jax.block_until_ready(buffer_callback(lambda *_: seen.append(1), jax.ShapeDtypeStruct((), jnp.int32), has_side_effect=True)())
        assert seen == [1]


@case
def fourier():
    check(lambda x: (jnp.fft.fft(x), jnp.fft.irfft(jnp.fft.rfft(x.real)), jnp.fft.fft2(x.reshape(4, 8))),
          numbers(32).astype(np.complex64), tolerance=1e-4)


@case
def special_functions():
    x = np.linspace(0.1, 0.9, 9).astype(np.float32)
    check(lambda x: (lax.erf_inv(x), lax.lgamma(x), lax.digamma(x), lax.bessel_i1e(x), jax.scipy.special.erfc(x),
                     jax.scipy.special.gammainc(x, x), jnp.nextafter(x, jnp.float32(2)), jnp.arccosh(1 + x)), x, tolerance=1e-4)
    with jax.default_device(VULKAN[0]):
        text = jax.jit(lax.lgamma).lower(x).as_text()
    assert "chlo.lgamma" in text, "lgamma comes expanded"


@case
def donation():
    step = jax.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    x, y = (jax.device_put(numbers(1 << 16), VULKAN[0]) for _ in range(2))
    expected = np.asarray(x) + np.asarray(y)
    total, _ = step(x, y)  # a step's arrays take 512 KiB
    assert x.is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(np.asarray(total), expected)
    raises("deleted", lambda: x + 1)
    raises("donate", lambda: step(y, y))
    flat = jax.jit(lambda v: v.reshape(-1) * 2, donate_argnums=0)
    square = jax.device_put(numbers(8, 8), VULKAN[0])
    jax.block_until_ready(flat(square))
    assert square.is_deleted()
    before = VULKAN[0].memory_stats()["bytes_in_use"]
    for _ in range(50):
        total = step(total, y)[0]
    jax.block_until_ready(total)
    after = VULKAN[0].memory_stats()["bytes_in_use"]
    assert after < before + (1 << 20), f"{after - before} bytes more"


@case
def deletion():
    x = jax.device_put(numbers(8), VULKAN[0])
    y = x + 1
    x.delete()
    assert x.is_deleted()
    raises("deleted", lambda: np.asarray(x))
    assert np.asarray(y).shape == (8,)


@case
def errors():
    with jax.default_device(VULKAN[0]):
        raises("compile option", lambda: jax.jit(jnp.sin, compiler_options={"no_such_option": 1})(1.0))
        jax.jit(jnp.sin, compiler_options={"xla_embed_ir_in_executable": True})(1.0)  # XLA's own mean nothing here
        raises("RESOURCE_EXHAUSTED", lambda: jnp.zeros((1 << 22, 1 << 20), jnp.float32) + 1)


@case
def callbacks():
    from jax.experimental import io_callback
    seen = []

    def two(x):
        return x + 1, x.sum()

    def see(x):
        seen.append(float(x[0]))

    def fail(x):
        raise ValueError("no luck")
    x = jax.device_put(np.arange(4, dtype=np.float32), VULKAN[0])
    twice = jax.jit(lambda x: jax.pure_callback(two, (x, jax.ShapeDtypeStruct((), x.dtype)), x * 2))(x)
    np.testing.assert_array_equal(np.asarray(twice[0]), np.arange(4) * 2 + 1)
    assert float(twice[1]) == 12
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: io_callback(lambda v: v * 3, x, x))(x)), np.arange(4) * 3)
    jax.jit(lambda x: (jax.debug.callback(see, x + 1), x)[1])(x)
    jax.effects_barrier()
    assert seen == [1.0], seen
    ordered = jax.jit(lambda x: (jax.debug.callback(see, x, ordered=True), jax.debug.callback(see, x + 5, ordered=True), x + 1)[2])
    ordered(ordered(x))
    jax.effects_barrier()
    assert seen == [1.0, 0.0, 5.0, 1.0, 6.0], seen
    assert float(jax.jit(lambda x: jax.pure_callback(lambda _: 2, jax.ShapeDtypeStruct((), jnp.int64), x))(x)) == 2
    raises("Incorrect output shape", jax.jit(lambda x: jax.pure_callback(lambda v: v[:2], x, x)), x)
    raises("no luck", jax.jit(lambda x: jax.pure_callback(fail, x, x)), x)
    raises("no luck", jax.effects_barrier)  # JAX keeps the failed run for it
    jax._src.dispatch.runtime_tokens.clear()


@case
def libraries():
    """jax.ffi: functions of a library that is compiled against jaxlib's headers, which run on the host."""
    compiler = [argument.removeprefix("--compiler=") for argument in sys.argv if argument.startswith("--compiler=")] or ["c++"]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/library.so"
        subprocess.run([compiler[0], "-std=c++17", "-shared", "-fPIC", "-w", "-isystem", jax.ffi.include_dir(), "-o", path,
                        pathlib.Path(__file__).parent / "ffi_library.cc"], check=True)
        library = ctypes.CDLL(path)
    for name in ("counter_type", "counter_info"):
        getattr(library, name).restype = ctypes.c_void_p
    jax.ffi.register_ffi_target("scale_and_count", jax.ffi.pycapsule(library.scale_and_count), platform="vulkan")
    x = jax.device_put(numbers(3, 5), VULKAN[0])

    def scale(x, scale=2.5, name="a name"):
        results = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((), jnp.int32))
        call = jax.ffi.ffi_call("scale_and_count", results, vmap_method="sequential")
        return call(x * 2, scale=np.float32(scale), name=name, offsets=np.array([1, 0, 0, 0, 4]))
    expected = np.asarray(x) * 5 + np.array([1, 0, 0, 0, 4])
    scaled, count = jax.jit(lambda x: [v + v for v in scale(x)])(x)
    np.testing.assert_allclose(np.asarray(scaled), 2 * expected, rtol=1e-6)
    assert int(count) == 30, count
    np.testing.assert_allclose(np.asarray(scale(x)[0]), expected, rtol=1e-6)  # eager
    np.testing.assert_array_equal(np.asarray(jax.vmap(scale)(x)[1]), [5, 5, 5])
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,), devices=VULKAN[:2])
    whole = jax.jit(jax.shard_map(lambda x: scale(x)[0], mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"), check_vma=False))
    np.testing.assert_allclose(np.asarray(whole(jnp.tile(np.asarray(x), (2, 1)))), np.tile(expected, (2, 1)), rtol=1e-6)
    raises("INVALID_ARGUMENT: custom-call", lambda: scale(x, scale=-1))
    raises("the scale is negative", jax.jit(lambda x: scale(x, scale=-1)), x)
    raises("UNIMPLEMENTED: custom-call", lambda: scale(x, name="another"))
    raises("scale", lambda: jax.ffi.ffi_call("scale_and_count", x)(x))  # attributes and a result are missing

    def like(target, **options):
        return jax.jit(lambda x: jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(x.shape, x.dtype), **options)(x))
    raises('no function is registered for "throws"', like("throws"), x)
    jax.ffi.register_ffi_target("throws", jax.ffi.pycapsule(library.throws), platform="vulkan")
    raises("thrown", like("throws"), x)
    # A state, which one executable's calls share; its type is registered first.
    pointers = [jax.ffi.pycapsule(ctypes.cast(function(), ctypes.c_void_p)) for function in (library.counter_type, library.counter_info)]
    jax.ffi.register_ffi_type("Counter", dict(zip(("type_id", "type_info"), pointers)), platform="vulkan")
    number = ctypes.c_int64(77)
    other = {"type_id": jax.ffi.pycapsule(ctypes.cast(ctypes.pointer(number), ctypes.c_void_p))}
    raises("its number is", lambda: jax.ffi.register_ffi_type("Counter", other, platform="vulkan"))
    assert number.value == 77
    stages = {"instantiate": jax.ffi.pycapsule(library.make_counter), "execute": jax.ffi.pycapsule(library.count_calls)}
    jax.ffi.register_ffi_target("count_calls", stages, platform="vulkan")
    with jax.default_device(VULKAN[0]):
        calls = jax.jit(lambda: jax.ffi.ffi_call("count_calls", jax.ShapeDtypeStruct((), jnp.int32), has_side_effect=True)())
        assert [int(calls()) for _ in range(3)] == [101, 102, 103]
    jax.ffi.register_ffi_target("add_one", jax.ffi.pycapsule(library.add_one), platform="vulkan", api_version=0)
    assert float(like("add_one", custom_call_api_version=1)(x[0, 0])) == np.asarray(x)[0, 0] + np.float32(1)
    capsule = stages["execute"]
    raises("no handler of execute", lambda: jax.ffi.register_ffi_target("none", {"prepare": capsule}, platform="vulkan"))
    raises("api_version 7", lambda: jax.ffi.register_ffi_target("none", capsule, platform="vulkan", api_version=7))
    raises("finish is no stage", lambda: jax.ffi.register_ffi_target("none", {"finish": capsule}, platform="vulkan"))


@case
def analysis():
    with jax.default_device(VULKAN[0]):
        compiled = jax.jit(lambda x: x @ x).lower(jnp.ones((8, 8))).compile()
        assert compiled.cost_analysis()["flops"] > 0
        assert compiled.memory_analysis().argument_size_in_bytes == 8 * 8 * 8
        assert compiled.as_text()


@case
def serialization():
    from jax.experimental import serialize_executable
    with jax.default_device(VULKAN[0]):
        compiled = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.ones(4)).compile()
        loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled), backend="vulkan",
                                                           execution_devices=VULKAN[:1])
        np.testing.assert_allclose(loaded(jnp.ones(4)), np.sin(np.ones(4)) * 2, rtol=1e-6)


@case
def many_threads():
    function = jax.jit(lambda x: jnp.cumsum(x) @ x)
    x = jax.device_put(numbers(50), VULKAN[0])
    expected, results = float(function(x)), []
    threads = [threading.Thread(target=lambda: results.extend(float(function(x)) for _ in range(10))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 80


@case
def products_with_scales_of_blocks():
    a, b = (jnp.asarray(numbers(1, 8, 64, seed=k), jnp.float8_e4m3fn) for k in range(2))
    scales = [jnp.asarray(2.0 ** np.arange(-8, 8).reshape(1, 8, 2), jnp.float8_e8m0fnu) for _ in range(2)]
    given = jax.jit(jax.nn.scaled_matmul)(*(jax.device_put(v, VULKAN[0]) for v in (a, b, *scales)))
    wide = [np.asarray(v, np.float64) * np.repeat(np.asarray(s, np.float64), 32, axis=2) for v, s in zip((a, b), scales)]
    np.testing.assert_allclose(np.asarray(given), np.einsum("bik,bjk->bij", *wide), rtol=1e-5, atol=1e-4)


@case
def several_devices():
    if len(VULKAN) < 4:
        raise AssertionError("VXLA_DEVICES gives fewer than 4")
    x = numbers(4, 6)
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,), devices=VULKAN[:4])
    P = jax.sharding.PartitionSpec
    for device in VULKAN[:4]:
        assert (jax.device_put(x, device) + 1).devices() == {device}
    total = jax.pmap(lambda v: lax.psum(v, "i"), "i", devices=VULKAN[:4])(x)
    np.testing.assert_allclose(np.asarray(total)[2], x.sum(0), rtol=1e-5)

    def body(v):
        index = lax.axis_index("d")
        return (lax.all_gather(v, "d"), lax.ppermute(v, "d", [(i, (i + 1) % 4) for i in range(4)]),
                lax.psum_scatter(jnp.tile(v, (4, 1)), "d", tiled=True), v * index, lax.pbroadcast(v, "d", 2))
    along = jax.sharding.NamedSharding(mesh, P("d"))
    sharded = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False),
                      in_shardings=along, out_shardings=along)
    gathered, moved, scattered, scaled, sent = sharded(x)
    np.testing.assert_array_equal(np.asarray(sent), np.tile(x[2], (4, 1)))

    def onward(v):
        pairs = [(0, 1), (2, 3)]
        return lax.precv(lax.psend(v, "d", pairs), jax.ShapeDtypeStruct(v.shape, v.dtype), "d", pairs)
    # Who is sent nothing receives zeros.
    received = jax.jit(jax.shard_map(onward, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False))(x)
    np.testing.assert_array_equal(np.asarray(received), np.stack([0 * x[0], x[0], 0 * x[0], x[2]]))
    np.testing.assert_array_equal(np.asarray(gathered)[:4, 0], x)
    np.testing.assert_array_equal(np.asarray(moved), np.roll(x, 1, axis=0))
    np.testing.assert_allclose(np.asarray(scattered), np.tile(x.sum(0), (4, 1)), rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(scaled), x * np.arange(4, dtype=np.float32)[:, None])


@case
def shardings():
    """jit over several devices: right, and results lie as stated, as constraints say or as elementwise operands do."""
    if len(VULKAN) < 4:
        raise AssertionError("VXLA_DEVICES gives fewer than 4")
    P, NamedSharding = jax.sharding.PartitionSpec, jax.sharding.NamedSharding
    a = numbers(4, 8)
    for kind in (jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit):
        mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(kind, kind), devices=VULKAN[:4])
        x = jax.device_put(a, NamedSharding(mesh, P("x", "y")))
        wave = jax.jit(lambda v: jnp.sin(v * 2) + v)(x)
        np.testing.assert_allclose(np.asarray(wave), np.sin(a * 2) + a, rtol=1e-5)
        assert wave.sharding.spec == P("x", "y"), wave.sharding
        np.testing.assert_allclose(np.asarray(jax.jit(lambda v: v.sum(1))(x)), a.sum(1), rtol=1e-4)
    auto = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2, devices=VULKAN[:4])
    x = jax.device_put(a, NamedSharding(auto, P("x", "y")))
    np.testing.assert_allclose(np.asarray(jax.jit(lambda v: v @ v.T + v.sum())(x)), a @ a.T + a.sum(), rtol=1e-4)
    assert "all-gather" in jax.jit(lambda v: v @ v.T).lower(x).compile().as_text()
    columns = jax.jit(lambda v: v.sum(0), out_shardings=NamedSharding(auto, P("y")))(x)
    assert columns.sharding.spec == P("y") and columns.addressable_shards[0].data.shape == (4,)
    np.testing.assert_allclose(np.asarray(columns), a.sum(0), rtol=1e-5)
    wanted = jax.jit(lambda v: lax.with_sharding_constraint(v[::-1], NamedSharding(auto, P(("y", "x")))))(x)
    assert wanted.sharding.is_equivalent_to(NamedSharding(auto, P(("y", "x"))), 2), wanted.sharding
    np.testing.assert_array_equal(np.asarray(wanted), a[::-1])
    # A shard_map with operations around it, and one that is manual over one of two axes.
    part = jax.shard_map(lambda v: lax.psum(v, "x"), mesh=auto, in_specs=P("x"), out_specs=P(), axis_names={"x"})
    np.testing.assert_allclose(np.asarray(jax.jit(lambda v: part(v) * 2 + v.sum())(x)), (a[:2] + a[2:]) * 2 + a.sum(), rtol=1e-4)
    # Loops, derivatives, and steps with donation that hold the memory that they began with.
    total, _ = jax.jit(lambda v: lax.scan(lambda c, row: (c + row, row), jnp.zeros(8, v.dtype), v))(x)
    np.testing.assert_allclose(np.asarray(total), a.sum(0), rtol=1e-5)
    step = jax.jit(lambda w, v: w - 0.1 * jax.grad(lambda u: jnp.mean(jnp.tanh(u * v) ** 2))(w), donate_argnums=0)
    w, expected = jax.device_put(a, x.sharding), a
    one = jax.device_put(a, CPU)
    for i in range(6):
        w, expected = step(w, x), step(jax.device_put(expected, CPU), one)
        if i == 2:
            before = VULKAN[0].memory_stats()["bytes_in_use"]
    np.testing.assert_allclose(np.asarray(w), np.asarray(expected), rtol=1e-4)
    assert VULKAN[0].memory_stats()["bytes_in_use"] <= before + 4096
    # What devices have in common is each one's own.
    everywhere = jax.jit(lambda v: v * 2, out_shardings=NamedSharding(auto, P()))(x)
    first, second = (shard.data for shard in everywhere.addressable_shards[:2])
    first.delete()
    np.testing.assert_array_equal(np.asarray(second), a * 2)


@case
def several_physical_devices():
    """llvmpipe and SwiftShader, where both are there."""
    if "swiftshader" not in os.environ.get("VK_ADD_DRIVER_FILES", ""):
        return
    code = """if True:
        import jax, jax.numpy as jnp, numpy as np
        from jax import lax
        from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
        devices = jax.devices("vulkan")
        assert len({d.device_kind for d in devices}) == 2, devices
        a = np.arange(24, dtype=np.float32).reshape(2, 12)
        np.testing.assert_array_equal(np.asarray(jax.pmap(lambda v: lax.psum(v, "i"), "i", devices=devices)(a))[1], a.sum(0))
        mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,), devices=devices)
        x = jax.device_put(a, NamedSharding(mesh, P("x")))
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: v @ v.T)(x)), a @ a.T)
        step = jax.jit(lambda v: v * 2 + 1, donate_argnums=0)
        y = step(x)
        assert x.is_deleted() and y.sharding.spec == P("x")
        np.testing.assert_array_equal(np.asarray(step(y)), a * 4 + 3)
        try:
            jax.jit(lambda v: (jax.debug.callback(print, v), v)[1])(jax.device_put(a, NamedSharding(mesh, P("x")))).block_until_ready()
        except Exception as error:
            assert "several physical devices" in str(error), error
        else:
            raise AssertionError("nothing was raised")
        print("good")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "VXLA_DEVICES": "llvmpipe,SwiftShader", "JAX_PLATFORMS": "vulkan,cpu"})
    assert done.returncode == 0 and "good" in done.stdout, done.stderr[-1500:]


@case
def callbacks_of_several_devices():
    """A callback of whole arrays is called once, one of a shard_map by each device."""
    from jax.experimental import io_callback
    if len(VULKAN) < 4:
        raise AssertionError("VXLA_DEVICES gives fewer than 4")
    P = jax.sharding.PartitionSpec
    mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,), devices=VULKAN[:4])
    x = jax.device_put(np.arange(8, dtype=np.float32), jax.sharding.NamedSharding(mesh, P("x")))
    shapes = []

    def see(v):
        shapes.append(v.shape)
        return v * 2
    each = jax.shard_map(lambda v: io_callback(see, v, v), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    for function, expected in ((lambda v: io_callback(see, v, v), [(8,)]), (lambda v: jax.pure_callback(see, v, v), [(8,)]),
                               (lambda v: io_callback(see, v, v, ordered=True), [(8,)]), (each, [(2,)] * 4)):
        shapes.clear()
        np.testing.assert_array_equal(np.asarray(jax.jit(function)(x)), np.arange(8) * 2)
        assert shapes == expected, shapes
    # Each device has an array of its own for what all of them have whole.
    whole = jax.device_put(np.float32(3), jax.sharding.NamedSharding(mesh, P()))
    shapes.clear()
    jax.block_until_ready(jax.jit(lambda i, v: io_callback(lambda i, v: shapes.append((i.shape, v.shape)), None, i, v, ordered=True))(whole, x))
    jax.effects_barrier()
    assert shapes == [((), (8,))], shapes


@case
def sums_that_are_still_to_be_made():
    if len(VULKAN) < 2:
        raise AssertionError("VXLA_DEVICES gives fewer than 2")
    P = jax.sharding.PartitionSpec
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,), devices=VULKAN[:2])
    a, b = numbers(4, 8), numbers(8, 4, seed=1)
    x = jax.device_put(a, jax.sharding.NamedSharding(mesh, P(None, "x")))
    y = jax.device_put(b, jax.sharding.NamedSharding(mesh, P("x", None)))
    with jax.set_mesh(mesh):
        partial = jax.jit(lambda x, y: jnp.einsum("ij,jk->ik", x, y, out_sharding=P(None, None, unreduced={"x"})))(x, y)
        np.testing.assert_allclose(np.asarray(jax.reshard(partial, P(None, None))), a @ b, rtol=1e-4, atol=1e-5)
        # Each device has its addend: of a product, of a sum, and of an array that lay in tiles.
        sums = jax.jit(lambda x: lax.reduce_sum(x, (1,), out_sharding=P(None, unreduced={"x"})))(x)
        tile = jax.jit(lambda x: x, out_shardings=P(None, None, unreduced={"x"}))(x)
        for d, (product, total, own) in enumerate(zip(*(v.addressable_shards for v in (partial, sums, tile)))):
            half = slice(4 * d, 4 * d + 4)
            np.testing.assert_allclose(np.asarray(product.data), a[:, half] @ b[half], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(np.asarray(total.data), a[:, half].sum(1), rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(np.asarray(own.data), np.where(np.arange(8) // 4 == d, a, 0))


@case
def memories():
    device = jax.sharding.SingleDeviceSharding(VULKAN[0], memory_kind="device")
    host = jax.sharding.SingleDeviceSharding(VULKAN[0], memory_kind="pinned_host")
    x = jax.device_put(np.arange(4, dtype=np.float32), device)
    given = jax.jit(lambda v: v * 2, out_shardings=host)(x)
    assert given.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(np.asarray(given), [0, 2, 4, 6])
    view = np.asarray(given)
    assert not view.flags.owndata and view.ctypes.data == given.unsafe_buffer_pointer()  # it lies on the host
    assert memoryview(given).tobytes() == view.tobytes()
    given.delete()
    np.testing.assert_array_equal(view, [0, 2, 4, 6])
    given = jax.device_put(view, host)
    inside = jax.jit(lambda v: (jax.device_put(v * 3, host), v + 1))(x)
    assert [v.sharding.memory_kind for v in inside] == ["pinned_host", "device"]
    np.testing.assert_array_equal(np.asarray(inside[0]), [0, 3, 6, 9])
    back = jax.jit(lambda v: jax.device_put(v, device) + 1)(given)
    assert back.sharding.memory_kind == "device"
    np.testing.assert_array_equal(np.asarray(back), [1, 3, 5, 7])
    assert x.unsafe_buffer_pointer() == x.unsafe_buffer_pointer() != (x + 0).unsafe_buffer_pointer()


@case
def references():
    """Arrays that a program changes, and values whose memory is their own."""
    from jax._src.state import primitives

    def changed(x):
        reference = jax.new_ref(x)

        def body(i, carry):
            reference[i] = reference[i] * 2 + carry
            return carry + 1

        lax.fori_loop(0, x.shape[0], body, jnp.float32(1))
        return reference[...]

    check(changed, numbers(5))
    outside = jax.new_ref(jax.device_put(numbers(4), VULKAN[0]))
    update = jax.jit(lambda reference: reference.__setitem__(1, 5.0))
    update(outside)
    assert outside[...][1] == 5 and jax.freeze(outside).devices() == {VULKAN[0]}
    x = jax.device_put(numbers(3), VULKAN[0])
    np.testing.assert_array_equal(jax.jit(lambda x: primitives.unpin(primitives.pin(x * 2)) + 1)(x), np.asarray(x) * 2 + 1)


@case
def layouts():
    """Arrays and programs keep the order of dimensions that they were given; an order that is none is refused."""
    from jax.experimental.layout import Format, Layout
    columns = Format(Layout((1, 0)), jax.sharding.SingleDeviceSharding(VULKAN[0]))
    x = jax.device_put(numbers(3, 5), columns)
    assert x.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(x, numbers(3, 5))
    y = jax.jit(lambda x: x * 2, in_shardings=columns, out_shardings=columns)(x)
    assert y.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(y, numbers(3, 5) * 2)
    plain = jax.device_put(y, Format(Layout((0, 1)), columns.sharding))
    assert plain.format.layout.major_to_minor == (0, 1)
    np.testing.assert_array_equal(plain, y)
    # An automatic layout: elementwise operations and transposes leave their operand where it lies, a sort does not.
    automatic = jax.jit(lambda x: (x.T * 2, jnp.sort(x.T), x + 1), out_shardings=Format(Layout.AUTO))
    compiled = automatic.lower(jax.ShapeDtypeStruct((3, 5), np.float32, sharding=columns.sharding)).compile()
    assert [f.layout.major_to_minor for f in compiled.output_formats] == [(1, 0), (0, 1), (0, 1)]
    turned = compiled(numbers(3, 5))[0]
    assert turned.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(turned, numbers(3, 5).T * 2)
    assert jax.jit(lambda x: x.T, out_shardings=Format(Layout.AUTO)).lower(x).compile().output_formats.layout.major_to_minor == (0, 1)
    tiles = Format(Layout((0, 1), tiling=((2, 2),)), columns.sharding)
    raises("tiles", jax.jit(lambda x: x + 1, out_shardings=tiles), plain)


@case
def profiles():
    """jax.profiler has each run, each kernel with its bytes, and what the host computes."""
    def step(x, y):
        return jnp.sort(jnp.sin(x) @ y), jnp.linalg.eigh(y + y.T)[0]

    x, y = (jax.device_put(numbers(64, 64, seed=s), VULKAN[0]) for s in (1, 2))
    run = jax.jit(step)
    before = jax.block_until_ready(run(x, y))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(3):
                during = jax.block_until_ready(run(x, y))
        [path] = pathlib.Path(folder).rglob("*.xplane.pb")
        profile = jax.profiler.ProfileData.from_file(str(path))
    np.testing.assert_array_equal(before[0], during[0])
    # jaxlib's objects are of use only while those that gave them are there.
    lines = {}
    for plane in profile.planes:
        if plane.name != f"/device:GPU:{VULKAN[0].id}":
            continue
        for line in plane.lines:
            lines[line.name] = [(event.name, event.start_ns, event.end_ns, dict(event.stats)) for event in line.events]
    modules = [(begin, end) for name, begin, end, _ in lines["XLA Modules"] if name == "jit_step"]
    assert len(modules) == 3 and all(begin < end for begin, end in modules)
    kernels = lines["XLA Ops"]
    assert len(kernels) >= 9 and len(kernels) % 3 == 0, len(kernels)
    for name, begin, end, stats in kernels:
        assert stats["hlo_module"] == "jit_step" and stats["hlo_op"] == name and stats["kernel"]
        assert any(first <= begin and end <= last for first, last in modules), name
    # The product reads two matrices of 16 KiB and writes one, and multiplies and adds 64 times for each element.
    products = [stats for _, _, _, stats in kernels if stats["flops"] >= 2 * 64 ** 3]
    assert len(products) == 3 and all(stats["bytes_accessed"] >= 3 * 64 * 64 * 4 for stats in products)
    # Without a profiler nothing is taken, and nothing is waited for.
    jax.block_until_ready(run(x, y))


@case
def exit_with_work_in_flight():
    code = "import jax, jax.numpy as jnp\nx = jnp.ones((300, 300))\nfor _ in range(20): x = x @ x / 300\nprint(x.shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "JAX_PLATFORMS": "vulkan"})
    assert done.returncode == 0 and "(300, 300)" in done.stdout, done.stderr


@case
def no_device_leaves_jax_on_its_cpu():
    without = {name: value for name, value in os.environ.items() if name not in ("VK_ADD_DRIVER_FILES", "JAX_PLATFORMS", "VXLA_DEVICES")}
    done = subprocess.run([sys.executable, "-c", "import jax; print(jax.devices())"], capture_output=True, text=True, timeout=60,
                          env={**without, "VK_DRIVER_FILES": "/none.json", "VK_ICD_FILENAMES": "/none.json"})
    assert done.returncode == 0 and "CpuDevice" in done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit(run_cases())
