#!/usr/bin/env python3
"""Programs in vxla and in IREE's runtime, on the same Vulkan device: iree.py BUILD [--device NAME] [FILE ...]

BUILD/vxla is measured; IREE comes from PyPI into BUILD/iree_venv. A FILE is a program of static shapes that vxla converts
to StableHLO; without one: the network of `vxla bench embed`, 30 products of 32 x 32 with bias and tanh. Both submit and
wait, with arguments and results in device memory; the best run counts. Exit code 77: IREE cannot be had.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

VERSION = "3.13.0"


def tool(build, name):
    """A command of IREE's, installed when it is first asked for."""
    folder = build / "iree_venv"
    if not (folder / "bin" / name).exists():
        venv.create(folder, with_pip=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", f"iree-base-compiler=={VERSION}",
               f"iree-base-runtime=={VERSION}"]
        if subprocess.run(pip, check=False).returncode != 0:
            print("iree.py: IREE cannot be installed from PyPI", file=sys.stderr)
            sys.exit(77)
    return folder / "bin" / name


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def layers(count):
    """tools/bench/cases.cc has the same."""
    lines = ["HloModule layers", "ENTRY layers {", "t0 = f32[32,32] parameter(0)", "w = f32[32,32] parameter(1)",
             "b = f32[32,32] parameter(2)"]
    for k in range(1, count + 1):
        lines += [f"d{k} = f32[32,32] dot(t{k - 1}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
                  f"a{k} = f32[32,32] add(d{k}, b)",
                  f"{'ROOT ' if k == count else ''}t{k} = f32[32,32] tanh(a{k})"]
    return "\n".join(lines + ["}"])


def inputs(stablehlo):
    """Zeros for the arguments of @main: times hardly depend on them."""
    signature = re.search(r"@main\((.*?)\)\s*->", stablehlo, re.S).group(1)
    return [f"--input={shape}=0" for shape in re.findall(r"tensor<(\w+)>", signature)]


def measure_iree(build, device, stablehlo, folder, runs):
    source, module = folder / "program.mlir", folder / "program.vmfb"
    source.write_text(stablehlo)
    output(tool(build, "iree-compile"), source, "--iree-input-type=stablehlo", "--iree-hal-target-device=vulkan",
           "-o", module)
    uri = "vulkan://GPU-" + device["uuid"].replace("-", "")
    report = output(tool(build, "iree-benchmark-module"), f"--module={module}", f"--device={uri}", "--function=main",
                    *inputs(stablehlo), "--benchmark_min_warmup_time=0.5", "--benchmark_min_time=1x",
                    f"--benchmark_repetitions={runs}", "--benchmark_format=json")
    return min(run["real_time"] for run in json.loads(report)["benchmarks"] if run["run_type"] == "iteration")


def measure_vxla(build, device, program, runs):
    rows = json.loads(output(build / "vxla", "bench", program, "--device", device["uuid"], "--num-runs", str(runs),
                             "--json"))
    return {row["bindings"]: row["ms"] for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--device", default="", help="a part of the name of a device")
    parser.add_argument("--num-runs", type=int, default=100)
    options = parser.parse_intermixed_args()
    vxla = options.build / "vxla"
    devices = [d for d in json.loads(output(vxla, "devices", "--json")) if options.device.lower() in d["name"].lower()]
    if not devices:
        sys.exit(f"iree.py: no device is named '{options.device}'")
    print(f"{devices[0]['name']}; IREE {VERSION}; ms, the best of {options.num_runs}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not options.files:
            options.files = [folder / "layers_30.hlo"]
            options.files[0].write_text(layers(30))
        for program in options.files:
            ours = measure_vxla(options.build, devices[0], program, options.num_runs)
            converted = folder / "converted.mlir"
            output(vxla, "convert", program, converted)
            try:
                theirs = f"{measure_iree(options.build, devices[0], converted.read_text(), folder, options.num_runs):.3f}"
            except subprocess.CalledProcessError as error:
                theirs = f"fails ({pathlib.Path(error.cmd[0]).name})"
            print(f"{program}: vxla " + ", ".join(f"{ms:.3f} {how}" for how, ms in ours.items()) + f"; IREE {theirs}")


if __name__ == "__main__":
    main()
