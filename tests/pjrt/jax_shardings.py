"""jit with shardings on eight logical devices: results against JAX's CPU with eight devices, and what devices exchange
against shard_maps by hand.

PYTHONPATH names the build's python folder; VXLA_DEVICES=8. Options: --only=PART of a name, --brief.
"""

import collections
import os
import re
import sys

os.environ.setdefault("JAX_PLATFORMS", "vulkan,cpu")
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 " + os.environ.get("XLA_FLAGS", "")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from cases import case, run_cases

COUNT = 8
VULKAN, CPU = jax.devices("vulkan"), jax.devices("cpu")
WIDTHS = {"f32": 4, "s32": 4, "u32": 4, "pred": 1}
KINDS = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")


def numbers(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def mesh_of(devices, shape, names):
    return jax.sharding.Mesh(np.array(devices[:COUNT]).reshape(shape), names, axis_types=(AxisType.Auto,) * len(names))


def agree(function, arguments, specs, out_specs=None, shape=(2, 4), names=("x", "y"), tolerance=1e-4):
    """What the function gives on both platforms, whose arguments lie so."""
    results = []
    for devices in (CPU, VULKAN):
        mesh = mesh_of(devices, shape, names)
        placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arguments, specs)]
        out = None if out_specs is None else jax.tree.map(lambda s: NamedSharding(mesh, s), out_specs)
        run = jax.jit(function) if out is None else jax.jit(function, out_shardings=out)
        results.append(jax.tree.map(np.asarray, run(*placed)))
    for expected, given in zip(*(jax.tree.leaves(result) for result in results)):
        assert expected.dtype == given.dtype and expected.shape == given.shape, (given.dtype, given.shape)
        np.testing.assert_allclose(given, expected, rtol=tolerance, atol=tolerance)


