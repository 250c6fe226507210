#!/usr/bin/env python3
"""What a call from JAX costs on vxla's device and on a peer's, in one run: the time until the call returns, and until its result is there.

    python integrations/pjrt/jax_bench.py --peer LIBRARY [--json FILE]

LIBRARY is another PJRT plugin, such as XLA's CPU compiler behind the C API (the wheel lammps-jax-pjrt-cpu has one); without it JAX's own
CPU backend is the peer, which is called without the C API. Each row is the median of many calls, taken in turns on both devices; a device's own time counts only where the row says so.
"""
import argparse
import json
import os
import statistics
import time


def medians(jax, calls, count):
    """Microseconds until each call returns, the devices in turns; what a call leaves to its device is waited for outside of that."""
    times = [[] for _ in calls]
    for turn in range(count + 20):
        for call, found in zip(calls, times):
            start = time.perf_counter()
            result = call()
            end = time.perf_counter()
            jax.block_until_ready(result)
            if turn >= 20:
                found.append((end - start) * 1e6)
    return [statistics.median(found) for found in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", metavar="LIBRARY", help="a PJRT plugin to compare with")
    parser.add_argument("--json", metavar="FILE", help="write the rows to FILE")
    options = parser.parse_args()
    peer_name = "peer" if options.peer else "cpu"

    import jax
    import numpy as np
    from jax._src import xla_bridge

    jax.config.update("jax_platforms", f"vulkan,{peer_name}")
    if options.peer:
        xla_bridge.register_plugin(peer_name, library_path=os.path.abspath(options.peer))
    devices = [jax.devices("vulkan")[0], jax.devices(peer_name)[0]]

    def case(name, make, count):
        ours, peers = medians(jax, [make(device) for device in devices], count)
        print(f"{name:32} {ours:9.1f} {peers:9.1f} {ours / peers:6.2f}", flush=True)
        return {"case": name, "vxla_us": round(ours, 1), "peer_us": round(peers, 1), "ratio": round(ours / peers, 2)}

    def jitted(device):
        x = jax.device_put(np.ones(8, np.float32), device)
        function = jax.jit(lambda x: x + 1)
        return lambda: function(x)

    def waited(device):
        call = jitted(device)
        return lambda: call().block_until_ready()

    def eager(device):
        x = jax.device_put(np.ones(8, np.float32), device)
        return lambda: x + x

    def many(device):
        xs = [jax.device_put(np.ones(8, np.float32), device) for _ in range(50)]
        function = jax.jit(lambda xs: [x + 1 for x in xs])
        return lambda: function(xs)

    def put(device):
        x = np.ones(8, np.float32)
        return lambda: jax.device_put(x, device)

    def fetched(device):
        call = jitted(device)
        return lambda: np.asarray(call())

    print(f"{devices[0].device_kind} beside {devices[1].device_kind} ({'C API' if options.peer else 'no C API'}), jax {jax.__version__}")
    print(f"{'case':32} {'vxla, us':>9} {'peer, us':>9} {'ratio':>6}")
    rows = [
        case("jitted x + 1", jitted, 500),
        case("jitted x + 1, waited for", waited, 200),
        case("eager x + x", eager, 500),
        case("50 arguments and results", many, 100),
        case("device_put of 8 floats", put, 200),
        case("np.asarray of jitted x + 1", fetched, 200),
    ]
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"devices": [d.device_kind for d in devices], "jax": jax.__version__, "rows": rows}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
