"""JAX functions through vxla: what jax.jit(f).lower(x) is as StableHLO (text, pretty and generic, with locations; bytecode) and as HLO must run
to JAX's own results, and survive `vxla convert` both ways, as must the artifact that jax.export writes. jaxlib must read the artifact that vxla writes.

    python jax_programs.py --vxla build/vxla [--device cpu|llvmpipe|...] [--brief] [-j N] [NAME...]

--brief: StableHLO text, HLO text and the artifact alone, and nothing that takes long. Prints a line for each function that fails, and ends
with `N passed, N failed`. Needs jax for CPUs.
"""

import argparse, concurrent.futures, io, os, pathlib, subprocess, sys, tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
import jax.scipy.linalg as sl
import jax.scipy.special as sp
from jax import export, lax
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from further_programs import add_further_cases, further_symbolic_cases
from loop_programs import add_loop_cases
from more_programs import add_cases

jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(0)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def doubles(*shape):
    return random.standard_normal(shape)


def integers(*shape):
    return random.integers(-50, 50, shape).astype(np.int32)


def complexes(*shape):
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(np.complex64)


def cases():
    """(name, function, arguments, relative and absolute tolerance)"""
    out = []

    def case(name, function, *arguments, tol=2e-5):
        out.append((name, function, arguments, tol))

    case("add", lambda a, b: a + b * 2, floats(3, 5), floats(3, 5))
    case(
        "unary",
        lambda a: (
            jnp.sin(a),
            jnp.cos(a),
            jnp.tanh(a),
            jnp.exp(a),
            jnp.log1p(jnp.abs(a)),
            jnp.expm1(a),
            jnp.cbrt(a),
            jnp.sqrt(jnp.abs(a)),
            lax.rsqrt(jnp.abs(a) + 1),
            jnp.floor(a),
            jnp.ceil(a),
            jnp.round(a),
            jnp.sign(a),
            lax.logistic(a),
            jnp.tan(a),
        ),
        floats(7, 11),
    )
    case(
        "chlo",
        lambda a: (
            jnp.arcsin(a / 4),
            jnp.arccos(a / 4),
            jnp.arctan(a),
            jnp.arcsinh(a),
            jnp.arccosh(jnp.abs(a) + 1),
            jnp.arctanh(a / 5),
            jnp.sinh(a),
            jnp.cosh(a),
            sp.erf(a),
            sp.erfc(a),
            sp.erfinv(a / 5),
            sp.gammaln(jnp.abs(a) + 0.1),
            sp.digamma(jnp.abs(a) + 0.1),
        ),
        floats(7, 11),
        tol=1e-4,
    )
    case("zeta", lambda a: (sp.zeta(jnp.abs(a) + 1.5, 2.0), sp.polygamma(2, jnp.abs(a) + 0.5)), floats(4, 5), tol=1e-4)
    case("zeta64", lambda a: (sp.zeta(jnp.abs(a) + 1.5, 2.5), sp.polygamma(3, jnp.abs(a) + 0.5)), doubles(4, 5), tol=1e-9)
    case("bessel", lambda a: (sp.i0e(a), sp.i1e(a), sp.i0(a), sp.i1(a)), floats(4, 5) * 5)
    case("nextafter", jnp.nextafter, floats(4, 4), floats(4, 4), tol=0)
    case("igamma", lambda a: (sp.gammainc(jnp.abs(a) + 0.5, jnp.abs(a)), sp.betainc(jnp.abs(a) + 0.5, 1.5, 0.3)), floats(9), tol=1e-4)
    case(
        "ints",
        lambda a, b: (
            a // (jnp.abs(b) + 1),
            a % (jnp.abs(b) + 1),
            a & b,
            a | b,
            a ^ b,
            ~a,
            a << (b & 7),
            a >> (b & 7),
            lax.population_count(a),
            lax.clz(a),
            jnp.abs(a),
            a**2,
        ),
        integers(6, 7),
        integers(6, 7),
        tol=0,
    )
    case(
        "cmp",
        lambda a, b: (a < b, a == b, a >= b, jnp.where(a < b, a, b), jnp.maximum(a, b), jnp.clip(a, -1, 1)),
        floats(5, 5),
        floats(5, 5),
        tol=0,
    )
    case(
        "complex",
        lambda a, b: (a * b, a / b, jnp.exp(a), jnp.conj(a), jnp.abs(a), jnp.real(a), jnp.sqrt(a), jnp.log(a)),
        complexes(5, 3),
        complexes(5, 3),
        tol=1e-4,
    )
    case("cmax", lambda a, b: (jnp.maximum(a, b), jnp.minimum(a, b)), complexes(5, 3), complexes(5, 3), tol=0)
    case(
        "movement",
        lambda a: (
            a.T,
            a.reshape(-1),
            jnp.flip(a, 0),
            jnp.pad(a, ((1, 2), (0, 1))),
            a[1:4:2],
            jnp.concatenate([a, a], 1),
            jnp.tile(a, (2, 1)),
            jnp.roll(a, 2, 0),
            jnp.expand_dims(a, 1),
        ),
        floats(5, 4),
        tol=0,
    )
    case("iota", lambda a: jnp.arange(10) + a, integers(10), tol=0)
    case("dot", lambda a, b: (a @ b, jnp.einsum("ij,kj->ik", a, b.T)), floats(5, 6), floats(6, 7))
    case("bdot", lambda a, b: jnp.einsum("bij,bjk->bik", a, b), floats(3, 5, 6), floats(3, 6, 7))
    case(
        "conv",
        lambda a, b: lax.conv_general_dilated(a, b, (1, 2), "SAME", feature_group_count=1),
        floats(2, 3, 8, 8),
        floats(4, 3, 3, 3),
        tol=1e-4,
    )
    case(
        "convdil",
        lambda a, b: lax.conv_general_dilated(
            a, b, (1, 1), ((1, 1), (2, 0)), lhs_dilation=(2, 1), rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        floats(2, 6, 7, 4),
        floats(3, 2, 4, 5),
        tol=1e-4,
    )
    case(
        "reduce",
        lambda a: (
            a.sum(0),
            a.max(1),
            a.min(),
            a.prod(1),
            a.mean(),
            a.std(1),
            jnp.any(a > 0, 1),
            jnp.all(a > 0),
            jnp.argmax(a, 1),
            jnp.argmin(a, 0),
        ),
        floats(6, 7),
        tol=1e-4,
    )
    case("cumsum", lambda a: (jnp.cumsum(a, 0), jnp.cumprod(a, 1), lax.cummax(a, 1)), floats(6, 7), tol=1e-4)
    case(
        "pool",
        lambda a: (
            lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID"),
            lax.reduce_window(a, 0.0, lax.add, (1, 3, 3), (1, 1, 1), "SAME"),
        ),
        floats(2, 6, 6),
        tol=1e-4,
    )
    case(
        "poolgrad",
        jax.grad(lambda a: (lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID") ** 2).sum()),
        floats(2, 6, 6),
        tol=1e-4,
    )
    case("sort", lambda a: (jnp.sort(a, 0), jnp.argsort(a, 1), lax.sort((a, a * 2), num_keys=2)[1]), floats(6, 7), tol=0)
    case("topk", lambda a: lax.top_k(a, 3), floats(4, 9), tol=0)
    case("gather", lambda a, i: (a[i], jnp.take(a, i, 1, mode="clip"), a[i, i % 4]), floats(9, 8), np.array([1, 3, 5, 7]), tol=0)
    case(
        "scatter",
        lambda a, i, u: (a.at[i].set(u), a.at[i].add(u), a.at[i].max(u), a.at[i].mul(u)),
        floats(9, 8),
        np.array([1, 3, 5, 7]),
        floats(4, 8),
    )
    case("segsum", lambda a, i: jax.ops.segment_sum(a, i, 5), floats(9, 3), np.array([0, 1, 1, 4, 2, 2, 0, 3, 4]))
    case(
        "dyn",
        lambda a, i: (lax.dynamic_slice(a, (i, i), (2, 3)), lax.dynamic_update_slice(a, a[:2, :2] * 2, (i, i + 1))),
        floats(6, 7),
        np.int32(2),
        tol=0,
    )
    case("while", lambda a: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * a + 0.1), (0, a)), floats(5))
    case(
        "whilecap",
        lambda a, n: lax.while_loop(lambda i: i < n, lambda i: i + jnp.int32(a[0] > -1e9), jnp.int32(0)),
        floats(5),
        np.int32(7),
        tol=0,
    )
    case("fori", lambda a: lax.fori_loop(0, 7, lambda i, c: c + jnp.sin(a) * i, a), floats(5))
    case(
        "scan", lambda a, w: lax.scan(lambda c, x: (jnp.tanh(c @ w + x), c.sum()), jnp.zeros(4, jnp.float32), a), floats(6, 4), floats(4, 4)
    )
    case("cond", lambda p, a, b: lax.cond(p, lambda v: v + a[0], lambda v: v * b[1], a[1]), np.bool_(True), floats(4, 4), floats(4, 4))
    case("switch", lambda i, a: lax.switch(i, [lambda x: x, lambda x: x * 2, lambda x: x - a.sum()], a), np.int32(2), floats(4))
    case(
        "nested",
        lambda a: lax.fori_loop(
            0, 3, lambda i, c: lax.cond(c[0] > 0, lambda v: lax.fori_loop(0, 2, lambda j, w: w * a + i, v), lambda v: v - 1, c), a
        ),
        floats(4),
    )
    case("grad", jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), floats(4, 5), floats(3, 4))
    case("hess", jax.hessian(lambda x: (jnp.sin(x) * x).sum()), floats(4))
    case("vmap", jax.vmap(lambda a, b: jnp.dot(a, b)), floats(5, 4), floats(5, 4))
    case("jvp", lambda a: jax.jvp(jnp.sin, (a,), (a,)), floats(4))
    case(
        "gradscan",
        jax.grad(lambda w, a: lax.scan(lambda c, x: (jnp.tanh(c @ w + x), c.sum()), jnp.zeros(4, jnp.float32), a)[1].sum()),
        floats(4, 4),
        floats(6, 4),
        tol=1e-4,
    )
    case(
        "softmax",
        lambda a: (jax.nn.softmax(a), jax.nn.log_softmax(a), jax.nn.gelu(a), jax.nn.relu(a), jax.nn.silu(a), jax.nn.elu(a)),
        floats(5, 6),
    )
    case("fft", lambda a: (jnp.fft.fft(a), jnp.fft.ifft(a), jnp.fft.fft2(a)), complexes(4, 8), tol=1e-4)
    case("rfft", lambda a: (jnp.fft.rfft(a), jnp.fft.irfft(jnp.fft.rfft(a))), floats(4, 8), tol=1e-4)
    A = floats(5, 5)
    S = (A @ A.T + 5 * np.eye(5)).astype(np.float32)
    case("chol", jnp.linalg.cholesky, S, tol=1e-4)
    case("solve", jnp.linalg.solve, S, floats(5, 2), tol=1e-4)
    case("inv", lambda a: (jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.slogdet(a)), S, tol=1e-3)
    case("qr", lambda a: jnp.linalg.qr(a), S, tol=1e-3)
    case("eigh", lambda a: jnp.linalg.eigh(a)[0], S, tol=1e-3)
    case("svd", lambda a: jnp.linalg.svd(a, compute_uv=False), floats(5, 4), tol=1e-3)
    case(
        "tri",
        lambda a, b: (
            sl.solve_triangular(a, b, lower=True),
            lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True),
        ),
        np.tril(S),
        floats(5, 2),
        tol=1e-4,
    )
    case("expm", sl.expm, floats(4, 4) * 0.3, tol=1e-3)
    case("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], floats(6, 3), floats(6), tol=1e-3)
    case(
        "random",
        lambda k: (
            jax.random.normal(k, (3, 4)),
            jax.random.uniform(k, (5,)),
            jax.random.randint(k, (4,), 0, 10),
            jax.random.permutation(k, 6),
            jax.random.bernoulli(k, 0.3, (7,)),
        ),
        jax.random.PRNGKey(0),
    )
    case(
        "randomg", lambda k: (jax.random.gamma(k, 2.0, (3,)), jax.random.categorical(k, jnp.zeros((3, 4)))), jax.random.PRNGKey(0), tol=1e-4
    )
    case(
        "rngbit",
        lambda k: lax.rng_bit_generator(k, (3, 4), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
        np.array([1, 2, 3, 4], np.uint32),
        tol=0,
    )
    case(
        "convert",
        lambda a: (
            a.astype(jnp.int8),
            a.astype(jnp.bfloat16).astype(jnp.float32),
            a.astype(jnp.float16),
            a.astype(jnp.float64),
            a.astype(bool),
            a.astype(jnp.uint8),
        ),
        floats(4, 5) * 10,
        tol=0,
    )
    case(
        "f8",
        lambda a: tuple(
            a.astype(t).astype(jnp.float32)
            for t in (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e4m3b11fnuz, jnp.float8_e5m2fnuz, jnp.float8_e4m3fnuz)
        ),
        floats(4, 5) * 10,
        tol=0,
    )
    case("bitcast", lambda a: (lax.bitcast_convert_type(a, jnp.int32), lax.bitcast_convert_type(a, jnp.uint8)), floats(4, 5), tol=0)
    case("redprec", lambda a: lax.reduce_precision(a, 5, 7), floats(4, 5), tol=0)
    case(
        "consts",
        lambda a: (
            a + np.arange(12, dtype=np.float32).reshape(3, 4),
            jnp.array([[True, False], [False, True]]),
            jnp.zeros((0, 3)),
            jnp.array(np.arange(40, dtype=np.complex64)),
            jnp.array([np.nan, np.inf, -0.0, 1e-45], jnp.float32),
            jnp.array([1.5, 2.25], jnp.bfloat16).astype(jnp.float32),
            jnp.array([3, -4], jnp.int4).astype(jnp.int32),
            jnp.array(np.tile([True, False, True], 30)),
        ),
        floats(3, 4),
        tol=0,
    )
    case("bigconst", lambda a: a @ np.asarray(random.standard_normal((64, 64)), np.float32), floats(3, 64), tol=1e-4)
    case("f64", lambda a: (jnp.sin(a), jnp.exp(a), a @ a.T, jnp.linalg.norm(a)), doubles(4, 5), tol=1e-12)
    case("remat", jax.grad(lambda w, x: jax.checkpoint(lambda z: jnp.sin(jnp.sin(z @ w)))(x).sum()), floats(4, 5), floats(3, 4))
    case("barrier", lambda a: lax.optimization_barrier((a * 2, a + 1)), floats(4))
    case("donate", jax.jit(lambda a, b: (a + 1, b * 2), donate_argnums=(0,)), floats(4), floats(4))
    case("empty", lambda a: (a + 1, a.sum()), floats(0, 3))
    case("interp", lambda x, xp, fp: jnp.interp(x, xp, fp), floats(5), np.sort(floats(8)), floats(8))
    case("unique", lambda a: jnp.unique(a, size=5), integers(9) % 4, tol=0)
    case("searchsorted", lambda a, b: jnp.searchsorted(a, b), np.sort(floats(20)), floats(5), tol=0)
    case("hist", lambda a: jnp.histogram(a, bins=5, range=(-2.0, 2.0))[0], floats(50), tol=0)
    case("median", lambda a: (jnp.median(a), jnp.percentile(a, 30.0), jnp.var(a)), floats(21))
    case("kron", lambda a, b: (jnp.kron(a, b), jnp.cross(a, a[::-1]), jnp.outer(a[0], b[0]), jnp.trace(a)), floats(3, 3), floats(3, 3))
    case("assoc", lambda a: lax.associative_scan(jnp.add, a), floats(9))
    case("polyval", lambda p, x: (jnp.polyval(p, x), jnp.convolve(p, x)), floats(4), floats(6))
    case("ragged", lambda a, b, g: lax.ragged_dot(a, b, g), floats(6, 4), floats(2, 4, 5), np.array([2, 4], np.int32), tol=1e-4)
    case("composite", lambda a: lax.composite(lambda x: jnp.sin(x) * 2, "my.op")(a), floats(4))
    case("named", lambda a: jax.jit(lambda x: jax.jit(lambda y: y * 3)(x) + 1)(a), floats(4))
    case("logsumexp", lambda a: (jax.nn.logsumexp(a, 1), jnp.logaddexp(a, a * 2)), floats(4, 5))

    def tb(x, p):
        def ln(x):
            return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

        h = ln(x)
        q, k, v = h @ p["q"], h @ p["k"], h @ p["v"]
        T = x.shape[0]
        q, k, v = (t.reshape(T, 2, -1) for t in (q, k, v))
        s = jnp.einsum("thd,shd->hts", q, k) / np.float32(2.0)
        s = jnp.where(jnp.tril(jnp.ones((T, T), bool)), s, -1e9)
        o = jnp.einsum("hts,shd->thd", jax.nn.softmax(s), v).reshape(T, -1)
        x = x + o @ p["o"]
        return x + jax.nn.gelu(ln(x) @ p["a"], approximate=False) @ p["b"]

    P = {k: floats(8, 8) * 0.3 for k in "qkvo"}
    P["a"] = floats(8, 16) * 0.3
    P["b"] = floats(16, 8) * 0.3
    case("transformer", tb, floats(5, 8), P, tol=1e-4)
    case("transformer_grad", jax.grad(lambda p, x: tb(x, p).sum()), P, floats(5, 8), tol=1e-3)

    def rb(p, x):
        dn = ("NHWC", "HWIO", "NHWC")
        h = lax.conv_general_dilated(x, p["a"], (1, 1), "SAME", dimension_numbers=dn)
        m = h.mean((0, 1, 2))
        v = h.var((0, 1, 2))
        h = jax.nn.relu((h - m) * lax.rsqrt(v + 1e-5))
        h = lax.conv_general_dilated(h, p["b"], (1, 1), "SAME", dimension_numbers=dn)
        return jax.nn.relu(h + x).sum()

    R = {"a": floats(3, 3, 4, 4) * 0.2, "b": floats(3, 3, 4, 4) * 0.2}
    case("resnet", rb, R, floats(2, 6, 6, 4), tol=1e-4)
    case("resnet_grad", jax.grad(rb), R, floats(2, 6, 6, 4), tol=1e-3)

    add_cases(case, floats, doubles, integers, complexes)
    add_loop_cases(case, floats, integers)
    return out


def further_cases():
    """The same; not in --brief."""
    out = []
    add_further_cases(
        lambda name, function, *arguments, tol=2e-5: out.append((name, function, arguments, tol)), floats, doubles, integers, complexes
    )
    return out


def symbolic_cases():
    """(name, function, sizes of its arguments, arguments of several sizes, tolerance[, what holds of the sizes]): one exported program
    serves all"""
    attention = lambda q, k: jax.nn.softmax(q @ k.T / np.float32(8) ** 0.5) @ k
    return [
        (
            "symbolic_mlp",
            lambda x, w: jax.nn.relu(x @ w).sum(0),
            ("b, 4", "4, 3"),
            [(floats(5, 4), floats(4, 3)), (floats(1, 4), floats(4, 3))],
            1e-4,
        ),
        ("symbolic_attention", attention, ("t, 8", "s, 8"), [(floats(3, 8), floats(5, 8)), (floats(7, 8), floats(2, 8))], 1e-4),
        (
            "symbolic_shapes",
            lambda x: (jnp.concatenate([x, x * 2]), x.reshape(-1), jnp.pad(x, 1), x[::2], jnp.arange(x.shape[0]) + x.shape[1]),
            ("2*a, b",),
            [(floats(4, 3),), (floats(2, 5),)],
            0,
        ),
        (
            "symbolic_conv",
            lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME"),
            ("b, 2, h, h", "3, 2, 3, 3"),
            [(floats(1, 2, 5, 5), floats(3, 2, 3, 3)), (floats(2, 2, 8, 8), floats(3, 2, 3, 3))],
            1e-4,
        ),
        ("symbolic_sort", lambda x: (jnp.sort(x, 0), jnp.cumsum(x), lax.top_k(x, 2)[1]), ("n + 1",), [(floats(9),), (floats(4),)], 1e-4),
        (
            "symbolic_scan",
            lambda x: lax.scan(lambda c, r: (c + r.sum(), c), jnp.float32(0), x),
            ("n, m",),
            [(floats(3, 2),), (floats(6, 4),)],
            1e-4,
        ),
        ("symbolic_grad", jax.grad(lambda x: (jnp.tanh(x) ** 2).mean()), ("a, b",), [(floats(3, 2),), (floats(1, 4),)], 1e-4),
    ]


# Left out of --brief: the longest.
LONG = """batched_linalg c128 complex_lin ctc igamma igamma_grad odeint optimize poly random64 random_gamma_grad randomg randoms resize
setops special special2 stats zeta zeta64""".split()


def forms(lowered, brief):
    yield "mlir", lowered.as_text().encode()
    yield "hlo", lowered.as_text(dialect="hlo").encode()
    if not brief:
        module = lowered.compiler_ir("stablehlo").operation
        yield "generic.mlir", module.get_asm(print_generic_op_form=True).encode()
        yield "debug.mlir", lowered.as_text(debug_info=True).encode()
        bytecode = io.BytesIO()
        module.write_bytecode(bytecode)
        yield "stablehlo.mlirbc", bytecode.getvalue()


def artifact(jitted, arguments):
    """What jax.export writes, or None where it refuses (custom calls that it does not promise to keep)."""
    try:
        return export.export(jitted)(*arguments).mlir_module_serialized
    except ValueError:
        return None


def unreadable(path):
    """Why jaxlib does not take a program, or None."""
    context = jax_mlir.make_ir_context()
    try:
        with context:
            if path.suffix == ".mlir":
                ir.Module.parse(path.read_text()).operation.verify()
            else:
                stablehlo.deserialize_portable_artifact(context, path.read_bytes()).operation.verify()
    except Exception as error:
        return f"{path.name}: jaxlib: {error}"
    return None


def difference(path, want, tol):
    """Why the results in a file are not those wanted, or None."""
    with np.load(path) as got:
        for k, w in enumerate(want):
            g = got.get(f"result_{k}")
            if g is None or g.shape != w.shape:
                return f"result_{k}: {None if g is None else g.shape} instead of {w.shape}"
            exact = w.dtype.kind not in "fc"
            if not (np.array_equal(g, w) if exact else np.allclose(g, w, rtol=tol, atol=tol, equal_nan=True)):
                return f"result_{k}: got {np.ravel(g)[:4]}, want {np.ravel(w)[:4]}"
    return None


def run_vxla(options, *words):
    """Why the command fails, or None."""
    try:
        run = subprocess.run([options.vxla, *map(str, words)], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return f"vxla {words[0]}: no answer in 300 s"
    if run.returncode != 0 or "one instruction at a time" in run.stderr:
        return f"vxla {words[0]}: exit {run.returncode}: {run.stderr.strip()[-300:]}"
    return None


# A check has two parts: JAX's, which writes the files and computes what is wanted, and vxla's, a function that returns why it fails or
# None. The second ones run at the same time as each other and as what follows of the first.


def prepare_symbolic(options, scratch, name, function, specs, sizes, tol, constraints=()):
    arguments = export.symbolic_args_specs(sizes[0], specs, constraints=constraints)
    exported = export.export(jax.jit(function))(*arguments)
    (scratch / "program.mlir").write_text(str(exported.mlir_module()))
    (scratch / "program.mlirbc").write_bytes(exported.mlir_module_serialized)
    runs = []
    for arguments in sizes:
        args = scratch / f"args{len(runs)}.npz"
        np.savez(args, **{f"arg_{k}": a for k, a in enumerate(arguments)})
        runs.append((args, [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*arguments))]))

    def judge():
        programs = [scratch / "program.mlir", scratch / "program.mlirbc"]
        for form in ["converted.mlir", "converted.mlirbc"] if not options.brief else []:
            programs.append(scratch / form)
            if reason := run_vxla(options, "convert", programs[1], programs[-1]) or unreadable(programs[-1]):
                return reason
        for program in programs:
            for args, want in runs:
                out = scratch / "out.npz"
                reason = run_vxla(options, "run", program, "--args", args, "-o", out, "--device", options.device)
                if reason := reason or difference(out, want, tol):
                    return f"{program.name}: {args.name}: {reason}"
        return None

    return judge


def prepare(options, scratch, name, function, arguments, tol):
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    lowered = jitted.lower(*arguments)
    args = scratch / "args.npz"
    np.savez(args, **{f"arg_{k}": np.asarray(a) for k, a in enumerate(jax.tree.leaves(arguments))})
    want = [np.asarray(r) for r in jax.tree.leaves(jitted(*arguments))]
    programs = []
    for form, content in forms(lowered, options.brief):
        programs.append(scratch / f"program.{form}")
        programs[-1].write_bytes(content)
    conversions = [(programs[0], "converted.hlo"), (programs[1], "converted.mlir"), (programs[1], "converted.mlirbc")]
    if (exported := artifact(jitted, arguments)) is not None:
        programs.append(scratch / "program.mlirbc")
        programs[-1].write_bytes(exported)
        conversions.append((programs[-1], "again.mlirbc"))
    if options.brief:
        conversions = []

    def judge():
        for source, form in conversions:
            target = scratch / form
            if reason := run_vxla(options, "convert", source, target) or (target.suffix != ".hlo" and unreadable(target)):
                return reason
            programs.append(target)
        for program in programs:
            out = scratch / "out.npz"
            reason = run_vxla(options, "run", program, "--args", args, "-o", out, "--device", options.device)
            if reason := reason or difference(out, want, tol):
                return f"{program.name}: {reason}"
        return None

    return judge


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vxla", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("-j", type=int, default=2, help="programs of vxla at a time")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    checks = [(prepare, case) for case in cases()] + [(prepare_symbolic, case) for case in symbolic_cases()]
    if not options.brief:
        checks += [(prepare, case) for case in further_cases()] + [(prepare_symbolic, case) for case in further_symbolic_cases(floats)]
    if options.names:
        checks = [(first, case) for first, case in checks if case[0] in options.names]
    elif options.brief:
        checks = [(first, case) for first, case in checks if case[0] not in LONG]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        os.environ["XDG_CACHE_HOME"] = scratch  # one form's kernels are another's
        judged = []
        for first, case in checks:
            folder = pathlib.Path(scratch) / case[0]
            folder.mkdir()
            judged.append((case[0], pool.submit(first(options, folder, *case))))
        for name, judge in judged:
            if reason := judge.result():
                failed += 1
                print(f"fail  {name}: {reason}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not checks else 0)


if __name__ == "__main__":
    main()