def exchanges(run, *arguments):
    """By kind, the bytes that a device sends in the program that one of the devices runs; what is in loops, once."""
    found = collections.Counter()
    for line in run.lower(*arguments).compile().as_text().splitlines():
        made = re.search(r" = (.*?) (%s)(?:-start)?\(" % "|".join(KINDS), line)
        if made is None:
            continue
        listed, iota = re.search(r"replica_groups=\{\{([\d,]*)\}", line), re.search(r"replica_groups=\[\d+,(\d+)\]", line)
        k = len(listed.group(1).split(",")) if listed else int(iota.group(1)) if iota else COUNT
        size = sum(WIDTHS[kind] * int(np.prod([int(d) for d in dims.split(",") if d]))
                   for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", made.group(1)))
        found[made.group(2)] += {"all-gather": size // k * (k - 1), "all-reduce": 2 * size * (k - 1) // k,
                                 "reduce-scatter": size * (k - 1), "all-to-all": size * (k - 1) // k}.get(made.group(2), size)
    return dict(found)


@case
def products():
    a, b = numbers(8, 16), numbers(16, 32)
    for first in (P("x", None), P("x", "y"), P(None, "y"), P(("x", "y"), None), P()):
        for second in (P(None, "y"), P("y", None), P("x", "y"), P(None, ("x", "y"))):
            agree(lambda a, b: a @ b, [a, b], [first, second])
    batched = numbers(2, 4, 8, 16)
    agree(lambda q: jnp.einsum("bhqd,bhkd->bhqk", q, q), [batched], [P("x", "y")])


@case
def elements_reductions_and_movements():
    a = numbers(8, 16)
    for function in (lambda a: a.sum(0), lambda a: a.max(1) - a.mean(), lambda a: jax.nn.softmax(a), lambda a: a.argmax(1),
                     lambda a: a.reshape(2, 4, 16).transpose(2, 0, 1), lambda a: jnp.concatenate([a, 2 * a], 1),
                     lambda a: jnp.cumsum(a, 1), lambda a: jnp.sort(a, 0), lambda a: a[2:6, ::2],
                     lambda a: jnp.pad(a, ((1, 1), (0, 0))), lambda a: lax.top_k(a, 3), lambda a: jnp.roll(a, 3, 1),
                     lambda a: jnp.fft.fft(a, axis=1).real, lambda a: jnp.tril(a) + jnp.eye(8, 16),
                     lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
                     lambda a: lax.reduce_window(a - 9, -jnp.inf, lax.max, (3, 5), (1, 2), "SAME"),
                     lambda a: lax.dynamic_update_slice(a, a[:, :2], (0, 3))):
        agree(function, [a], [P("x", "y")])


@case
def indices():
    rows, places = numbers(16, 8), np.arange(32, dtype=np.int32).reshape(8, 4) * 7 % 16
    for of_rows in (P(None, "y"), P("x", "y"), P("y", None)):
        agree(lambda rows, places: rows[places], [rows, places], [of_rows, P("x", None)])
        agree(lambda rows, places: rows.at[places[:, 0]].add(1.5), [rows, places], [of_rows, P("x", None)])
        agree(lambda rows, places: rows.at[places[:4, 0]].set(0.5), [rows, places[:4] * 0 + np.arange(4)[:, None]],
              [of_rows, P()])


@case
def control_flow():
    a = numbers(8, 16)
    agree(lambda a: lax.fori_loop(0, 3, lambda _, v: jnp.tanh(v @ v.T @ v * 0.01), a), [a], [P("x", "y")])
    agree(lambda a: lax.cond(a[0, 0] > 0, lambda v: v * 2, lambda v: v.T.reshape(8, 16), a), [a], [P("x", "y")])
    agree(lambda a: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(16), a), [a], [P("x", "y")])
    agree(lambda a: lax.while_loop(lambda v: jnp.sum(v * v) > 1, lambda v: v * 0.5, a), [a], [P("x", "y")])


@case
def random_numbers_are_the_same_whatever_the_mesh():
    key = np.array([1, 2], np.uint32)
    for spec in (P("x", "y"), P(("y", "x"), None), P()):
        agree(lambda k: jax.random.normal(jax.random.wrap_key_data(k), (16, 8)), [key], [P()], spec)
    agree(lambda k: jax.random.permutation(jax.random.wrap_key_data(k), 16), [key], [P()])


@case
def convolutions():
    image, kernel = numbers(8, 8, 8, 4), numbers(3, 3, 4, 8)
    for of_image in (P("x"), P("x", "y"), P("x", None, None, "y")):
        for of_kernel in (P(), P(None, None, None, "y"), P(None, None, "y", None)):
            agree(lambda a, w: lax.conv_general_dilated(a, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
                  [image, kernel], [of_image, of_kernel])


@case
def linear_algebra():
    a = numbers(8, 4, 4)
    agree(lambda a: jnp.linalg.cholesky(a @ a.swapaxes(1, 2) + 4 * jnp.eye(4)), [a], [P("x")])
    agree(lambda a: jnp.linalg.solve(a + 4 * jnp.eye(4), a[:, 0, :, None]), [a], [P(("x", "y"))])


@case
def linear_algebra_of_batches_exchanges_nothing():
    a = numbers(8, 5, 5)
    positive = a @ a.transpose(0, 2, 1) + 5 * np.eye(5, dtype=np.float32)
    line = numbers(8, 5) + 4
    functions = (lambda s: jnp.linalg.cholesky(s), lambda s: jax.scipy.linalg.lu_factor(s)[0], lambda s: jnp.abs(jnp.linalg.qr(s)[1]),
                 lambda s: jnp.linalg.eigvalsh(s), lambda s: jnp.linalg.svd(s, compute_uv=False), lambda s: jnp.linalg.inv(s),
                 lambda s: jnp.sort(jnp.abs(jnp.linalg.eigvals(s))), lambda s: lax.linalg.hessenberg(s)[0][:, 0, 0],
                 lambda s: lax.linalg.tridiagonal_solve(s[..., 0] * 0, s[..., 1] + 9, s[..., 2] * 0, s[..., :2]))
    mesh = mesh_of(VULKAN, (2, 4), ("x", "y"))
    for function in functions:
        for spec in (P("y"), P(("x", "y"))):
            agree(function, [positive], [spec], tolerance=1e-3)
            placed = jax.device_put(positive, NamedSharding(mesh, spec))
            assert exchanges(jax.jit(function), placed) == {}
    agree(lambda s: jnp.linalg.inv(s), [positive[:, :4, :4]], [P(None, "x", "y")], tolerance=1e-3)
    agree(lambda s, d: jnp.linalg.solve(s, d[..., None]), [positive, line], [P("x"), P("y")], tolerance=1e-3)


@case
def functions_as_people_write_them():
    a, both = numbers(8, 16), P("x", "y")
    places = np.arange(8, dtype=np.int32)
    loose = {"tolerance": 2e-3}
    for function in (lambda a: jnp.argsort(a, 1), lambda a: jnp.cumsum(a, 0), lambda a: jax.nn.logsumexp(a, 1),
                     lambda a: jnp.abs((a + 1j * a) @ (a.T - 1j)), lambda a: (a * 10).astype(jnp.int8).sum(0),
                     lambda a: (jnp.any(a > 2, 0), jnp.all(a > -3, 1)), lambda a: (jnp.argmax(a), jnp.argmin(a, 0)),
                     lambda a: jnp.var(a, 0), lambda a: jnp.median(a, 1), lambda a: jnp.einsum("i,j->ij", a[:, 0], a[0]),
                     lambda a: jax.vmap(lambda v: jnp.convolve(v, jnp.arange(5.0), mode="same"))(a),
                     lambda a: lax.associative_scan(jnp.add, a, axis=1), lambda a: jnp.repeat(a, 2, 1), lambda a: jnp.tile(a, (2, 3)),
                     lambda a: jnp.stack([a, a + 1], 1).reshape(16, 16), lambda a: jnp.split(a, 4, 1)[1] @ jnp.split(a, 4, 1)[2].T,
                     lambda a: a[::-1, ::-1], lambda a: jnp.nonzero(a > 0, size=20)[1], lambda a: (a[:6] @ a.T).sum(1),
                     lambda a: jnp.searchsorted(jnp.sort(a[0]), a[1]), lambda a: jnp.histogram(a, bins=5)[0],
                     lambda a: jnp.kron(a[:2, :2], a), lambda a: jax.image.resize(a, (16, 32), "linear"),
                     lambda a: lax.bitcast_convert_type(a, jnp.uint8).astype(jnp.int32).sum(2),
                     lambda a: lax.optimization_barrier((a * 2, a.sum(0)))[0]):
        agree(function, [a], [both])
    agree(lambda a: jax.grad(lambda v: jnp.sum(jax.checkpoint(lambda u: jnp.sin(u @ u.T @ u))(v)))(a), [a], [both], **loose)
    agree(lambda a: jnp.abs(jnp.fft.fft2(a)), [a], [both], **loose)
    agree(lambda a, i: lax.switch(i, [lambda v: v + 1, lambda v: v @ v.T @ v, lambda v: v[::-1]], a), [a, np.int32(1)], [both, P()],
          **loose)
    agree(lambda a, i: jax.ops.segment_sum(a, i, 8), [a, places % 3], [both, P("x")])
    agree(lambda a, i: a[i, i], [a, places], [both, P("y")])
    agree(lambda a, i: lax.dynamic_slice(a, (i, i), (2, 4)), [a, np.int32(3)], [both, P()])
    agree(lambda x, g, w: jnp.einsum("ebd,edf->bf", jnp.einsum("bd,be->ebd", x, jax.nn.softmax(x @ g)), w),
          [numbers(16, 8), numbers(8, 4), numbers(4, 8, 12)], [P("x"), P(), P("y")])


@case
def tables_in_parts():
    table, places = numbers(64, 8), (np.arange(16, dtype=np.int32) * 5 % 64)
    agree(lambda w, i: w[i], [table, places.reshape(4, 4)], [P("y", None), P("x")])
    agree(lambda w, i: jnp.take(w, i, axis=0, mode="clip"), [table, np.array([-3, 0, 63, 64, 200, 31, 32, 5], np.int32)], [P("y"), P()])
    agree(lambda w, i: jax.grad(lambda w: jnp.sum(w[i] ** 2))(w), [table, places], [P("y", "x"), P("x")])


def both_platforms(build, tolerance=1e-4):
    """`build` makes of the devices of a platform what is compared."""
    results = [jax.tree.map(np.asarray, build(devices)) for devices in (CPU, VULKAN)]
    for expected, given in zip(*(jax.tree.leaves(result) for result in results)):
        np.testing.assert_allclose(given, expected, rtol=tolerance, atol=tolerance)


@case
def shard_maps_among_whole_arrays():
    some, full = {"axis_names": {"x"}, "check_vma": False}, {}
    maps = (
        (lambda v: lax.psum(v @ v.T, "x"), P("x"), P(), some),
        (lambda v: lax.all_gather(v, "x", axis=0, tiled=True) * lax.axis_index("x"), P("x"), P("x"), some),
        (lambda v: lax.all_to_all(v, "x", 1, 0, tiled=True) + lax.ppermute(v, "x", [(0, 1), (1, 0)]).sum(), P("x"), P(None, "x"), some),
        (lambda v: lax.psum_scatter(v, "x", scatter_dimension=0, tiled=True), P(), P("x"), some),
        (lambda v: v + lax.pmean(v, "y"), P("x", "y"), P("x", "y"), full),
    )
    for body, in_specs, out_specs, options in maps:
        def build(devices):
            mesh = mesh_of(devices, (2, 4), ("x", "y"))
            mapped = jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)
            a = jax.device_put(numbers(8, 16), NamedSharding(mesh, P("x", "y")))
            branches = lax.cond(a.sum() > 0, lambda a: mapped(a), lambda a: mapped(2 * a), a)
            return jax.jit(lambda a: mapped(a * 2) + 1)(a), branches

        both_platforms(build)

    def nested(devices):
        mesh = mesh_of(devices, (2, 4), ("x", "y"))
        inner = lambda v: jax.shard_map(lambda u: u + lax.psum(u, "y"), mesh=jax.sharding.get_abstract_mesh(), in_specs=P(None, "y"),
                                        out_specs=P(None, "y"), axis_names={"y"})(v) * 2
        outer = jax.shard_map(inner, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
        a = jax.device_put(numbers(8, 16), NamedSharding(mesh, P("x", "y")))
        return jax.jit(lambda a: lax.scan(lambda c, _: (outer(c) * 0.5, c.sum()), a, None, length=3))(a)

    both_platforms(nested)


@case
def devices_in_any_order_and_three_axes():
    def build(devices):
        order = [devices[i] for i in (3, 1, 0, 2, 7, 5, 6, 4)]
        mesh, cube = mesh_of(order, (2, 4), ("x", "y")), mesh_of(devices, (2, 2, 2), ("a", "b", "c"))
        a = jax.device_put(numbers(8, 16), NamedSharding(mesh, P("x", "y")))
        x = jax.device_put(numbers(8, 8, 8), NamedSharding(cube, P("a", ("c", "b"))))
        y = jax.device_put(numbers(8, 8, 8, seed=1), NamedSharding(cube, P("b", "a", "c")))
        product = jax.jit(lambda a: a @ a.T, out_shardings=NamedSharding(mesh, P("y", "x")))(a)
        three = jax.jit(lambda x, y: (jnp.einsum("abc,bcd->ad", x, y), (x + y).reshape(16, 32).sum(0), jnp.moveaxis(x, 0, 2) * y))
        return product, three(x, y)

    both_platforms(build)


# ---- a small transformer, one step of training

WIDTH, HEADS, DEPTH, VOCABULARY, BATCH, LENGTH = 32, 8, 2, 64, 8, 16


def weights():
    def layer(i):
        n = lambda *shape: numbers(*shape, seed=i) * 0.2
        return {"qkv": n(WIDTH, 3, HEADS, WIDTH // HEADS), "out": n(HEADS, WIDTH // HEADS, WIDTH), "up": n(WIDTH, 4 * WIDTH),
                "down": n(4 * WIDTH, WIDTH), "scale": np.ones((2, WIDTH), np.float32)}

    layers = [layer(i) for i in range(DEPTH)]
    return {"embedding": numbers(VOCABULARY, WIDTH) * 0.2, "layers": jax.tree.map(lambda *leaves: np.stack(leaves), *layers)}


def norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attend(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
    mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def loss_of(weights, tokens, along=lambda x: x, scanned=True):
    x = along(weights["embedding"][tokens])

    def block(x, w):
        qkv = jnp.einsum("bsw,wchd->cbshd", norm(x, w["scale"][0]), w["qkv"])
        x = along(x + jnp.einsum("bshd,hdw->bsw", attend(*qkv), w["out"]))
        return along(x + jax.nn.gelu(norm(x, w["scale"][1]) @ w["up"]) @ w["down"]), None

    x, _ = lax.scan(block, x, weights["layers"])
    scores = jax.nn.log_softmax(x[:, :-1] @ weights["embedding"].T)
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], 2))


def step(weights, tokens, along=lambda x: x):
    loss, slopes = jax.value_and_grad(loss_of)(weights, tokens, along)
    return loss, jax.tree.map(lambda w, s: w - 0.1 * s, weights, slopes)


def like(weights, spec):
    return jax.tree.map(lambda _: spec, weights)


def tensor_parallel(axis):
    return {"embedding": P(), "layers": {"qkv": P(None, None, None, axis), "out": P(None, axis), "up": P(None, None, axis),
                                         "down": P(None, axis), "scale": P()}}


def fully_sharded(axis):
    return {"embedding": P(None, axis), "layers": {"qkv": P(None, axis), "out": P(None, None, None, axis), "up": P(None, axis),
                                                   "down": P(None, None, axis), "scale": P()}}


def train(shape, names, of_weights, of_tokens, of_activations=None):
    """Three steps, on both platforms. Devices send no more than XLA has them send, give or take 5 %."""
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, LENGTH)).astype(np.int32)
    ends, sent = [], []
    for devices in (CPU, VULKAN):
        mesh = mesh_of(devices, shape, names)
        placed = jax.tree.map(lambda w, s: jax.device_put(w, NamedSharding(mesh, s)), weights(), of_weights)
        given = jax.device_put(tokens, NamedSharding(mesh, of_tokens))
        lies = jax.tree.map(lambda s: NamedSharding(mesh, s), of_weights)
        along = (lambda x: x) if of_activations is None else (
            lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, of_activations)))
        run = jax.jit(lambda w, t: step(w, t, along), out_shardings=(NamedSharding(mesh, P()), lies))
        sent.append(sum(exchanges(run, placed, given).values()))
        for _ in range(3):
            loss, placed = run(placed, given)
        ends.append((np.asarray(loss), jax.tree.map(np.asarray, placed)))
    print(f"XLA's devices send {sent[0]} bytes, vxla's {sent[1]}", flush=True)
    assert 0 < sent[1] <= 1.05 * sent[0], sent
    for expected, got in zip(*(jax.tree.leaves(end) for end in ends)):
        np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-4)


