"""jax.distributed: processes of one job, each with two logical devices, which compute what one process computes.

PYTHONPATH names the build's python folder; VXLA_DEVICES says what devices a process has. Options: --processes=N (2), --only=PART of a
name. The script starts itself, once for each process, and the first process tells how it went.
"""

import os
import signal
import socket
import subprocess
import sys
import time

GIVEN = dict(argument.removeprefix("--").split("=") for argument in sys.argv[1:] if "=" in argument)
COUNT = int(GIVEN.get("processes", 2))

if "process" not in GIVEN:  # the one that starts the others
    port = 10000 + os.getpid() * 37 % 20000
    with socket.socket() as free:  # below those that systems give to connections of others meanwhile
        while free.connect_ex(("127.0.0.1", port)) == 0:
            port += 1
    others = [subprocess.Popen([sys.executable, __file__, *sys.argv[1:], f"--process={i}", f"--port={port}"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for i in range(COUNT)]
    ends = []
    for i, process in enumerate(others):
        try:
            said, _ = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0] + "\nit hung"
        ends.append(process.returncode)
        print(f"process {i} ended with {process.returncode}:\n{said}", flush=True)
    # The last one kills itself in the last case, after which it is dead to the others.
    sys.exit(0 if ends == [0] * (COUNT - 1) + [-signal.SIGKILL] else 1)

os.environ.setdefault("JAX_PLATFORMS", "vulkan,cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

from cases import case, run_cases

SELF = int(GIVEN["process"])
jax.distributed.initialize(f"127.0.0.1:{GIVEN['port']}", COUNT, SELF)
# One that has no devices is named by all at once. Then they try again.
HAS = os.environ.get("VXLA_DEVICES")
if SELF == COUNT - 1:
    os.environ["VXLA_DEVICES"] = "no such device"
BEGIN = time.monotonic()
try:
    jax.devices()
except RuntimeError as error:
    assert "no such device" in str(error) and (SELF == COUNT - 1 or f"process {COUNT - 1} did not start" in str(error)), error
    assert time.monotonic() - BEGIN < 60
else:
    raise AssertionError("nobody noticed")
os.environ.pop("VXLA_DEVICES", None)
if HAS is not None:
    os.environ["VXLA_DEVICES"] = HAS
DEVICES = jax.devices()
LOCAL = len(jax.local_devices())


def mesh_of(shape, names, devices=None):
    return Mesh(np.array(DEVICES if devices is None else devices).reshape(shape), names, axis_types=(AxisType.Auto,) * len(names))


def numbers(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def placed(value, mesh, spec):
    """The array as all processes have it: each gives what lies on its devices."""
    return jax.make_array_from_callback(value.shape, NamedSharding(mesh, spec), lambda index: value[index])


def expect(array, expected, tolerance=1e-5):
    """What of the array lies on this process's devices."""
    assert array.shape == expected.shape and array.addressable_shards, array.shape
    for shard in array.addressable_shards:
        np.testing.assert_allclose(np.asarray(shard.data), expected[shard.index], rtol=tolerance, atol=tolerance)


@case
def every_process_knows_all_devices():
    assert jax.process_count() == COUNT and jax.process_index() == SELF
    assert len(DEVICES) == COUNT * LOCAL and [d.id for d in DEVICES] == list(range(len(DEVICES)))
    assert [d.process_index for d in DEVICES] == [i // LOCAL for i in range(len(DEVICES))]
    assert [d.process_index for d in jax.local_devices()] == [SELF] * LOCAL
    assert [d.local_hardware_id for d in jax.local_devices()] == list(range(LOCAL))
    assert not jax.device_put(np.ones(2), DEVICES[(SELF + 1) % COUNT * LOCAL]).is_fully_addressable
    assert float(jax.jit(lambda x: x.sum())(np.ones(4, np.float32))) == 4  # a process alone


@case
def products_with_shardings():
    a, b = numbers(8, 16), numbers(16, 24)
    mesh = mesh_of((COUNT, LOCAL), ("x", "y"))
    for first, second in ((P("x", None), P(None, "y")), (P(None, "x"), P("x", "y")), (P("y", "x"), P("x", None))):
        for out in (P(), P("x", "y"), P("y", None)):
            run = jax.jit(lambda a, b: jnp.tanh(a @ b), out_shardings=NamedSharding(mesh, out))
            expect(run(placed(a, mesh, first), placed(b, mesh, second)), np.tanh(a @ b), 1e-4)
    # Devices in another order, and processes in it.
    turned = mesh_of((len(DEVICES),), ("x",), DEVICES[::-1])
    expect(jax.jit(lambda a: jnp.cumsum(a, 0), out_shardings=NamedSharding(turned, P("x")))(placed(a, turned, P("x"))),
           np.cumsum(a, 0), 1e-4)


@case
def collectives_by_hand():
    mesh = mesh_of((len(DEVICES),), ("i",))
    x = numbers(len(DEVICES), 6)

    def run(x):
        turn = [(i, (i + 1) % len(DEVICES)) for i in range(len(DEVICES))]
        return lax.psum(x, "i"), lax.ppermute(x, "i", turn), lax.all_gather(x[0], "i"), lax.axis_index("i") + jnp.zeros(1, jnp.int32)
    total, turned, gathered, index = jax.jit(jax.shard_map(
        run, mesh=mesh, in_specs=P("i"), out_specs=(P(), P("i"), P(), P("i")), check_vma=False))(placed(x, mesh, P("i")))
    expect(total, x.sum(0, keepdims=True))
    expect(turned, np.roll(x, 1, 0))
    expect(gathered, x)
    expect(index, np.arange(len(DEVICES)))


@case
def replicas_of_pmap():
    own = numbers(LOCAL, 3, seed=SELF)
    given = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(own)
    everyone = sum(numbers(LOCAL, 3, seed=i).sum(0) for i in range(COUNT))
    for shard in given.addressable_shards:
        np.testing.assert_allclose(np.asarray(shard.data).reshape(3), everyone, rtol=1e-5)


@case
def devices_of_some_processes():
    some = [d for d in DEVICES if d.process_index in (0, COUNT - 1)][::LOCAL]
    if SELF in (0, COUNT - 1):
        mesh, x = mesh_of((2,), ("x",), some), numbers(4, 5)
        expect(jax.jit(lambda x: x - x.mean(0), out_shardings=NamedSharding(mesh, P("x")))(placed(x, mesh, P("x"))), x - x.mean(0))


@case
def training():
    """Data parallel, with a loop whose condition the devices decide together."""
    x, w = numbers(8 * len(DEVICES), 4), numbers(4, seed=5)
    y = x @ w
    mesh = mesh_of((len(DEVICES),), ("data",))

    def fit(x, y):
        def more(state):
            return (state[0] < 200) & (jnp.mean((x @ state[1] - y) ** 2) > 1e-6)

        def step(state):
            return state[0] + 1, state[1] - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(state[1])
        return lax.while_loop(more, step, (0, jnp.zeros(4)))
    steps, found = jax.jit(fit, out_shardings=NamedSharding(mesh, P()))(placed(x, mesh, P("data")), placed(y, mesh, P("data")))
    expect(found, w, 1e-2)
    assert 10 < int(steps) < 200, int(steps)


@case
def what_jax_has_for_several_hosts():
    multihost_utils.sync_global_devices("here")
    assert multihost_utils.process_allgather(np.array([SELF])).reshape(-1).tolist() == list(range(COUNT))
    assert int(multihost_utils.broadcast_one_to_all(np.array(SELF + 7))) == 7


@case
def a_process_that_is_killed_is_reported_by_all():
    mesh = mesh_of((len(DEVICES),), ("x",))
    x = placed(numbers(len(DEVICES)), mesh, P("x"))
    run = jax.jit(lambda x: x.sum(), out_shardings=NamedSharding(mesh, P()))
    run(x).block_until_ready()
    begin = time.monotonic()
    if SELF == COUNT - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        for _ in range(1000):
            run(x).block_until_ready()
    except Exception as error:
        assert "has ended" in str(error) and f"process {COUNT - 1}" in str(error), error
        assert time.monotonic() - begin < 20
    else:
        raise AssertionError("nobody noticed")


code = run_cases()
sys.stdout.flush()
os._exit(code)  # JAX would wait for the one that is gone
