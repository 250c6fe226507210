"""The plugin's table and its calls against pypjrt's own declarations of PJRT's C API, and pypjrt's conformance test of a plugin.

abi_test.py PLUGIN PYPJRT: the library, and the folder of pypjrt's modules (the source distribution that the header is from).
"""

import ctypes
import json
import os
import subprocess
import sys

# What the plugin does not do, with the reason.
UNSUPPORTED = {
    "device.clear_memory_stats": "the runtime's counters only go on",
    "topology.serialize": "a topology is what the machine has",
    "topology.create_by_name": "a topology is what the machine has",
    "topology.client_free_compile": "programs are compiled for a device that is open",
    "transfer.async_host_to_device": "JAX does not call it",
    "buffer.opaque_device_pointer": "device memory has no pointer that another library can use",
}


def check_table(plugin, abi):
    """Every slot is there, and at the place that pypjrt states."""
    library = ctypes.CDLL(plugin)
    library.GetPjrtApi.restype = ctypes.c_void_p
    address = library.GetPjrtApi()
    api = abi.PJRT_Api.from_address(address)
    size = api.struct_size
    words = (ctypes.c_void_p * (size // 8)).from_address(address)
    assert api.pjrt_api_version.major_version == 0 and size >= 1144, size
    assert all(words[i] for i in range(5, size // 8)), "a slot is null"
    assert len({words[i] for i in range(5, size // 8)}) == size // 8 - 5, "two slots are one function"
    return api


def call(api, slot, args):
    """A slot by its name, with arguments that the caller has made."""
    function = getattr(api, slot)
    if not callable(function) or isinstance(function, int):
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(ctypes.cast(function, ctypes.c_void_p).value)
    else:
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(ctypes.cast(function, ctypes.c_void_p).value)
    return function(ctypes.byref(args))


def check_sizes(api, abi):
    """What an older caller's struct lacks is not written, and a newer one's further fields stay."""
    class Attributes(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("attributes", ctypes.c_void_p),
                    ("count", ctypes.c_size_t), ("later", ctypes.c_size_t)]
    args = Attributes(struct_size=24, count=77, later=99)
    assert not call(api, "PJRT_Plugin_Attributes", args)
    assert args.attributes and args.count == 77 and args.later == 99 and args.struct_size == 24
    args = Attributes(struct_size=ctypes.sizeof(Attributes), later=99)
    assert not call(api, "PJRT_Plugin_Attributes", args)
    assert args.count == 3 and args.later == 99


def check_conformance(plugin, folder):
    done = subprocess.run([sys.executable, "-m", "pypjrt.conform", plugin, "--json"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": folder}, timeout=300)
    report = json.loads(done.stdout)
    results = report.get("results") or report.get("checks") or report
    by_status = {}
    for each in results:
        by_status.setdefault(str(each["status"]).lower(), []).append((each.get("id") or each["name"], each.get("detail")))
    failed = [each for status, group in by_status.items() if "fail" in status or "error" in status for each in group]
    assert not failed, failed
    new = [each for each in by_status.get("unsupported", []) if each[0] not in UNSUPPORTED]
    assert not new, new
    print({status: len(group) for status, group in by_status.items()})


def main():
    plugin, folder = sys.argv[1:3]
    sys.path.insert(0, folder)
    from pypjrt._abi import pjrt_0_114 as abi
    api = check_table(plugin, abi)
    check_sizes(api, abi)
    check_conformance(plugin, folder)


if __name__ == "__main__":
    main()