@case
def transformer_data_parallel():
    train((8,), ("d",), like(weights(), P()), P("d"))


@case
def transformer_tensor_parallel():
    train((8,), ("t",), tensor_parallel("t"), P())


@case
def transformer_fully_sharded():
    train((8,), ("d",), fully_sharded("d"), P("d"))


@case
def transformer_data_and_tensor_parallel():
    train((2, 4), ("d", "t"), tensor_parallel("t"), P("d"))


@case
def transformer_sequence_parallel():
    train((2, 4), ("d", "t"), tensor_parallel("t"), P("d"), P("d", "t", None))


# ---- what devices exchange, against shard_maps by hand

@case
def functions_with_partitioning_rules_of_their_own():
    from jax.experimental.custom_partitioning import custom_partitioning

    @custom_partitioning
    def scaled(x, w):
        return jnp.sin(x) * jnp.max(w)

    scaled.def_partition(
        infer_sharding_from_operands=lambda mesh, arguments, result: arguments[0].sharding,
        partition=lambda mesh, arguments, result: (mesh, lambda x, w: jnp.sin(x) * lax.pmax(jnp.max(w), "y"), arguments[0].sharding,
                                                   tuple(a.sharding for a in arguments)),
        sharding_rule="i j, k -> i j")
    agree(scaled, [numbers(8, 16), numbers(32)], [P("x", None), P("y")])
    agree(lambda x, w: scaled(x @ x.T, w).sum(0), [numbers(8, 16), numbers(32)], [P("x", "y"), P("y")])


