"""What jax_programs.py runs beside its own: every element type, linear algebra, transforms, images, random numbers, control flow and
its derivatives, gathers and scatters, reductions, sparse products, optimizers and small simulations.
"""

import jax, jax.numpy as jnp, ml_dtypes, numpy as np
import jax.scipy.fft, jax.scipy.ndimage, jax.scipy.optimize, jax.scipy.signal, jax.scipy.sparse.linalg, jax.scipy.stats
import jax.scipy.linalg as sl
import jax.scipy.special as sp
from jax import lax
from jax.experimental import ode, sparse


def add_cases(case, floats, doubles, integers, complexes):
    """Calls case(name, function, arguments ..., tol=); floats(2, 3) and the like make an array."""
    r = np.random.default_rng(5)
    i8 = lambda *s: r.integers(-128, 127, s).astype(np.int8)
    u8 = lambda *s: r.integers(0, 255, s).astype(np.uint8)
    i16 = lambda *s: r.integers(-30000, 30000, s).astype(np.int16)
    i64 = lambda *s: r.integers(-(2**40), 2**40, s)
    u64 = lambda *s: r.integers(0, 2**63, s).astype(np.uint64)
    bl = lambda *s: r.random(s) < 0.5
    half = lambda *s: r.standard_normal(s).astype(np.float16)
    c128 = lambda *s: r.standard_normal(s) + 1j * r.standard_normal(s)
    bf = lambda *s: r.standard_normal(s).astype(np.float32).astype(ml_dtypes.bfloat16)
    case(
        "ints8",
        lambda a, b: (
            a + b,
            a * b,
            a // jnp.where(b == 0, 1, b),
            a & b,
            a.sum(),
            a.max(0),
            jnp.sort(a),
            a @ b.T,
            lax.shift_right_logical(a, jnp.int8(2)),
        ),
        i8(5, 6),
        i8(5, 6),
        tol=0,
    )
    case(
        "uints8",
        lambda a, b: (a + b, a * b, a // jnp.maximum(b, 1), a ^ b, a.sum(), a.min(1), jnp.flip(a), a.astype(jnp.float32)),
        u8(5, 6),
        u8(5, 6),
        tol=0,
    )
    case(
        "ints16",
        lambda a, b: (a - b, a * b, jnp.cumsum(a), lax.clz(a), jnp.abs(a), a.astype(jnp.int64).prod()),
        i16(5, 3),
        i16(5, 3),
        tol=0,
    )
    case(
        "ints64",
        lambda a, b: (
            a * b,
            a // b,
            a % b,
            a >> 3,
            a.sum(0),
            jnp.argsort(a[:, 0]),
            a @ b.T,
            lax.population_count(a),
            a.astype(jnp.float64),
        ),
        i64(4, 3),
        i64(4, 3),
        tol=0,
    )
    case("uints64", lambda a, b: (a * b, a // (b >> 30), a % (b >> 20), jnp.maximum(a, b), a.max()), u64(4, 3), u64(4, 3), tol=0)
    case(
        "int4", lambda a: (a.astype(jnp.int4).astype(jnp.int8), (a.astype(jnp.uint4) + jnp.uint4(3)).astype(jnp.uint8)), i8(4, 5) % 8, tol=0
    )
    case("int2", lambda a: (a.astype(jnp.int2).astype(jnp.int8), (a.astype(jnp.uint2)).astype(jnp.uint8)), i8(4, 5) % 2, tol=0)
    case(
        "f4",
        lambda a: tuple(a.astype(t).astype(jnp.float32) for t in (jnp.float4_e2m1fn, jnp.float8_e3m4, jnp.float8_e4m3, jnp.float8_e8m0fnu)),
        np.abs(floats(4, 5)) * 3,
        tol=0,
    )
    case(
        "f8dot",
        lambda a, b: lax.dot_general(
            a.astype(jnp.float8_e4m3fn), b.astype(jnp.float8_e5m2), (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32
        ),
        floats(4, 5),
        floats(5, 3),
        tol=1e-5,
    )
    case(
        "f16",
        lambda a, b: (a + b, a * b, jnp.sin(a), jnp.tanh(b), a.sum(), a @ b.T, jax.nn.softmax(a), jnp.sort(a), a.max(1)),
        half(5, 6),
        half(5, 6),
        tol=1e-2,
    )
    case(
        "bf16",
        lambda a, b: (
            (a + b).astype(jnp.float32),
            (a @ b.T).astype(jnp.float32),
            jnp.exp(a).astype(jnp.float32),
            jax.nn.softmax(a).astype(jnp.float32),
            a.astype(jnp.float32).sum(1),
            jnp.sort(a, 0).astype(jnp.float32),
        ),
        bf(5, 6),
        bf(5, 6),
        tol=3e-2,
    )
    case(
        "bool",
        lambda a, b: (
            a & b,
            a | b,
            ~a,
            a ^ b,
            a.any(0),
            a.all(1),
            a.sum(),
            jnp.where(a, 1, 2),
            jnp.cumsum(a),
            jnp.packbits(a),
            jnp.unpackbits(jnp.packbits(a)),
        ),
        bl(4, 8),
        bl(4, 8),
        tol=0,
    )
    case(
        "c128",
        lambda a, b: (
            a * b,
            a / b,
            a @ b.T,
            jnp.exp(a),
            jnp.sin(a),
            jnp.tanh(a),
            jnp.abs(a),
            jnp.angle(a),
            a.sum(0),
            a**2,
            jnp.power(a, b),
        ),
        c128(3, 4),
        c128(3, 4),
        tol=1e-10,
    )
    case(
        "complex_lin",
        lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.qr(a)[1].shape[0]),
        complexes(4, 4) + 3 * np.eye(4, dtype=np.complex64),
        complexes(4, 2),
        tol=1e-3,
    )
    case("lu", lambda a: lax.linalg.lu(a), floats(5, 5), tol=1e-4)
    case("lu_solve", lambda a, b: sl.lu_solve(sl.lu_factor(a), b), floats(5, 5) + 5 * np.eye(5, dtype=np.float32), floats(5, 2), tol=1e-4)
    case(
        "batched_linalg",
        lambda a: (
            jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2) + 4 * jnp.eye(4)),
            jnp.linalg.inv(a + 5 * jnp.eye(4)),
            jnp.linalg.det(a),
            jnp.linalg.norm(a, axis=(-2, -1)),
        ),
        floats(3, 4, 4).astype(np.float32),
        tol=1e-3,
    )
    case("svd_full", lambda a: (lambda u, s, v: (s, (u * s) @ v))(*jnp.linalg.svd(a, full_matrices=False)), floats(5, 3), tol=1e-3)
    case("eig_recon", lambda a: (lambda w, v: (v * w) @ v.T)(*jnp.linalg.eigh(a + a.T)), floats(5, 5), tol=1e-3)
    case("eigvals", lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), floats(4, 4), tol=1e-3)
    case("pinv", lambda a: (jnp.linalg.pinv(a), jnp.linalg.matrix_rank(a), jnp.linalg.cond(a)), floats(5, 3), tol=1e-3)
    case("matrix_power", lambda a: (jnp.linalg.matrix_power(a, 5), jnp.linalg.multi_dot([a, a, a])), floats(3, 3) * 0.5, tol=1e-4)
    case(
        "tridiag",
        lambda dl, d, du, b: lax.linalg.tridiagonal_solve(dl, d, du, b),
        floats(6),
        floats(6) + 5,
        floats(6),
        floats(6, 2),
        tol=1e-4,
    )
    case("schur", lambda a: (lambda t, z: z @ t @ z.T)(*sl.schur(a)), floats(4, 4), tol=1e-3)
    case("sqrtm", lambda a: jnp.real(sl.sqrtm(a @ a.T + jnp.eye(3))), floats(3, 3), tol=1e-3)
    case("cho_solve", lambda a, b: sl.cho_solve(sl.cho_factor(a @ a.T + 4 * jnp.eye(4)), b), floats(4, 4), floats(4, 2), tol=1e-3)
    case("grad_chol", jax.grad(lambda a: jnp.linalg.cholesky(a @ a.T + 4 * jnp.eye(4)).sum()), floats(4, 4), tol=1e-3)
    case("grad_solve", jax.grad(lambda a, b: jnp.linalg.solve(a + 5 * jnp.eye(4), b).sum()), floats(4, 4), floats(4, 2), tol=1e-3)
    case("grad_logdet", jax.grad(lambda a: jnp.linalg.slogdet(a + 5 * jnp.eye(4))[1]), floats(4, 4), tol=1e-3)
    case("grad_qr", jax.grad(lambda a: jnp.abs(jnp.linalg.qr(a)[1]).sum()), floats(5, 3), tol=1e-2)
    case(
        "fft_all",
        lambda a: (
            jnp.fft.fftn(a),
            jnp.fft.rfftn(a.real),
            jnp.fft.irfft2(jnp.fft.rfft2(a.real)),
            jnp.fft.hfft(a),
            jnp.fft.ihfft(a.real),
            jnp.fft.fftshift(a),
            jnp.fft.fftfreq(8),
        ),
        complexes(3, 4, 8),
        tol=1e-3,
    )
    case("fft_prime", lambda a: (jnp.fft.fft(a), jnp.fft.ifft(a)), complexes(3, 17), tol=1e-3)
    case("fft64", lambda a: (jnp.fft.fft(a), jnp.fft.rfft(a.real)), c128(3, 12), tol=1e-10)
    case("fft_grad", jax.grad(lambda a: jnp.abs(jnp.fft.fft(a)).sum()), floats(12), tol=1e-3)
    case("dct", lambda a: jax.scipy.fft.dct(a), floats(3, 8), tol=1e-3)
    case("stft", lambda a: jnp.abs(jax.scipy.signal.stft(a, nperseg=16)[2]), floats(64), tol=1e-3)
    case(
        "signal",
        lambda a, b: (jax.scipy.signal.fftconvolve(a, b), jax.scipy.signal.correlate(a, b), jax.scipy.signal.detrend(a)),
        floats(12),
        floats(5),
        tol=1e-3,
    )
    case("conv2", lambda a, b: jax.scipy.signal.convolve2d(a, b, mode="same"), floats(8, 9), floats(3, 3), tol=1e-4)
    case(
        "ndimage", lambda a, c: jax.scipy.ndimage.map_coordinates(a, c, 1, mode="nearest"), floats(6, 7), np.abs(floats(2, 9)) * 3, tol=1e-4
    )
    case(
        "resize",
        lambda a: (
            jax.image.resize(a, (8, 10, 3), "bilinear"),
            jax.image.resize(a, (3, 4, 3), "cubic"),
            jax.image.resize(a, (9, 9, 3), "nearest"),
            jax.image.resize(a, (7, 5, 3), "lanczos3"),
        ),
        floats(5, 6, 3),
        tol=1e-4,
    )
    case(
        "scale_translate",
        lambda a: jax.image.scale_and_translate(a, (8, 8), (0, 1), jnp.array([1.5, 0.7]), jnp.array([0.3, -0.2]), "linear"),
        floats(6, 6),
        tol=1e-4,
    )
    case(
        "key", lambda s: (jax.random.key_data(jax.random.split(jax.random.key(s))), jax.random.normal(jax.random.key(s), (5,))), np.int32(7)
    )
    case("rbg", lambda s: jax.random.uniform(jax.random.key(s, impl="rbg"), (5, 3)), np.uint32(7))
    case(
        "randoms",
        lambda k: (
            jax.random.exponential(k, (6,)),
            jax.random.laplace(k, (6,)),
            jax.random.gumbel(k, (6,)),
            jax.random.beta(k, 2.0, 3.0, (4,)),
            jax.random.dirichlet(k, jnp.ones(3), (2,)),
            jax.random.truncated_normal(k, -1.0, 1.0, (5,)),
            jax.random.t(k, 3.0, (4,)),
            jax.random.cauchy(k, (4,)),
            jax.random.choice(k, 10, (4,), replace=False),
            jax.random.poisson(k, 3.0, (5,)),
            jax.random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3)),
        ),
        jax.random.PRNGKey(3),
        tol=1e-3,
    )
    case(
        "random64",
        lambda k: (
            jax.random.normal(k, (5,), jnp.float64),
            jax.random.uniform(k, (5,), jnp.float16),
            jax.random.normal(k, (5,), jnp.complex64),
        ),
        jax.random.PRNGKey(3),
        tol=1e-3,
    )
    case(
        "scan_rev",
        lambda a: (
            lax.scan(lambda c, x: (c * 0.5 + x, c), jnp.zeros(3, jnp.float32), a, reverse=True),
            lax.scan(lambda c, x: (c + x, c), jnp.zeros(3, jnp.float32), a, unroll=2),
        ),
        floats(6, 3),
    )
    case("scan_none", lambda a: lax.scan(lambda c, _: (jnp.sin(c), None), a, None, length=9)[0], floats(6, 3))
    case(
        "scan_pytree",
        lambda a, b: lax.scan(
            lambda c, x: ({"k": c["k"] + x[0].sum(), "n": c["n"] + 1}, (c["k"], x[1] * 2)), {"k": jnp.float32(0), "n": jnp.int32(0)}, (a, b)
        ),
        floats(6, 3),
        integers(6),
        tol=1e-4,
    )
    case(
        "scan_nested",
        lambda a: lax.scan(lambda c, x: (lax.scan(lambda d, y: (d + y * c, d), c, x)[0], c), jnp.float32(0.1), a),
        floats(4, 5),
        tol=1e-4,
    )
    case(
        "lstm_grad",
        jax.grad(
            lambda w, xs: lax.scan(
                lambda hc, x: (
                    (lambda z: (jnp.tanh(jax.nn.sigmoid(z[:4]) * hc[1]), jax.nn.sigmoid(z[4:8]) * hc[1] + jnp.tanh(z[8:])))(
                        jnp.concatenate([x, hc[0]]) @ w
                    ),
                    hc[0],
                ),
                (jnp.zeros(4, jnp.float32), jnp.ones(4, jnp.float32)),
                xs,
            )[1].sum()
        ),
        floats(7, 12),
        floats(5, 3),
        tol=1e-3,
    )
    case(
        "while_cond",
        lambda x: lax.while_loop(
            lambda c: (c[1] < 20) & (c[0].sum() < 100), lambda c: (jnp.where(c[0] > 3, c[0] / 2, c[0] * 3), c[1] + 1), (x, 0)
        ),
        floats(4),
    )
    case("while_vmap", jax.vmap(lambda x: lax.while_loop(lambda c: c < 50, lambda c: c * 1.5 + 1, x)), np.abs(floats(5)))
    case("cond_vmap", jax.vmap(lambda p, x: lax.cond(p > 0, lambda v: v * 2, lambda v: v - 1, x)), floats(5), floats(5))
    case("cond_grad", jax.grad(lambda x: lax.cond(x.sum() > 0, lambda v: jnp.sin(v).sum(), lambda v: jnp.cos(v).prod(), x)), floats(5))
    case("switch_grad", jax.grad(lambda x, i: lax.switch(i, [jnp.sum, jnp.prod, lambda v: (v**3).sum()], x)), floats(5), np.int32(1))
    case(
        "switch_clamped",
        lambda i, a: (lax.switch(i, [lambda x: x, lambda x: x * 2], a), lax.switch(-i, [lambda x: x + 1, lambda x: x * 2], a)),
        np.int32(7),
        floats(3),
    )
    case("fori_dynamic", lambda n, a: lax.fori_loop(0, n, lambda i, c: c + a[i % 4], jnp.float32(0)), np.int32(9), floats(4))
    case("map", lambda a: lax.map(lambda r: jnp.sort(r) + r.sum(), a), floats(5, 4))
    case("jvp2", lambda x, t: jax.jvp(lambda y: jax.grad(lambda z: jnp.tanh(z).prod())(y), (x,), (t,)), floats(4), floats(4), tol=1e-4)
    case("vjp", lambda x, g: jax.vjp(lambda y: jnp.cumsum(jnp.sin(y)), x)[1](g), floats(5), floats(5))
    case("jacobians", lambda x: (jax.jacfwd(jnp.cumprod)(x), jax.jacrev(lambda y: jnp.outer(y, y))(x)), floats(4), tol=1e-4)

    @jax.custom_vjp
    def cl(x):
        return jnp.clip(x, -1, 1)

    cl.defvjp(lambda x: (cl(x), x), lambda x, g: (g * (jnp.abs(x) < 2),))
    case("custom_vjp", jax.grad(lambda x: (cl(x) ** 2).sum()), floats(6))

    @jax.custom_jvp
    def lse(x):
        return jnp.log(jnp.exp(x).sum())

    @lse.defjvp
    def _(p, t):
        return lse(*p), jax.nn.softmax(p[0]) @ t[0]

    case("custom_jvp", jax.value_and_grad(lse), floats(6))
    case(
        "checkpoint_policy",
        jax.grad(lambda w, x: jax.checkpoint(lambda a, b: jnp.sin(a @ b).sum(), policy=jax.checkpoint_policies.dots_saveable)(x, w)),
        floats(4, 3),
        floats(5, 4),
    )
    case("vmap_axes", jax.vmap(jax.vmap(lambda a, b: (a * b).sum(), (0, None)), (None, 1), 1), floats(3, 4), floats(4, 5))
    case("vmap_gather", jax.vmap(lambda a, i: a[i]), floats(4, 6), np.array([[0, 1], [2, 5], [3, 3], [-1, 9]]), tol=0)
    case("vmap_scatter", jax.vmap(lambda a, i, u: a.at[i].add(u)), floats(4, 6), np.array([[0, 1], [2, 5], [3, 3], [1, 4]]), floats(4, 2))
    case("vmap_dynslice", jax.vmap(lambda a, i: lax.dynamic_slice(a, (i,), (3,))), floats(4, 6), np.array([0, 2, 3, 9]), tol=0)
    case(
        "vmap_dynupdate",
        jax.vmap(lambda a, i, u: lax.dynamic_update_slice(a, u, (i,))),
        floats(4, 6),
        np.array([0, 2, 3, 9]),
        floats(4, 2),
        tol=0,
    )
    case("vmap_conv", jax.vmap(lambda a, b: jnp.convolve(a, b)), floats(3, 8), floats(3, 3), tol=1e-4)
    case(
        "scatter_modes",
        lambda a, i: (
            a.at[i].set(1.0, mode="drop"),
            a.at[i].add(1.0, mode="clip"),
            a.at[i].get(mode="fill", fill_value=-5.0),
            a.at[i].min(0.1),
            a.at[i].divide(2.0),
            a.at[i].power(2.0),
        ),
        floats(8),
        np.array([1, 9, -3, -12]),
    )
    case(
        "scatter_nd",
        lambda a, i, j: (a.at[i, :, j].set(7.0), a.at[:, i].add(2.0), a.at[i[:, None], j].multiply(3.0), a.at[..., 0].set(0)),
        floats(5, 6, 4),
        np.array([0, 2, 3]),
        np.array([1, 3, 0]),
    )
    case("scatter_apply", lambda a, i: a.at[i].apply(jnp.sin), floats(8), np.array([1, 3, 5]))
    case(
        "gather_nd",
        lambda a, i, j: (a[i, j], a[i[:, None], j], a[:, i, 0], a[..., j], jnp.take_along_axis(a, i[:, None, None], 0), a[::-2, 1:3]),
        floats(5, 6, 4),
        np.array([0, 2, 3]),
        np.array([1, 3, 0]),
        tol=0,
    )
    case("gather_grad", jax.grad(lambda a, i: (a[i] ** 2).sum()), floats(8, 3), np.array([1, 3, 3, 1]))
    case(
        "boolmask",
        lambda a, m: (
            jnp.where(m[:, None], a, 0),
            a.at[jnp.nonzero(m, size=3)].set(1.0),
            jnp.compress(m, a, 0, size=3),
            jnp.argwhere(m, size=3, fill_value=-1),
        ),
        floats(6, 2),
        np.array([True, False, True, True, False, False]),
    )
    case(
        "setops",
        lambda a, b: (
            jnp.isin(a, b),
            jnp.union1d(a, b, size=12),
            jnp.intersect1d(a, b, size=4),
            jnp.bincount(a % 5, length=5),
            jnp.digitize(a, jnp.array([-20, 0, 20])),
        ),
        integers(8),
        integers(8),
        tol=0,
    )
    case(
        "sorts",
        lambda a, k: (
            lax.sort((k, a), num_keys=1),
            jnp.lexsort((a, k)),
            jnp.partition(a, 3),
            jnp.argpartition(a, 3),
            jnp.sort(a, descending=True),
            jnp.sort_complex(a),
            lax.top_k(k, 4),
            lax.approx_max_k(a, 3),
        ),
        floats(12),
        integers(12) % 3,
        tol=0,
    )
    case(
        "sort_nan",
        lambda a: (
            jnp.sort(a),
            jnp.argsort(a),
            jnp.nanmax(a),
            jnp.nanmean(a),
            jnp.nanargmin(a),
            jnp.nan_to_num(a),
            jnp.isnan(a),
            jnp.isfinite(a),
        ),
        np.array([1, np.nan, -np.inf, 0.0, -0.0, np.inf, np.nan, -3], np.float32),
        tol=0,
    )
    case(
        "stats",
        lambda a: (
            jax.scipy.stats.norm.cdf(a),
            jax.scipy.stats.norm.logpdf(a),
            jax.scipy.stats.rankdata(a),
            jax.scipy.stats.mode(jnp.round(a)).mode,
            jnp.cov(a),
            jnp.corrcoef(a),
            jnp.quantile(a, jnp.array([0.1, 0.5, 0.9]), axis=1),
        ),
        floats(4, 9),
        tol=1e-4,
    )
    case(
        "special",
        lambda a: (
            sp.expit(a),
            sp.logit(jnp.abs(a) / 5),
            sp.xlogy(a, jnp.abs(a)),
            sp.entr(jnp.abs(a)),
            sp.i0(a),
            sp.ndtr(a),
            sp.ndtri(jnp.abs(a) / 5),
            sp.log_ndtr(a),
            sp.multigammaln(jnp.abs(a) + 3, 2),
            sp.betaln(jnp.abs(a) + 1, 2.0),
            sp.factorial(jnp.abs(a)),
            sp.exp1(jnp.abs(a) + 0.1),
            sp.expi(a),
        ),
        floats(9),
        tol=1e-3,
    )
    case(
        "special2",
        lambda a: (
            sp.spence(jnp.abs(a)),
            sp.sph_harm_y(jnp.array([1]), jnp.array([2]), jnp.array([0.3]), jnp.array([0.5]), n_max=3),
            sp.bernoulli(4),
            sp.hyp1f1(1.5, 2.5, jnp.abs(a)),
            sp.kl_div(jnp.abs(a), jnp.abs(a) + 1),
        ),
        floats(6),
        tol=1e-3,
    )
    case("bessels", lambda a: (sp.i1(a), sp.i1e(a), sp.i0e(a), jax.grad(lambda v: sp.i1e(v).sum())(a)), doubles(7), tol=1e-9)
    case("igamma_grad", jax.grad(lambda a, x: sp.gammainc(a, x).sum()), np.abs(floats(5)) + 0.5, np.abs(floats(5)), tol=1e-3)
    case("random_gamma_grad", jax.grad(lambda a: jax.random.gamma(jax.random.PRNGKey(0), a).sum()), np.abs(floats(3)) + 0.5, tol=1e-3)
    case(
        "einsums",
        lambda a, b: (
            jnp.einsum("bij,bkj->bik", a, b),
            jnp.einsum("bii->bi", a[:, :3, :3]),
            jnp.einsum("bij->", a),
            jnp.einsum("bij,cij->bc", a, b),
            jnp.tensordot(a, b, ((1, 2), (1, 2))),
            jnp.inner(a[0], b[0]),
            jnp.vdot(a, b),
        ),
        floats(3, 4, 5),
        floats(3, 4, 5),
        tol=1e-4,
    )
    case(
        "dots_precision",
        lambda a, b: (
            lax.dot(a, b, precision="highest"),
            lax.dot(a, b, preferred_element_type=jnp.float64),
            lax.dot(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
        ),
        floats(4, 5),
        floats(5, 6),
        tol=1e-4,
    )
    case(
        "dot_algorithm",
        # Those that keep nearly all of f32: JAX on CPUs computes in f32 whatever is asked for.
        lambda a, b: tuple(
            lax.dot_general(a, b, (((1,), (0,)), ((), ())), precision=preset, preferred_element_type=jnp.float32)
            for preset in (
                lax.DotAlgorithmPreset.F32_F32_F32,
                lax.DotAlgorithmPreset.F64_F64_F64,
                lax.DotAlgorithmPreset.BF16_BF16_F32_X3,
                lax.DotAlgorithmPreset.BF16_BF16_F32_X6,
            )
        ),
        floats(4, 5),
        floats(5, 6),
        tol=3e-4,
    )
    case(
        "convs",
        lambda a, k, d: (
            lax.conv(a, k, (1, 1), "VALID"),
            lax.conv_transpose(a.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), (2, 2), "SAME"),
            lax.conv_general_dilated(a, d, (1, 1), "SAME", feature_group_count=3),
            lax.conv_general_dilated(a, k, (2, 1), ((2, -1), (0, 3))),
        ),
        floats(2, 3, 8, 7),
        floats(4, 3, 3, 3),
        floats(6, 1, 3, 3),
        tol=1e-4,
    )
    case(
        "conv_grads",
        jax.grad(lambda k, a: (lax.conv_general_dilated(a, k, (2, 2), "SAME", rhs_dilation=(2, 1)) ** 2).sum(), argnums=(0, 1)),
        floats(4, 3, 3, 3),
        floats(2, 3, 8, 8),
        tol=1e-3,
    )
    case(
        "conv_batchgroup",
        lambda a, k: lax.conv_general_dilated(a, k, (1, 1), "SAME", batch_group_count=2),
        floats(4, 3, 6, 6),
        floats(4, 3, 3, 3),
        tol=1e-4,
    )
    case(
        "conv1d3d",
        lambda a, k, b, m: (lax.conv_general_dilated(a, k, (2,), "SAME"), lax.conv_general_dilated(b, m, (1, 1, 1), "VALID")),
        floats(2, 3, 9),
        floats(4, 3, 3),
        floats(1, 2, 4, 5, 6),
        floats(3, 2, 2, 2, 2),
        tol=1e-4,
    )
    case("conv_patches", lambda a: lax.conv_general_dilated_patches(a, (2, 2), (1, 1), "VALID"), floats(2, 3, 5, 5), tol=1e-4)
    case(
        "pools",
        lambda a: (
            lax.reduce_window(a, np.float32(1), lax.mul, (2, 3), (1, 2), "SAME"),
            lax.reduce_window(a, np.float32(np.inf), lax.min, (2, 2), (2, 2), "VALID", base_dilation=(2, 1), window_dilation=(1, 2)),
            lax.cumlogsumexp(a, 1),
            lax.cummin(a, 0, reverse=True),
        ),
        floats(6, 8),
        tol=1e-4,
    )
    case(
        "pool_variadic",
        lambda a, i: lax.reduce_window(
            (a, i),
            (jnp.float32(-jnp.inf), jnp.int32(-1)),
            lambda x, y: (jnp.where(x[0] >= y[0], x[0], y[0]), jnp.where(x[0] >= y[0], x[1], y[1])),
            (2, 2),
            (2, 2),
            "VALID",
        ),
        floats(6, 8),
        np.arange(48, dtype=np.int32).reshape(6, 8),
    )
    case(
        "reduce_variadic",
        lambda a, i: lax.reduce(
            (a, i),
            (jnp.float32(-jnp.inf), jnp.int32(-1)),
            lambda x, y: (jnp.where(x[0] >= y[0], x[0], y[0]), jnp.where(x[0] >= y[0], x[1], y[1])),
            (1,),
        ),
        floats(6, 8),
        np.arange(48, dtype=np.int32).reshape(6, 8),
    )
    case("reduce_general", lambda a: lax.reduce(a, jnp.float32(1), lambda x, y: x * y + x + y, (0,)), floats(4, 3), tol=1e-3)
    case(
        "reduce_ops",
        lambda a, b: (
            lax.reduce_and(a, (0,)),
            lax.reduce_or(a, (1,)),
            lax.reduce_xor(a, (0,)),
            lax.argmax(b, 0, jnp.int32),
            lax.reduce_precision(b, 8, 3),
            jnp.ptp(b),
            jnp.count_nonzero(a > 0),
        ),
        integers(4, 5),
        floats(4, 5),
        tol=1e-6,
    )
    case(
        "avgpool_grad",
        jax.grad(lambda a: (lax.reduce_window(a, 0.0, lax.add, (1, 2, 2), (1, 2, 2), "VALID") ** 2).sum()),
        floats(2, 6, 6),
        tol=1e-4,
    )
    case(
        "maxpool_grad_same",
        jax.grad(lambda a: (lax.reduce_window(a, -jnp.inf, lax.max, (3, 3), (2, 2), "SAME") ** 2).sum()),
        floats(7, 6),
        tol=1e-4,
    )
    case(
        "shapes",
        lambda a: (
            jnp.pad(a, 2, mode="reflect"),
            jnp.pad(a, 1, mode="edge"),
            jnp.pad(a, 2, mode="wrap"),
            lax.pad(a, np.float32(0), ((1, -1, 2), (-1, 2, 0))),
            jnp.rot90(a),
            jnp.repeat(a, 2, 1),
            jnp.stack([a, a], -1),
            jnp.split(a, [1, 2]),
            jnp.tril(a),
            jnp.diag(a[:, 0]),
            jnp.moveaxis(a, 0, 1),
            jnp.ravel(a),
            jnp.meshgrid(a[0], a[1]),
        ),
        floats(4, 5),
        tol=0,
    )
    case(
        "rank6",
        lambda a: (a.transpose(5, 3, 1, 0, 2, 4), a.sum((0, 2, 4)), a[:, 1, ::-1], a.reshape(4, -1)),
        floats(2, 2, 2, 3, 1, 2),
        tol=1e-5,
    )
    case(
        "empties",
        lambda a, b: (jnp.concatenate([a, b]), a @ b.T, a.sum(0), jnp.sort(a), a[..., None] + 1, jnp.prod(a)),
        np.zeros((0, 3), np.float32),
        floats(2, 3),
    )
    case(
        "scalars",
        lambda a, b: (a + b, jnp.sin(a), jnp.maximum(a, b), a.reshape(1, 1), lax.cond(a > b, lambda: a, lambda: b)),
        np.float32(0.5),
        np.float32(1.5),
    )
    case(
        "nums",
        lambda a, b: (
            jnp.floor_divide(a, b),
            jnp.remainder(a, b),
            jnp.fmod(a, b),
            jnp.divmod(a, b),
            jnp.hypot(a, b),
            jnp.arctan2(a, b),
            jnp.copysign(a, b),
            jnp.ldexp(a, 3),
            jnp.frexp(a),
            jnp.modf(a),
            jnp.heaviside(a, b),
            jnp.float_power(jnp.abs(a), b),
            jnp.logaddexp2(a, b),
            jnp.sinc(a),
            jnp.trunc(a),
            jnp.rint(a),
            jnp.gcd(jnp.int32(12), jnp.int32(18)),
            jnp.lcm(jnp.int32(4), jnp.int32(6)),
            jnp.signbit(a),
            jnp.exp2(a),
            jnp.log2(jnp.abs(a)),
            jnp.log10(jnp.abs(a)),
        ),
        floats(7),
        floats(7),
        tol=1e-4,
    )
    case(
        "powers",
        lambda a, b: (
            a**3,
            a**-2,
            jnp.abs(a) ** 0.5,
            jnp.power(jnp.abs(a), b),
            lax.integer_pow(a, 7),
            jnp.square(a),
            jnp.reciprocal(a),
            lax.pow(jnp.abs(a), jnp.int32(3)),
        ),
        floats(7),
        floats(7),
        tol=1e-4,
    )
    case(
        "poly",
        lambda a, b: (
            jnp.polyfit(a, b, 2),
            jnp.polymul(a, b),
            jnp.roots(jnp.array([1.0, -6.0, 11.0, -6.0]), strip_zeros=False).real.sum(),
            jnp.vander(a, 3),
            jnp.trapezoid(a, b),
            jnp.gradient(a),
            jnp.diff(a, 2),
            jnp.ediff1d(a),
            jnp.unwrap(a),
        ),
        floats(6),
        floats(6),
        tol=2e-2,
    )
    case(
        "activations",
        lambda a: (
            jax.nn.swish(a),
            jax.nn.softplus(a),
            jax.nn.mish(a),
            jax.nn.hard_tanh(a),
            jax.nn.glu(a),
            jax.nn.selu(a),
            jax.nn.celu(a),
            jax.nn.squareplus(a),
            jax.nn.standardize(a),
            jax.nn.one_hot(jnp.argmax(a, 1), 6),
            jax.nn.log_sigmoid(a),
            jax.nn.relu6(a),
            jax.nn.gelu(a),
        ),
        floats(5, 6),
        tol=1e-4,
    )
    case(
        "attention",
        lambda q, k, v: (jax.nn.dot_product_attention(q, k, v, is_causal=True), jax.nn.dot_product_attention(q, k, v, scale=0.3)),
        floats(2, 5, 4, 8),
        floats(2, 5, 2, 8),
        floats(2, 5, 2, 8),
        tol=1e-4,
    )
    case("attention_bf16", lambda q: jax.nn.dot_product_attention(q, q, q).astype(jnp.float32), bf(2, 5, 4, 8), tol=3e-2)
    S0 = np.where(r.random((5, 6)) < 0.4, 1.5, 0).astype(np.float32)
    nse = int((S0 != 0).sum())
    case(
        "sparse",
        lambda a, b: (
            sparse.BCOO.fromdense(a, nse=nse) @ b,
            (sparse.BCOO.fromdense(a, nse=nse).T @ b[:5]),
            sparse.BCOO.fromdense(a, nse=nse).todense(),
        ),
        S0,
        floats(6, 3),
        tol=1e-4,
    )
    case(
        "segments",
        lambda a, i: (jax.ops.segment_max(a, i, 5), jax.ops.segment_min(a, i, 5), jax.ops.segment_prod(a, i, 5, indices_are_sorted=False)),
        floats(9, 3),
        np.array([0, 1, 1, 4, 2, 2, 0, 3, 4]),
    )
    case("optimize", lambda x: jax.scipy.optimize.minimize(lambda v: ((v - 1.5) ** 2).sum(), x, method="BFGS").x, floats(3), tol=1e-3)
    case(
        "cg",
        lambda a, b: jax.scipy.sparse.linalg.cg(lambda v: (a @ a.T + 5 * jnp.eye(5, dtype=jnp.float32)) @ v, b)[0],
        floats(5, 5),
        floats(5),
        tol=1e-3,
    )
    case("odeint", lambda y: ode.odeint(lambda y, t: -y, y, jnp.array([0.0, 0.5, 1.0])), floats(3), tol=1e-4)
    case(
        "adam",
        lambda p, g, m, v: (lambda m2, v2: (p - 1e-2 * (m2 / (1 - 0.9)) / (jnp.sqrt(v2 / (1 - 0.999)) + 1e-8), m2, v2))(
            0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        ),
        floats(4, 5),
        floats(4, 5),
        floats(4, 5),
        np.abs(floats(4, 5)),
        tol=1e-4,
    )
    case(
        "mandel",
        lambda c: lax.fori_loop(
            0,
            20,
            lambda i, zn: (lambda z, n: (jnp.where(jnp.abs(z) < 4, z * z + c, z), n + (jnp.abs(z) < 2)))(*zn),
            (c, jnp.zeros(c.shape, jnp.int32)),
        )[1],
        complexes(4, 5),
        tol=0,
    )
    case(
        "life",
        lambda a: lax.fori_loop(
            0,
            4,
            lambda i, g: (lambda n: ((n == 3) | ((g == 1) & (n == 2))).astype(jnp.int32))(
                sum(jnp.roll(g, (x, y), (0, 1)) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0))
            ),
            a,
        ),
        (r.random((8, 8)) < 0.4).astype(np.int32),
        tol=0,
    )
    case(
        "kalman",
        lambda F, P, z: lax.scan(
            lambda s, o: (
                (
                    F @ s[0]
                    + (F @ s[1] @ F.T + jnp.eye(3, dtype=jnp.float32))
                    @ jnp.linalg.inv(F @ s[1] @ F.T + 2 * jnp.eye(3, dtype=jnp.float32))
                    @ (o - F @ s[0]),
                    F @ s[1] @ F.T * 0.5,
                ),
                s[0],
            ),
            (jnp.zeros(3, jnp.float32), P),
            z,
        ),
        floats(3, 3) * 0.5,
        np.eye(3, dtype=np.float32),
        floats(6, 3),
        tol=1e-3,
    )
    case(
        "viterbi",
        lambda t, e: lax.scan(lambda s, o: ((s[:, None] + t).max(0) + o, (s[:, None] + t).argmax(0)), e[0], e[1:]),
        floats(4, 4),
        floats(6, 4),
        tol=1e-4,
    )
    case(
        "hash",
        lambda a: lax.fori_loop(
            0, 8, lambda i, h: ((h << jnp.uint32(5)) ^ (h >> jnp.uint32(27)) ^ a[i]) * jnp.uint32(2654435761), jnp.uint32(17)
        ),
        r.integers(0, 2**32, 8).astype(np.uint32),
        tol=0,
    )
    case(
        "batchnorm_train",
        lambda x, g, b: (lambda m, v: ((x - m) / jnp.sqrt(v + 1e-5) * g + b, m, v))(x.mean((0, 1, 2)), x.var((0, 1, 2))),
        floats(2, 4, 4, 3),
        floats(3),
        floats(3),
        tol=1e-4,
    )
    case("ctc", lambda a: jax.nn.logsumexp(lax.associative_scan(jnp.logaddexp, a, axis=0), 0), floats(6, 3), tol=1e-4)
    case("assoc_matmul", lambda a: lax.associative_scan(jnp.matmul, a), floats(5, 3, 3), tol=1e-3)
    case(
        "assoc_rev",
        lambda a, b: lax.associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b), reverse=True),
        floats(9),
        floats(9),
        tol=1e-3,
    )
    case("pmap_free", lambda a: jax.named_call(lambda x: x * 2, name="f")(a), floats(4))
    case("inline", lambda a: jax.jit(lambda x: x + 1, inline=True)(a) * jax.jit(jnp.sin)(a), floats(4))
    case("eval", lambda a: jnp.vectorize(lambda x, y: x @ y, signature="(n),(n)->()")(a, a), floats(4, 3), tol=1e-4)
    case(
        "piecewise",
        lambda a: (
            jnp.piecewise(a, [a < 0, a >= 0], [lambda x: -x, lambda x: x * 2]),
            jnp.select([a < -1, a > 1], [a, a * 2], 7.0),
            jnp.choose(jnp.array([0, 1, 1]), [a[:3], a[3:6]], mode="clip"),
        ),
        floats(6),
    )
    case("dtype_mix", lambda a, b, c: (a + b, a * c, b + c, a // 2, b / 3, jnp.int8(3) + a), integers(4), i8(4), floats(4))
    case(
        "clip_out",
        lambda a: (a.astype(jnp.int8), a.astype(jnp.uint32), a.astype(jnp.int64), jnp.float32(3.7).astype(int)),
        np.abs(floats(5)) * 20,
        tol=0,
    )
    case(
        "bitcasts",
        lambda a, b: (
            lax.bitcast_convert_type(a, jnp.float16),
            lax.bitcast_convert_type(b, jnp.int64),
            a.view(jnp.uint16),
            lax.bitcast_convert_type(lax.bitcast_convert_type(a, jnp.uint8), jnp.float32),
        ),
        floats(4),
        doubles(4),
        tol=0,
    )
    case("big_gather", lambda e, i: (e[i] * 2).sum(1), floats(100, 8), r.integers(0, 100, (4, 5)), tol=1e-4)
    case(
        "ragged2",
        lambda a, b, g: lax.ragged_dot(a, b, g, preferred_element_type=jnp.float32),
        floats(6, 4),
        floats(3, 4, 5),
        np.array([2, 0, 4], np.int32),
        tol=1e-4,
    )
    case(
        "clamp",
        lambda a: (
            lax.clamp(np.float32(-0.5), a, np.float32(0.5)),
            lax.nextafter(a, a + 1),
            lax.square(a),
            lax.is_finite(a),
            lax.select_n(a > 0, a, -a),
            lax.expand_dims(a, (1,)),
            lax.full_like(a, 3),
            lax.tan(a),
            lax.rem(a, a + 3),
        ),
        floats(6),
        tol=1e-4,
    )
    case(
        "mul_high",
        lambda a: (a.astype(jnp.int64) * a.astype(jnp.int64) >> 32, jnp.bitwise_count(a), jnp.invert(a), jnp.left_shift(a, 3)),
        integers(6),
        tol=0,
    )
    case("wide", lambda *a: sum(a), *[floats(3) for _ in range(40)], tol=1e-4)
    case("tree", lambda t: jax.tree.map(lambda x: x * 2, t), {"a": floats(2), "b": [floats(3), (floats(1), integers(2))]})
    case("const_out", lambda a: (jnp.float32(3), a, jnp.arange(4)), floats(2))
    case("dup_out", lambda a: (a, a, a + 1, a), floats(2))
