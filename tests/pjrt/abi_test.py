"""The plugin's table and its calls against pypjrt's own declarations of PJRT's C API, and pypjrt's conformance test of a plugin.

abi_test.py PLUGIN PYPJRT COMPILER INCLUDE: the library, the folder of pypjrt's modules, a C++ compiler, and the folder of the header
that the plugin was compiled with.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

# What the plugin does not do, with the reason.
UNSUPPORTED = {
    "device.clear_memory_stats": "the runtime's counters only go on",
    "topology.serialize": "a topology is what the machine has",
    "topology.create_by_name": "a topology is what the machine has",
    "topology.client_free_compile": "programs are compiled for a device that is open",
    "transfer.async_host_to_device": "JAX does not call it",
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


def check_offsets(abi, compiler, include):
    """Each field of the header's structs lies where pypjrt says, by the compiler's own word."""
    known = {name: value for name, value in vars(abi).items()
             if isinstance(value, type) and issubclass(value, ctypes.Structure) and name.startswith("PJRT_")}
    with open(os.path.join(include, "xla/pjrt/c/pjrt_c_api.h"), encoding="utf-8") as file:
        declared = set(re.findall(r"^(?:typedef )?struct (PJRT_\w+) \{", file.read(), re.MULTILINE))
    lines = ["#include <cstddef>", '#include "xla/pjrt/c/pjrt_c_api.h"']
    fields = 0
    for name in sorted(declared & set(known)):
        for field, *_ in known[name]._fields_:
            # ctypes names what C leaves without a name.
            if not hasattr(known[name], field) or field.startswith("_") or field == "u":
                continue
            offset = getattr(known[name], field).offset
            lines.append(f'static_assert(offsetof({name}, {field}) == {offset}, "{name}.{field}");')
            fields += 1
    assert fields > 800, fields
    subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", "-I", include, "-x", "c++", "-"],
                   input="\n".join(lines), text=True, check=True)
    print(f"{fields} fields of {len(declared & set(known))} structs")


def call(api, slot, args):
    """A slot by its name, with arguments that the caller has made."""
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(getattr(api, slot))(ctypes.byref(args))


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
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        subprocess.run([sys.executable, "-m", "pypjrt.conform", plugin, "--json", report], stdout=subprocess.DEVNULL,
                       env={**os.environ, "PYTHONPATH": folder}, timeout=300, check=False)
        with open(report, encoding="utf-8") as file:
            results = json.load(file)["checks"]
    by_status = {}
    for each in results:
        by_status.setdefault(each["result"], []).append(each["id"])
    assert not by_status.get("fail"), [each for each in results if each["result"] == "fail"]
    assert len(by_status["pass"]) >= 50, by_status
    new = [name for name in by_status.get("unsupported", []) if name not in UNSUPPORTED]
    assert not new, new
    print({status: len(names) for status, names in by_status.items()})


def main():
    plugin, folder, compiler, include = sys.argv[1:5]
    sys.path.insert(0, folder)
    from pypjrt._abi import pjrt_0_114 as abi
    check_offsets(abi, compiler, include)
    api = check_table(plugin, abi)
    check_sizes(api, abi)
    check_conformance(plugin, folder)


if __name__ == "__main__":
    main()