@case
def how_arrays_lie_is_told():
    a, b = numbers(8, 16), numbers(16, 32)

    def asked(devices):
        told = []

        def show(x):
            jax.debug.inspect_array_sharding(x, callback=lambda s: told.append((s.spec, s.shard_shape(x.shape))))

        def step(c, v):
            show(c)
            return jnp.tanh(c * v), c.sum()

        def function(a, b):
            product = a @ b
            show(product)
            show(jax.grad(lambda a: (a * 2).sum())(a))
            return lax.scan(step, product, jnp.arange(3.0))

        mesh = mesh_of(devices, (2, 4), ("x", "y"))
        placed = [jax.device_put(v, NamedSharding(mesh, s)) for v, s in ((a, P("x", None)), (b, P(None, "y")))]
        jax.block_until_ready(jax.jit(function)(*placed))
        return told

    told = asked(VULKAN)
    assert (P("x", "y"), (4, 8)) == told[0], told
    assert len(told) == len(asked(CPU)) == 3 and told[2][1] == (4, 8), told

    def fails(sharding):
        raise ValueError("no such sharding")

    mesh = mesh_of(VULKAN, (8,), ("x",))
    placed = jax.device_put(a, NamedSharding(mesh, P("x")))
    try:
        jax.jit(lambda a: (jax.debug.inspect_array_sharding(a, callback=fails), a + 1)[1])(placed)
    except Exception as error:
        assert "no such sharding" in str(error), error
    else:
        raise AssertionError("the callback's exception is lost")


