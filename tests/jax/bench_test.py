"""`vxla bench --against xla` beside the XLA of this Python's JAX, on its CPU: bench_test.py VXLA."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = {  # types that numpy lacks, f64, an argument that is given back, and no argument at all
    "narrow.hlo": "ENTRY e { a = bf16[4,8] parameter(0)  b = s4[8] parameter(1)  c = f8e5m2[8] parameter(2)\n"
                  "s = bf16[8] convert(b)  t = bf16[8] convert(c)  u = bf16[8] add(s, t)\n"
                  "v = bf16[4,8] broadcast(u), dimensions={1}  ROOT r = bf16[4,8] multiply(a, v) }",
    "donated.hlo": "HloModule m, input_output_alias={ {}: (0, {}) }\nENTRY e { a = f64[16] parameter(0)  ROOT r = f64[16] sine(a) }",
    "alone.hlo": "ENTRY e { i = s32[100] iota(), iota_dimension=0  ROOT r = s32[100] multiply(i, i) }",
}

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for file, text in PROGRAMS.items():
        (folder / file).write_text(text)
    done = subprocess.run([sys.argv[1], "bench", *sorted(PROGRAMS), "--against", "xla", "--python", sys.executable, "--device", "llvmpipe",
                           "--bindings", "descriptors", "--num-runs", "3", "--json"],
                          cwd=folder, env={**os.environ, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True, check=False)
if done.returncode != 0:
    sys.exit(f"exit code {done.returncode}: {done.stderr}")
rows = json.loads(done.stdout)
assert [row["name"] for row in rows] == sorted(PROGRAMS), rows
for row in rows:
    assert row.get("xla_ms", 0) > 0 and row["ms"] > 0 and row["ratio"] > 0 and row["xla_device_ms"] is None, row
print(f"{len(rows)} programs beside XLA's CPU")
