"""What a JAX user's process must bear: each case is a process of its own that ends by itself, with exceptions where it says so.

PYTHONPATH names the build's python folder. Option: --only=PART of a name.
"""

import concurrent.futures
import os
import subprocess
import sys
import textwrap

BEGIN = """
import gc, os, random, signal, sys, threading, time
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import io_callback
VULKAN = jax.devices("vulkan")

def raises(words, function, *arguments):
    try:
        jax.block_until_ready(function(*arguments))
    except Exception as error:
        assert words in str(error), f"'{words}' is not in: {error}"
        return
    raise AssertionError("nothing was raised")

def works():
    for device in VULKAN[:2]:
        x = jax.device_put(np.arange(6, dtype=np.float32), device)
        assert float(jax.jit(lambda x: (x * 2).sum())(x)) == 30
"""

CASES = {
    "arguments of another device": """
        a, b = (jax.device_put(np.ones(4, np.float32), device) for device in VULKAN[:2])
        raises("incompatible devices", lambda: a + b)
        raises("incompatible devices", jax.jit(jnp.dot), a, b)
        compiled = jax.jit(lambda x: x + 1).lower(a).compile()
        raises("sharding", compiled, b)
        raises("", compiled, jax.device_put(np.ones(4, np.float32), jax.devices("cpu")[0]))
        raises("", compiled, np.ones(5, np.float32))
        works()
    """,
    "collection in any order": """
        random.seed(1)
        def step(k):
            return jax.jit(lambda x, y: (jnp.sin(x) @ y + k, y * k), donate_argnums=0)
        for trial in range(4):
            x, y = (jax.device_put(np.ones((32, 32), np.float32), VULKAN[trial % 2]) for _ in range(2))
            things = [x, y]
            for k in range(3):
                function = step(k)
                results = function(things[-2] + 0, y)
                things += [function, results[0], jax.jit(lambda x: io_callback(lambda v: v, x, x))(results[1]), results[1]]
                things[-1].copy_to_host_async()
            del x, y, results, function
            while things:
                things.pop(random.randrange(len(things)))
                if random.random() < 0.3:
                    gc.collect()
        views = [np.asarray(jax.device_put(np.arange(5), VULKAN[0]) + k) for k in range(3)]
        jax.clear_caches()
        gc.collect()
        assert [int(view.sum()) for view in views] == [10, 15, 20]
        works()
    """,
    "backends that are cleared": """
        from jax.extend.backend import clear_backends
        x = jax.device_put(np.arange(6, dtype=np.float32), VULKAN[0])
        y = jax.jit(lambda x: x * 2)(x)
        function = jax.jit(lambda x: x + 1)
        function(x)
        clear_backends()
        assert float(np.asarray(y).sum()) == 30
        VULKAN = jax.devices("vulkan")
        works()
        del x, y
        gc.collect()
        works()
    """,
    "exit with work in flight": """
        x = jnp.ones((300, 300))
        for _ in range(20):
            x = x @ x / 300
        np.asarray(x[:1]), x.copy_to_host_async()
    """,
    "exit with a callback in flight": """
        def slow(x):
            time.sleep(0.4)
            return x
        x = jax.device_put(np.ones(4, np.float32), VULKAN[0])
        function = jax.jit(lambda x: jax.pure_callback(slow, x, x) + 1)
        results = [function(x) for _ in range(3)]
        time.sleep(0.1)
    """,
    "exit by an exception": """
        x = jnp.ones((300, 300)) @ jnp.ones((300, 300))
        raise SystemExit(0)
    """,
    "fork": """
        import warnings
        warnings.simplefilter("ignore")
        works()
        x = jax.device_put(np.ones(4, np.float32), VULKAN[0])
        function = jax.jit(lambda x: x * 3)
        np.asarray(function(x))
        def forked(work):
            child = os.fork()
            if child == 0:
                work()
                sys.exit(0)  # with all that Python does at its end
            for _ in range(100):
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid:
                    assert status == 0, f"the child ends with {status}"
                    return
                time.sleep(0.1)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child never ends")
        def use():
            raises("was forked", function, x)
            raises("was forked", lambda: jax.device_put(np.ones(3, np.float32), VULKAN[0]))
            raises("was forked", lambda: np.asarray(x))
            assert x.shape == (4,) and x.devices() == {VULKAN[0]}
            x.delete()
        forked(lambda: None)
        forked(use)
        works()
        assert float(function(x)[0]) == 3
    """,
    "callbacks that raise": """
        def fail(*_):
            raise ValueError("no luck")
        def leave(*_):
            raise SystemExit(3)
        def interrupt(*_):
            raise KeyboardInterrupt("stop")
        def dictionary(*_):
            return {"a": 1}
        x = jax.device_put(np.ones(4, np.float32), VULKAN[0])
        for function, words in ((fail, "no luck"), (leave, "SystemExit"), (interrupt, "KeyboardInterrupt"), (dictionary, ""),
                                (lambda v: None, ""), (lambda v: (v, v), ""), (lambda v: "text", ""), (lambda v: v[:2], "shape"),
                                (lambda v: v.astype(np.int8), "")):
            raises(words, jax.jit(lambda x: jax.pure_callback(function, x, x)), x)
            raises(words, jax.jit(lambda x: io_callback(function, x, x)), x)
            works()
        raises("no luck", jax.jit(lambda x: jax.lax.fori_loop(0, 9, lambda i, v: jax.pure_callback(fail, v, v), x)), x)
        failed = jax.jit(lambda x: jax.pure_callback(fail, x, x))(x)
        raises("no luck", lambda: failed + 1)
        raises("no luck", lambda: np.asarray(failed))
        raises("no luck", lambda: jax.device_put(failed, VULKAN[1]))
        raises("no luck", jax.jit(lambda x: x * 2, donate_argnums=0), failed)
        jax.jit(lambda x: (jax.debug.callback(fail, x), x)[1])(x)
        raises("no luck", jax.effects_barrier)
        jax._src.dispatch.runtime_tokens.clear()
        for number in range(3):  # functions are there, but no program from elsewhere knows their numbers
            raises("CpuCallback error: KeyError", jax.jit(lambda x: jax.ffi.ffi_call(
                "vxla_python_callback", x, custom_call_api_version=2, legacy_backend_config=f"{number} 1")(x)), x)
        works()
    """,
    "memory that is not there": """
        big = 1 << 41
        x = jax.device_put(np.ones(4, np.float32), VULKAN[0])
        with jax.default_device(VULKAN[0]):
            raises("RESOURCE_EXHAUSTED", lambda: jnp.zeros(big, jnp.float32))
            raises("RESOURCE_EXHAUSTED", jax.jit(lambda x: jnp.sort(jnp.broadcast_to(x[0], big))[:3]), x)
            raises("RESOURCE_EXHAUSTED", jax.jit(lambda x: jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct((big,), x.dtype), x)), x)
            raises("RESOURCE_EXHAUSTED", jax.jit(lambda x: jax.lax.while_loop(
                lambda v: v[0] < 3, lambda v: jnp.cumsum(v) + 1, jnp.broadcast_to(x[0], big))), x)
            raises("", lambda: jax.device_put(np.broadcast_to(np.float32(1), big), VULKAN[0]))
        works()
    """,
    # Each its own arrays: jaxlib itself ends the process where threads delete one array, on JAX's CPU too.
    "threads that delete": """
        function = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)
        errors = []
        def work(seed):
            for k in range(40):
                x = jax.device_put(np.ones(100, np.float32), VULKAN[seed % 2])
                function(x) if (k + seed) % 2 else x.delete()
                try:
                    np.asarray(x)
                except RuntimeError as error:
                    errors.append(error)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(errors) == 160 and all("deleted" in str(error) for error in errors), errors
        works()
    """,
}


def run(name):
    code = BEGIN + textwrap.dedent(CASES[name]) + "\nprint('good')\n"
    if name == "exit by an exception":
        code = code.replace("raise SystemExit", "print('good', flush=True)\nraise SystemExit")
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "JAX_PLATFORMS": "vulkan,cpu", "VXLA_DEVICES": "llvmpipe,llvmpipe"})
    except subprocess.TimeoutExpired:
        return f"{name}: it never ends"
    if done.returncode != 0 or "good" not in done.stdout:
        return f"{name}: exit code {done.returncode}: {done.stderr[-1500:]}"
    return None


def main():
    only = [argument.removeprefix("--only=") for argument in sys.argv if argument.startswith("--only=")]
    names = [name for name in CASES if not only or any(part in name for part in only)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [failure for failure in pool.map(run, names) if failure is not None]
    print(*failures, f"{len(names)} cases, {len(failures)} failed", sep="\n", flush=True)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