@case
def memories_of_tiles():
    a, mesh = np.arange(16).reshape(8, 2), mesh_of(VULKAN, (4, 2), ("x", "y"))
    device = NamedSharding(mesh, P("x", "y"))
    host = device.with_memory_kind("pinned_host")
    for begin, end in ((host, device), (device, host)):
        for function, wanted in ((lambda v: v, a), (lambda v: v * 2, a * 2), (lambda v: jax.device_put(v, end) + 1, a + 1)):
            given = jax.jit(function, in_shardings=begin, out_shardings=end)(jax.device_put(a, begin))
            np.testing.assert_array_equal(np.asarray(given), wanted)
            assert given.sharding.memory_kind == end.memory_kind, given.sharding
    on_cpu = jax.device_put(jax.device_put(a, device), NamedSharding(mesh_of(CPU, (4, 2), ("x", "y")), P("x", "y")))
    for shard in on_cpu.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), a[shard.index])


def compare(name, ours, by_hand, arguments, within=0.05):
    """The same kinds, and bytes that are as many within so much."""
    given, wanted = exchanges(ours, *arguments), exchanges(by_hand, *arguments)
    print(f"{name}: {given}, by hand {wanted}", flush=True)
    assert wanted, "nothing is exchanged"
    assert given.keys() == wanted.keys(), (given, wanted)
    for kind, size in wanted.items():
        assert abs(given[kind] - size) <= within * size, (kind, given, wanted)
    for a, b in zip(jax.tree.leaves(ours(*arguments)), jax.tree.leaves(by_hand(*arguments))):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-3 * np.abs(b).max())


