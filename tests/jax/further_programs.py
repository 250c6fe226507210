"""What jax_programs.py runs in full only: images, signals, statistics, odd einsums, sorts by several keys, batched loops, derivatives of
transforms, narrow types, dynamic programming, parts of models, and symbolic shapes with constraints.
"""

import jax, jax.numpy as jnp, ml_dtypes, numpy as np
import jax.scipy.linalg as sl, jax.scipy.signal, jax.scipy.stats, jax.scipy.spatial.transform, jax.scipy.integrate, jax.scipy.interpolate, jax.scipy.cluster.vq
import jax.scipy.special as sp
from jax import lax


def add_further_cases(case, floats, doubles, integers, complexes):
    r = np.random.default_rng(11)
    bf = lambda *s: r.standard_normal(s).astype(np.float32).astype(ml_dtypes.bfloat16)
    half = lambda *s: r.standard_normal(s).astype(np.float16)
    pos = lambda *s: np.abs(r.standard_normal(s)).astype(np.float32) + np.float32(0.1)
    case(
        "image_resizes",
        lambda a: (
            jax.image.resize(a, (7, 9, 2), "lanczos3"),
            jax.image.resize(a, (3, 2, 2), "cubic", antialias=False),
            jax.image.resize(a, (10, 4, 2), "nearest"),
            jax.image.resize(a, (2, 3, 2), "linear"),
        ),
        floats(5, 6, 2),
        tol=1e-4,
    )
    case("image_grad", jax.grad(lambda a: (jax.image.resize(a, (7, 3), "bilinear") ** 2).sum()), floats(4, 5), tol=1e-4)
    case(
        "map_coordinates",
        lambda a, y, x: (
            jax.scipy.ndimage.map_coordinates(a, [y, x], order=1, mode="nearest"),
            jax.scipy.ndimage.map_coordinates(a, [y, x], order=0, mode="wrap"),
            jax.scipy.ndimage.map_coordinates(a, [y, x], order=1, mode="constant", cval=7.0),
            jax.scipy.ndimage.map_coordinates(a, [y, x], order=1, mode="mirror"),
            jax.scipy.ndimage.map_coordinates(a, [y, x], order=1, mode="reflect"),
        ),
        floats(6, 7),
        floats(9) * 4,
        floats(9) * 4,
        tol=1e-3,
    )
    case(
        "signal_more",
        lambda a, b: (
            jax.scipy.signal.fftconvolve(a, b, "same"),
            jax.scipy.signal.correlate(a, b, "full"),
            jax.scipy.signal.detrend(a),
            jax.scipy.signal.convolve(a, b, "valid"),
        ),
        floats(16),
        floats(5),
        tol=1e-3,
    )
    case("welch", lambda a: jax.scipy.signal.welch(a, nperseg=16)[1], floats(64), tol=1e-3)
    case("csd_istft", lambda a: jax.scipy.signal.istft(jax.scipy.signal.stft(a, nperseg=16)[2], nperseg=16)[1], floats(64), tol=1e-3)
    case(
        "logpdfs",
        lambda a, p: (
            jax.scipy.stats.norm.logcdf(a),
            jax.scipy.stats.norm.ppf(lax.logistic(a)),
            jax.scipy.stats.gamma.logpdf(p, 2.0),
            jax.scipy.stats.beta.logpdf(lax.logistic(a), 2.0, 3.0),
            jax.scipy.stats.t.logpdf(a, 4.0),
            jax.scipy.stats.poisson.logpmf(jnp.floor(p * 4), 2.5),
            jax.scipy.stats.laplace.cdf(a),
            jax.scipy.stats.cauchy.cdf(a),
            jax.scipy.stats.logistic.sf(a),
            jax.scipy.stats.expon.logpdf(p),
            jax.scipy.stats.dirichlet.logpdf(jnp.array([0.2, 0.3, 0.5]), jnp.array([1.0, 2.0, 3.0])),
            jax.scipy.stats.multivariate_normal.logpdf(a[:3], jnp.zeros(3), jnp.eye(3) * 2),
        ),
        floats(6),
        pos(6),
        tol=1e-3,
    )
    case(
        "stats_more",
        lambda a, b: (
            jax.scipy.stats.rankdata(a),
            jax.scipy.stats.mode(jnp.floor(a))[0],
            jax.scipy.stats.sem(a),
            jax.scipy.stats.gaussian_kde(a)(b),
            jnp.corrcoef(a, b),
            jnp.cov(a, b),
        ),
        floats(8),
        floats(8),
        tol=1e-3,
    )
    case(
        "quantiles",
        lambda a: (
            jnp.quantile(a, jnp.array([0.1, 0.5, 0.9]), axis=0),
            jnp.nanmedian(a, 1),
            jnp.nanpercentile(a, 40.0),
            jnp.quantile(a, 0.3, method="nearest"),
            jnp.quantile(a, 0.3, method="higher"),
        ),
        np.where(r.random((7, 6)) < 0.1, np.nan, r.standard_normal((7, 6))).astype(np.float32),
        tol=1e-4,
    )
    case(
        "nan_reductions",
        lambda a: (
            jnp.nansum(a, 0),
            jnp.nanmax(a, 1),
            jnp.nanargmin(a),
            jnp.nanmean(a),
            jnp.nanstd(a),
            jnp.nancumsum(a, 1),
            jnp.nan_to_num(a),
        ),
        np.where(r.random((5, 6)) < 0.2, np.nan, r.standard_normal((5, 6))).astype(np.float32),
        tol=1e-4,
    )
    case(
        "trapz_spline",
        lambda x, y: (jax.scipy.integrate.trapezoid(y, x), jax.scipy.interpolate.RegularGridInterpolator((x,), y)(jnp.array([0.3, 1.2]))),
        np.linspace(0, 2, 6, dtype=np.float32),
        floats(6),
        tol=1e-4,
    )
    case("rotations", lambda q: jax.scipy.spatial.transform.Rotation.from_quat(q).as_matrix(), floats(3, 4), tol=1e-4)
    case("vq", lambda o, c: jax.scipy.cluster.vq.vq(o, c), floats(9, 3), floats(4, 3), tol=1e-4)
    case(
        "linalg_more",
        lambda a, b: (
            jnp.linalg.cond(a),
            jnp.linalg.matrix_rank(a),
            jnp.linalg.multi_dot([a, b, a]),
            jnp.linalg.norm(a, "nuc"),
            jnp.linalg.norm(a, 2),
            jnp.linalg.tensorsolve(jnp.eye(4).reshape(2, 2, 2, 2), b[:2, :2]),
        ),
        floats(4, 4),
        floats(4, 4),
        tol=1e-3,
    )
    case(
        "polar_like",
        lambda a: (
            sl.toeplitz(a[0]),
            sl.block_diag(a, a[:2]),
            sl.hilbert(4),
            jnp.linalg.vander(a[0]) if hasattr(jnp.linalg, "vander") else jnp.vander(a[0]),
        ),
        floats(3, 3),
        tol=1e-4,
    )
    case("eigh_grad", jax.grad(lambda a: jnp.linalg.eigh(a + a.T)[0][-1]), floats(4, 4), tol=1e-3)
    case("svd_grad", jax.grad(lambda a: jnp.linalg.svd(a, compute_uv=False).sum()), floats(4, 3), tol=1e-3)
    case("expm_grad", jax.grad(lambda a: sl.expm(a).sum()), floats(3, 3) * 0.2, tol=1e-3)
    case(
        "fft_grads",
        jax.grad(lambda a: (jnp.abs(jnp.fft.rfft2(a)) ** 2).sum() + (jnp.fft.irfft(jnp.fft.rfft(a[0])) ** 3).sum()),
        floats(4, 6),
        tol=1e-3,
    )
    case(
        "fft_shift_freq",
        lambda a: (
            jnp.fft.fftshift(a),
            jnp.fft.ifftshift(a, 1),
            jnp.fft.fftn(a, axes=(0, 1)),
            jnp.fft.hfft(a[0]),
            jnp.fft.ihfft(a[0].real),
            jnp.fft.fft(a, n=7, norm="ortho"),
            jnp.fft.rfftfreq(8),
        ),
        complexes(5, 6),
        tol=1e-3,
    )
    case(
        "multi_key_sort",
        lambda a, b, c: (
            lax.sort((a, b, c), num_keys=2),
            lax.sort((b, a), dimension=0, num_keys=1, is_stable=True),
            jnp.lexsort((b, a)),
            jnp.argsort(-a, stable=True),
        ),
        integers(12) // 20,
        floats(12),
        np.arange(12, dtype=np.int8),
        tol=0,
    )
    case(
        "sort_bf16",
        lambda a: (jnp.sort(a).astype(jnp.float32), jnp.argsort(a, descending=True), lax.top_k(a, 4)[0].astype(jnp.float32)),
        bf(13),
        tol=0,
    )
    case("sort_complex", lambda a: (jnp.sort(a), jnp.argmax(jnp.abs(a))), complexes(9), tol=1e-6)
    case("partition", lambda a: (jnp.sort(jnp.partition(a, 3)[:3]), jnp.partition(a, 3)[3]), floats(9), tol=0)
    case(
        "nonzero_where",
        lambda a: (
            jnp.nonzero(a > 0, size=12, fill_value=-1),
            jnp.argwhere(a > 1, size=5),
            jnp.flatnonzero(a < 0, size=9),
            jnp.extract(a > 0, a, size=9, fill_value=3),
        ),
        floats(4, 5),
        tol=0,
    )
    case(
        "bincount",
        lambda i, w: (jnp.bincount(i, length=7), jnp.bincount(i, w, length=7), jnp.digitize(w, jnp.array([-1.0, 0.0, 1.0]))),
        r.integers(0, 6, 20),
        floats(20),
        tol=1e-5,
    )
    case(
        "histograms",
        lambda a, b: (
            jnp.histogram2d(a, b, bins=4, range=((-3, 3), (-3, 3)))[0],
            jnp.histogram(a, jnp.array([-2.0, -1.0, 0.5, 2.0]), weights=b)[0],
        ),
        floats(30),
        floats(30),
        tol=1e-4,
    )
    case(
        "one_hot_matmul",
        lambda i, e: (jax.nn.one_hot(i, 9) @ e, jax.nn.one_hot(i, 9, dtype=jnp.bfloat16).astype(jnp.float32), e[i]),
        r.integers(-1, 10, 7),
        floats(9, 4),
        tol=1e-4,
    )
    case(
        "einsum_odd",
        lambda a, b, c: (
            jnp.einsum("ijk,ilm,njm,nlk->", a, a, b, b),
            jnp.einsum("ii->", c),
            jnp.einsum("ij,ij->ij", c, c),
            jnp.einsum("...ij,...jk->...ik", a, c),
            jnp.einsum("ij,k->kji", c, c[0]),
            jnp.einsum("i->", c[0]),
            jnp.einsum(c, [0, 1], [1, 0]),
        ),
        floats(3, 4, 4),
        floats(3, 4, 4),
        floats(4, 4),
        tol=1e-3,
    )
    case(
        "while_vmap_uneven",
        jax.vmap(lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5 + x), (0, x))),
        np.array([0, 3, 1, 7]),
        floats(4),
        tol=1e-4,
    )
    case(
        "scan_cond",
        lambda a, p: lax.scan(lambda c, x: lax.cond(x[1], lambda: (c + x[0], c), lambda: (c * 0.5, -c)), jnp.float32(1), (a, p)),
        floats(9),
        r.random(9) < 0.5,
    )
    case(
        "scan_switch_grad",
        jax.grad(
            lambda w, i: lax.scan(lambda c, k: (lax.switch(k, [jnp.sin, lambda x: x * w[0], lambda x: x + w[1]], c), c), w[2], i)[1].sum()
        ),
        floats(3),
        r.integers(0, 3, 8).astype(np.int32),
        tol=1e-3,
    )
    case(
        "fori_in_vmap_scan",
        jax.vmap(lambda a: lax.scan(lambda c, x: (lax.fori_loop(0, 3, lambda i, v: v * 0.5 + x, c), c), jnp.float32(0), a)),
        floats(3, 5),
    )
    case(
        "while_carry_many",
        lambda a: lax.while_loop(
            lambda s: (s[0] < 20) & (s[1].sum() < 50),
            lambda s: (s[0] + 1, s[1] + jnp.abs(s[2]), s[2] * 1.1, s[3] ^ jnp.uint8(5), ~s[4]),
            (0, a, a, jnp.uint8(3), True),
        ),
        floats(4),
        tol=1e-4,
    )

    @jax.custom_vjp
    def clipped(x):
        return jnp.sin(x)

    clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g * jnp.cos(x), -0.5, 0.5),))
    case("custom_vjp_scan", jax.grad(lambda a: lax.scan(lambda c, x: (clipped(c + x), c), jnp.float32(0), a)[0]), floats(6))
    case(
        "linearize_transpose",
        lambda a, t: (jax.linearize(lambda x: jnp.tanh(x) * x[0], a)[1](t), jax.linear_transpose(lambda x: x @ a, t)(jnp.float32(2))),
        floats(5),
        floats(5),
    )
    case("jvp_of_vjp", lambda a: jax.jvp(jax.grad(lambda x: (jnp.exp(x) * jnp.cos(x[::-1])).sum()), (a,), (a * 2,)), floats(5), tol=1e-4)
    case(
        "segments_more",
        lambda a, i: (
            jax.ops.segment_sum(a, i, 6, indices_are_sorted=False),
            jax.ops.segment_max(a[:, 0], i, 6),
            jax.vmap(lambda v: jax.ops.segment_sum(v, i, 6), 1, 1)(a),
        ),
        floats(10, 3),
        r.integers(-1, 7, 10),
        tol=1e-4,
    )
    case(
        "scatter_grad_modes",
        jax.grad(lambda a, i: (a.at[i].mul(2.0, mode="drop").at[i].min(0.3) ** 2).sum()),
        floats(8),
        np.array([1, 5, 6, 11]),
        tol=1e-4,
    )
    case(
        "gather_modes",
        lambda a, i: (
            a.at[i].get(mode="fill", fill_value=-1),
            a.at[i].get(mode="clip"),
            a.at[i, i].get(mode="fill", fill_value=np.nan),
            jnp.take_along_axis(a, i[None, :] % 5, 1, mode="clip"),
        ),
        floats(5, 5),
        np.array([-7, -1, 0, 4, 9]),
        tol=0,
    )
    case(
        "narrow_ints",
        lambda a, b: (
            lax.dot(a, b, preferred_element_type=jnp.int32),
            (a + a).sum(dtype=jnp.int32),
            jnp.einsum("ij,jk->ik", a, b, preferred_element_type=jnp.float32),
            lax.population_count(a),
            a << jnp.int8(2),
        ),
        r.integers(-128, 127, (4, 6)).astype(np.int8),
        r.integers(-128, 127, (6, 3)).astype(np.int8),
        tol=0,
    )
    case(
        "uint4_packed",
        lambda a: (
            (a & 15).astype(jnp.uint4).astype(jnp.int32) * 3,
            (a % 8).astype(jnp.int4).reshape(-1)[::-1].astype(jnp.int8),
            jnp.where(a > 4, a, 0).astype(jnp.uint4).sum(dtype=jnp.uint32),
        ),
        r.integers(0, 127, (4, 4)).astype(np.int8),
        tol=0,
    )
    case(
        "half_chain",
        lambda a, b: (
            jnp.cumsum(a),
            jnp.dot(a, b),
            jax.nn.gelu(a),
            jnp.linalg.norm(a),
            a.astype(jnp.bfloat16).astype(jnp.float32),
            jnp.exp2(a),
            lax.erf(b),
            jnp.arctan2(a, b),
        ),
        half(12),
        half(12),
        tol=2e-2,
    )
    case(
        "bf16_net",
        lambda x, w, v: jax.grad(lambda w: (jax.nn.relu(x @ w) @ v).astype(jnp.float32).sum())(w).astype(jnp.float32),
        bf(4, 6),
        bf(6, 5),
        bf(5, 2),
        tol=5e-2,
    )
    case(
        "bitcast_widths",
        lambda a, b: (
            lax.bitcast_convert_type(a, jnp.uint32),
            lax.bitcast_convert_type(b, jnp.int16),
            lax.bitcast_convert_type(lax.bitcast_convert_type(b, jnp.uint8), jnp.float32),
            jnp.frombuffer(np.arange(8, dtype=np.uint8).tobytes(), np.uint16) + a[0, 0],
        ),
        r.integers(0, 65535, (3, 2)).astype(np.uint16),
        floats(5),
        tol=0,
    )
    case(
        "x64_ints",
        lambda a: (
            jnp.cumprod(a % 7 + 1),
            lax.clz(a),
            a // -3,
            a % -5,
            jnp.bitwise_count(a),
            jnp.right_shift(a, 40),
            (a * a) >> 3,
            jnp.gcd(a, a[::-1]),
        ),
        r.integers(-(2**50), 2**50, 6),
        tol=0,
    )
    case(
        "f64_special",
        lambda a: (
            sp.erfinv(a / 9),
            sp.gammaln(jnp.abs(a)),
            sp.expi(jnp.abs(a) + 0.1),
            sp.ndtri(lax.logistic(a)),
            jnp.arcsinh(a),
            jnp.cbrt(a),
            sp.xlogy(jnp.abs(a), jnp.abs(a)),
            sp.entr(jnp.abs(a)),
        ),
        doubles(7),
        tol=1e-9,
    )
    case(
        "special_more",
        lambda a: (
            sp.logit(lax.logistic(a)),
            sp.log_ndtr(a),
            sp.multigammaln(jnp.abs(a) + 3, 2),
            sp.rel_entr(jnp.abs(a), jnp.abs(a[::-1])),
            sp.kl_div(jnp.abs(a), jnp.abs(a[::-1])),
            sp.exp1(jnp.abs(a) + 0.2),
            sp.poch(jnp.abs(a) + 1, 2.0),
            sp.factorial(jnp.arange(5.0)),
            sp.spence(jnp.abs(a)),
            sp.bernoulli(5),
        ),
        floats(6),
        tol=1e-3,
    )
    case(
        "complex_more",
        lambda a, b: (
            jnp.angle(a),
            jnp.sinh(a),
            jnp.arctan(a),
            jnp.log1p(a),
            jnp.expm1(a),
            a**2.5,
            jnp.tanh(a),
            jnp.sign(a),
            lax.rsqrt(a),
            jnp.cumsum(a),
            a.prod(),
            jnp.polyval(a, b[0]),
            jnp.isfinite(a),
            a == a[::-1],
        ),
        complexes(5),
        complexes(5),
        tol=1e-3,
    )
    case("complex_grad", jax.grad(lambda a: jnp.abs(jnp.exp(a) @ jnp.conj(a)), holomorphic=False), complexes(5), tol=1e-3)
    case(
        "losses",
        lambda l, y: (
            (jax.nn.logsumexp(l, 1) - jnp.take_along_axis(l, y[:, None], 1)[:, 0]).mean(),
            jax.nn.sigmoid(l),
            jnp.where(jnp.abs(l) < 1, 0.5 * l**2, jnp.abs(l) - 0.5).sum(),
            jax.nn.softmax(l, where=l > 0),
        ),
        floats(5, 4),
        r.integers(0, 4, 5),
        tol=1e-4,
    )
    case(
        "rope",
        lambda q, p: (
            lambda f: jnp.concatenate(
                [q[..., :4] * jnp.cos(f) - q[..., 4:] * jnp.sin(f), q[..., :4] * jnp.sin(f) + q[..., 4:] * jnp.cos(f)], -1
            )
        )(p[:, None, None] * 10000.0 ** (-jnp.arange(4) / 4.0)),
        floats(6, 2, 8),
        np.arange(6, dtype=np.float32),
        tol=1e-4,
    )
    case(
        "kv_cache",
        lambda q, k, v, c, n: (
            lambda kc, vc: (jnp.where(jnp.arange(8) <= n, jax.nn.softmax(jnp.where(jnp.arange(8) <= n, kc @ q, -1e9)), 0) @ vc, kc)
        )(lax.dynamic_update_index_in_dim(c, k, n, 0), lax.dynamic_update_index_in_dim(c * 2, v, n, 0)),
        floats(4),
        floats(4),
        floats(4),
        floats(8, 4),
        np.int32(5),
        tol=1e-4,
    )
    case(
        "moe",
        lambda x, g, w: (lambda t: jnp.einsum("tk,tkd->td", t[0], jnp.einsum("td,tkde->tke", x, w[t[1]])))(
            lax.top_k(jax.nn.softmax(x @ g), 2)
        ),
        floats(6, 4),
        floats(4, 3),
        floats(3, 4, 4),
        tol=1e-3,
    )
    case(
        "gru",
        lambda x, w, u: lax.scan(
            lambda h, t: ((lambda z: z * h + (1 - z) * jnp.tanh(t @ w + h @ u))(lax.logistic(t @ w)), h), jnp.zeros(4, jnp.float32), x
        ),
        floats(6, 3),
        floats(3, 4),
        floats(4, 4),
        tol=1e-4,
    )
    case(
        "levenshtein",
        lambda a, b: lax.scan(
            lambda row, x: (lambda d: (d, d[-1]))(
                lax.associative_scan(
                    jnp.minimum,
                    jnp.minimum(jnp.concatenate([row[:1] + 1, row[:-1] + (x != b)]), jnp.concatenate([row[:1] + 1, row[1:] + 1]))
                    - jnp.arange(7),
                )
                + jnp.arange(7)
            ),
            jnp.arange(7),
            a,
        )[0],
        r.integers(0, 3, 8),
        r.integers(0, 3, 6),
        tol=0,
    )
    case("floyd_warshall", lambda d: lax.fori_loop(0, 6, lambda k, m: jnp.minimum(m, m[:, k, None] + m[None, k, :]), d), pos(6, 6))
    case(
        "sinkhorn",
        lambda c: lax.fori_loop(
            0,
            10,
            lambda i, uv: (
                -jax.nn.logsumexp(-c + uv[1][None], 1),
                -jax.nn.logsumexp(-c + (-jax.nn.logsumexp(-c + uv[1][None], 1))[:, None], 0),
            ),
            (jnp.zeros(5), jnp.zeros(4)),
        ),
        pos(5, 4),
        tol=1e-3,
    )
    case(
        "newton",
        lambda a: lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - a) > 1e-4, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0)),
        np.float32(7),
        tol=1e-5,
    )
    case(
        "power_iteration",
        lambda a: lax.scan(lambda v, _: ((lambda w: w / jnp.linalg.norm(w))(a @ a.T @ v), None), jnp.ones(4, jnp.float32), None, length=8)[
            0
        ],
        floats(4, 4),
        tol=1e-3,
    )
    case(
        "gmres_bicgstab",
        lambda a, b: (
            jax.scipy.sparse.linalg.bicgstab(lambda v: (a @ a.T + 5 * jnp.eye(4, dtype=jnp.float32)) @ v, b)[0],
            jax.scipy.sparse.linalg.gmres(lambda v: (a @ a.T + 5 * jnp.eye(4, dtype=jnp.float32)) @ v, b)[0],
        ),
        floats(4, 4),
        floats(4),
        tol=1e-2,
    )
    case(
        "random_more",
        lambda k: (
            jax.random.truncated_normal(k, -1, 1, (4,)),
            jax.random.gumbel(k, (3,)),
            jax.random.exponential(k, (3,)),
            jax.random.choice(k, 9, (4,), replace=False),
            jax.random.laplace(k, (3,)),
            jax.random.orthogonal(k, 3),
            jax.random.bits(k, (5,), jnp.uint8),
            jax.random.rademacher(k, (4,)),
            jax.random.dirichlet(k, jnp.ones(3)),
            jax.random.split(k, 3),
        ),
        jax.random.PRNGKey(3),
        tol=1e-3,
    )
    case(
        "dtypes_many",
        lambda a: tuple(
            (a * 3).astype(t).astype(jnp.float32)
            for t in (jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32, jnp.bfloat16, jnp.float16, jnp.bool_)
        ),
        np.abs(floats(7)),
        tol=0,
    )
    case(
        "group_norm_conv",
        lambda x, k: (
            lambda h: (
                (h.reshape(2, 5, 5, 2, 2) - h.reshape(2, 5, 5, 2, 2).mean((1, 2, 4), keepdims=True))
                * lax.rsqrt(h.reshape(2, 5, 5, 2, 2).var((1, 2, 4), keepdims=True) + 1e-5)
            ).reshape(h.shape)
        )(lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))),
        floats(2, 5, 5, 3),
        floats(3, 3, 3, 4),
        tol=1e-3,
    )
    case(
        "depthwise_transpose",
        lambda x, k: lax.conv_transpose(
            lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3),
            jnp.ones((2, 2, 3, 3), jnp.float32),
            (2, 2),
            "SAME",
        ),
        floats(1, 5, 5, 3),
        floats(3, 3, 1, 3),
        tol=1e-3,
    )
    case(
        "pool_grads",
        jax.grad(
            lambda x: (
                lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
                * lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
            ).sum()
        ),
        floats(1, 6, 6, 2),
        tol=1e-3,
    )
    case(
        "cum_axes",
        lambda a: (lax.cumsum(a, 1, reverse=True), lax.cumprod(a, 0, reverse=True), lax.cummax(a, 2), lax.cumlogsumexp(a, 0)),
        floats(3, 4, 5),
        tol=1e-3,
    )
    case(
        "unstack_set",
        lambda a: (
            a.at[1:3, ::2].set(0),
            a.at[..., -1].add(1),
            a.at[jnp.array([0, 2])[:, None], jnp.array([1, 3])].multiply(9),
            jnp.delete(a, 1, 0),
            jnp.insert(a, 2, 5.0, 1),
            jnp.append(a, a[:1], 0),
            jnp.array_split(a, 3, 1),
            jnp.apply_along_axis(jnp.cumsum, 0, a),
        ),
        floats(4, 5),
        tol=1e-5,
    )
    near = lambda n, k: (np.eye(k) + 0.3 * r.standard_normal((n, k, k))).astype(np.float32) / np.float32(1.2)
    case(
        "kalman_scan",
        lambda a, b, c: lax.associative_scan(
            lambda x, y: (y[0] @ x[0], (y[0] @ x[1][..., None])[..., 0] + y[1], y[0] @ x[2] @ jnp.swapaxes(y[0], -1, -2) + y[2]), (a, b, c)
        ),
        near(33, 2),
        floats(33, 2),
        near(33, 2),
        tol=1e-3,
    )
    case("matrix_scan_reversed", lambda a: lax.associative_scan(jnp.matmul, a, reverse=True), near(41, 3), tol=1e-3)
    case("matrix_scan_grad", lambda a: jax.grad(lambda a: (lax.associative_scan(jnp.matmul, a)[-1] ** 2).sum())(a), near(17, 2), tol=1e-3)
    case(
        "rotated_points",
        lambda m, p: jax.grad(lambda m, p: (jnp.einsum("nij,nj->ni", m, p) ** 2 + jnp.cross(p, p[::-1])).sum(), (0, 1))(m, p),
        near(200, 3),
        floats(200, 3),
        tol=1e-3,
    )

    def down_and_up(a, b, c):
        labels = ("NHWC", "HWIO", "NHWC")
        half_size = jax.nn.relu(lax.conv_general_dilated(a, b, (2, 2), "SAME", dimension_numbers=labels))
        return lax.conv_transpose(half_size, c, (2, 2), "SAME", dimension_numbers=labels) + a

    images = floats(2, 16, 16, 8)
    weights = floats(3, 3, 8, 16) / 4, floats(3, 3, 16, 8) / 4
    case("down_and_up", down_and_up, images, *weights, tol=1e-3)
    case("down_and_up_grad", jax.grad(lambda a, b, c: (down_and_up(a, b, c) ** 2).mean(), (0, 1, 2)), images, *weights, tol=1e-3)