def placed_on(mesh, arrays, specs):
    return [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, specs)]


def mlp_loss(up, down, x, along=lambda h: h):
    return jnp.sum((jax.nn.relu(along(x @ up)) @ down) ** 2)


@case
def exchanges_of_a_megatron_block():
    mesh = mesh_of(VULKAN, (8,), ("t",))
    specs = (P(None, "t"), P("t", None), P())
    arguments = placed_on(mesh, [numbers(32, 128), numbers(128, 32), numbers(16, 32)], specs)

    def forward(up, down, x):
        return jax.nn.relu(x @ up) @ down

    by_hand = jax.shard_map(lambda up, down, x: lax.psum(forward(up, down, x), "t"), mesh=mesh, in_specs=specs, out_specs=P())
    compare("forward", jax.jit(forward, out_shardings=NamedSharding(mesh, P())), jax.jit(by_hand), arguments)


@case
def exchanges_of_data_parallel_slopes():
    mesh = mesh_of(VULKAN, (8,), ("d",))
    specs = (P(), P(), P("d", None))
    arguments = placed_on(mesh, [numbers(32, 128), numbers(128, 32), numbers(16, 32)], specs)
    slopes = jax.grad(mlp_loss, argnums=(0, 1))
    by_hand = jax.shard_map(lambda up, down, x: lax.psum(slopes(up, down, x), "d"), mesh=mesh, in_specs=specs,
                            out_specs=(P(), P()), check_vma=False)
    compare("data parallel", jax.jit(slopes, out_shardings=NamedSharding(mesh, P())), jax.jit(by_hand), arguments)


@case
def exchanges_of_fully_sharded_slopes():
    mesh = mesh_of(VULKAN, (8,), ("d",))
    specs = (P("d", None), P("d", None), P("d", None))
    arguments = placed_on(mesh, [numbers(32, 128), numbers(128, 32), numbers(512, 32)], specs)
    slopes = jax.grad(mlp_loss, argnums=(0, 1))

    def hand(up, down, x):
        whole = [lax.all_gather(w, "d", axis=0, tiled=True) for w in (up, down)]
        return [lax.psum_scatter(s, "d", scatter_dimension=0, tiled=True) for s in slopes(*whole, x)]

    by_hand = jax.shard_map(hand, mesh=mesh, in_specs=specs, out_specs=[P("d", None)] * 2, check_vma=False)
    # Shardings of the weights say nothing of the values between them.
    rows = NamedSharding(mesh, P("d", None))
    ours = jax.grad(lambda *a: mlp_loss(*a, lambda h: lax.with_sharding_constraint(h, rows)), argnums=(0, 1))
    compare("fully sharded", jax.jit(ours, out_shardings=NamedSharding(mesh, P("d", None))), jax.jit(by_hand), arguments)


@case
def exchanges_of_a_sequence_parallel_block():
    mesh = mesh_of(VULKAN, (8,), ("t",))
    specs = (P(None, "t"), P("t", None), P("t", None))
    arguments = placed_on(mesh, [numbers(32, 128), numbers(128, 32), numbers(16, 32)], specs)

    def hand(up, down, x):
        x = lax.all_gather(x, "t", axis=0, tiled=True)
        return lax.psum_scatter(jax.nn.relu(x @ up) @ down, "t", scatter_dimension=0, tiled=True)

    by_hand = jax.shard_map(hand, mesh=mesh, in_specs=specs, out_specs=P("t", None), check_vma=False)
    compare("sequence parallel", jax.jit(lambda up, down, x: jax.nn.relu(x @ up) @ down,
                                         out_shardings=NamedSharding(mesh, P("t", None))), jax.jit(by_hand), arguments)


def main():
    if len(VULKAN) < COUNT:
        print(f"{len(VULKAN)} devices, {COUNT} needed: VXLA_DEVICES={COUNT}")
        return 77
    return run_cases()


if __name__ == "__main__":
    sys.exit(main())