def further_symbolic_cases(floats):
    return [
        (
            "symbolic_constraints",
            lambda x, y: (x[: y.shape[0]] + y, jnp.concatenate([x, y]).sum(0)),
            ("a, 3", "b, 3"),
            [(floats(6, 3), floats(4, 3)), (floats(3, 3), floats(2, 3))],
            0.0001,
            ["a >= b", "b >= 2"],
        ),
        ("symbolic_mod", lambda x: x.reshape(-1, 4).sum(1), ("4*n",), [(floats(8),), (floats(20),)], 0.0001, ["n >= 1"]),
        ("symbolic_cumsum", lambda x: jnp.cumsum(x, 0) @ x.T, ("n, m",), [(floats(3, 5),), (floats(6, 2),)], 0.001, []),
        (
            "symbolic_gather",
            lambda e, i: e[i].mean(0),
            ("v, 4", "t"),
            [(floats(9, 4), np.array([1, 3, 8])), (floats(5, 4), np.array([0, 4, 4, 2]))],
            0.0001,
            [],
        ),
        (
            "symbolic_while",
            lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], jnp.float32(0)),
            ("n",),
            [(floats(5),), (floats(3),)],
            0.0001,
            [],
        ),
        (
            "symbolic_pool",
            lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
            ("b, 2*w",),
            [(floats(3, 8),), (floats(1, 4),)],
            0,
            [],
        ),
        (
            "symbolic_linalg",
            lambda a, b: (
                jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2) + 3 * jnp.eye(3)),
                jnp.abs(jnp.linalg.qr(a)[1]),
                jnp.linalg.eigvalsh(a + jnp.swapaxes(a, -1, -2)),
                jnp.linalg.svd(a, compute_uv=False),
                jnp.linalg.solve(a + 4 * jnp.eye(3), b),
            ),
            ("b, 3, 3", "b, 3, k"),
            [(floats(2, 3, 3), floats(2, 3, 2)), (floats(4, 3, 3), floats(4, 3, 1))],
            0.001,
            [],
        ),
        (
            "symbolic_products",
            lambda x, y: (
                x[: x.shape[0] // 2].reshape(-1),
                jnp.outer(x[:, 0], y).reshape(-1),
                lax.top_k(x[:, 1], 3),
                jnp.pad(x, ((0, 8 - x.shape[0]), (1, 1))),
                lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x),
            ),
            ("2*b, 2", "c"),
            [(floats(4, 2), floats(6)), (floats(8, 2), floats(5))],
            0.0001,
            ["b >= 2", "2*b <= 8"],
        ),
    ]
