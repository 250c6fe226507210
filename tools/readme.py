#!/usr/bin/env python3
"""README's numbers, output, commands and picture of a report: from the data, and from the program.

    tools/readme.py                            # exit code 1: a number is not what its source says, or has no source
    tools/readme.py --write                    # writes into README.md the numbers that its sources say
    tools/readme.py --run build/vxla           # also the output of `vxla diff`, and the commands; 77: there is no lavapipe
    tools/readme.py --run build/vxla --write   # writes that output into README.md
    tools/readme.py --run build/vxla --picture chromium   # docs/pictures/report.png, by a browser: the page of that diff
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
EXAMPLE = "vxla diff layer.hlo --kernel swish=swish.comp --custom-call swish=./libswish.so:swish"


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def run_of(start):
    """The result of the recorded run whose name begins so (docs/internals/full-run.md)."""
    rows = [row for row in json.loads(read("docs/internals/data/full_run.json"))["rows"] if row[0].startswith(start)]
    if len(rows) != 1:
        sys.exit(f"docs/internals/data/full_run.json: {len(rows)} rows begin with '{start}', and one is wanted")
    return rows[0][1]


def slower(case):
    """XLA's time over vxla's on an H100 of each part of a row, turned round."""
    rows = [row for row in json.loads(read("docs/benchmarks/data/h100_kernels.json"))["rows"] if row[0].startswith(case)]
    if len(rows) != 1:
        sys.exit(f"docs/benchmarks/data/h100_kernels.json: {len(rows)} rows begin with '{case}', and one is wanted")
    return [1 / float(ratio) for ratio in rows[0][3].split(";")]


def found(pattern, text, source):
    match = re.search(pattern, text)
    if not match:
        sys.exit(f"{source}: nothing like {pattern}")
    return match[1]


def facts():
    """Sentences as they have to be, each with the numbers that its source gives now."""
    version = found(r"project\(vxla VERSION ([\d.]+)", read("CMakeLists.txt"), "CMakeLists.txt")
    quickstart = run_of("`tools/quickstart.sh` on a bare Debian 12 (tools")
    minutes, seconds = (int(found(fr"(\d+) {unit}", quickstart, "the recorded run of quickstart.sh")) for unit in ("min", "s with"))
    of_tests = re.search(r"(\d+) of the (\d+) ops_tests", json.dumps(json.loads(read("docs/internals/data/full_run.json"))))
    megabytes = found(r"([\d.]+) MB stripped", run_of("libvxla_runtime.so, stripped"), "the recorded run of libvxla_runtime.so")
    launch = found(r"at least ([\d.]+) ms a call", json.loads(read("docs/benchmarks/data/h100_programs.json"))["note"], "h100_programs.json")
    least = found(r"Needed: Vulkan ([\d.]+)", read("docs/guides/embedding.md"), "docs/guides/embedding.md")
    frames = found(r"functools.partial\(fluid, \d+, (\d+)\)", read("examples/fluid/fluid.py"), "examples/fluid/fluid.py")
    digits = found(r"([\d.]+) %", run_of("examples/digits_mlp/run.sh"), "the recorded run of examples/digits_mlp")
    licence = found(r"Apache License\s+Version ([\d.]+)", read("LICENSE"), "LICENSE")
    return [
        f"Version {version} is not released",
        f"Version {version}. The C API",
        f"The first took {round(minutes + seconds / 60)} minutes on two cores, packages included.",
        f"a driver of Vulkan {least} is enough",
        f"On an H100 they take {slower('dot f32')[-1]:.1f} times XLA's time in f32, and up to {WORDS[math.ceil(max(slower('dot 4096 bf16')))]} times in "
        "16-bit types",
        f"runtime alone, without the compiler, is {megabytes} MB.",
        f"at {launch} ms a call or more",
        f"{of_tests[1]} of {of_tests[2]} tests of operations were run by hand, and pass",
        f"{frames} steps of gathers and FFTs",
        f"gets {digits} % of the test digits right",
        f"Apache License {licence}",
        # What is named, not counted.
        "the exit code 0:", "On Debian 12 (", "Linux x86-64", "Windows x86-64", "NVIDIA H100, H200", "an NVIDIA H100:",
    ]


def with_numbers(readme):
    """README with each sentence's numbers as its source has them; a sentence that says something else stays, and the check tells of it."""
    number = re.compile(r"(\d[\d.,]*\d|\d)")
    for sentence in facts():
        parts = number.split(sentence)
        pattern = number.pattern.join(re.escape(text).replace(r"\ ", r"\s+") for text in parts[::2])
        there = re.search(pattern, readme)
        if there:
            numbers = iter(parts[1::2])
            readme = readme[:there.start()] + number.sub(lambda _: next(numbers), there[0]) + readme[there.end():]
    return readme


def check_numbers(readme):
    prose = re.sub(r"^```.*?^```$", "", readme, flags=re.S | re.M)
    prose = re.sub(r"`[^`]*`", "", re.sub(r"\]\([^)]*\)", "]", prose))
    prose = " ".join(prose.split())
    wrong = []
    for sentence in facts():
        if sentence not in prose:
            wrong.append(f"README.md: by its source this is to be there: {sentence}")
        prose = prose.replace(sentence, "")
    wrong += [f"README.md: a number that tools/readme.py has no source for: {prose[max(0, each.start() - 50):each.end() + 20]}"
              for each in re.finditer(r"\d[\d.,]*", prose)]
    return wrong


def run_example(vxla, folder, *options):
    done = subprocess.run([str(vxla), *EXAMPLE.split()[1:], "--device", "llvmpipe", *options], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 2 or done.returncode == 3:
        print(f"readme.py: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(77 if "llvmpipe" in done.stderr else 1)
    return done.stdout


def forgotten(folder):
    """The kernel without its factor."""
    shader = folder / "swish.comp"
    text = shader.read_text()
    if "-ATTR_beta * x" not in text:
        sys.exit("examples/custom_kernel/swish.comp: its factor is not there to be forgotten")
    whole = text
    shader.write_text(text.replace("-ATTR_beta * x", "-x"))
    return whole


def shortened(output):
    """What README shows of it: lines broken, rows and numbers left out."""
    lines, rows = [], 0
    for line in output.splitlines():
        line = re.sub(r", [\d.e+-]+ relative at \[[\d,]*\]", "", line).replace(" --device llvmpipe", "")
        line = re.sub(r", \d+ with other bits than .*", "", line)
        if line.startswith("  y = "):
            line = re.sub(r"worst [\d.e+]+ ulp at \[[\d,]*\], ", "worst ", line)
        row = re.match(r" +\[\d+\] ", line)
        rows += bool(row)
        if line.startswith("  relative errors") or (row and rows > 2):
            continue
        lines += line.replace("; worst difference", ";\n  worst difference").split("\n") if line.startswith("DIFFER") else [line]
    return lines


def check_output(vxla, readme, write, picture):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in (ROOT / "examples/custom_kernel").iterdir():
            shutil.copy(file, folder)
        subprocess.run(["c++", "-O2", "-shared", "-fPIC", "swish.cc", "-o", "libswish.so"], cwd=folder, check=True)
        whole = forgotten(folder)
        differs = shortened(run_example(vxla, folder, "--bisect", "--report", "out.html"))
        (folder / "swish.comp").write_text(whole)
        agrees = run_example(vxla, folder).splitlines()[0]
        if picture:
            subprocess.run([picture, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
                            "--window-size=1000,860", f"--screenshot={ROOT / 'docs/pictures/report.png'}", f"file://{folder / 'out.html'}"],
                           check=True, capture_output=True)
    agrees = re.sub(r"(worst difference [^,]*,).*", r"\1 ...", agrees)
    # The name of the device is this machine's.
    device = r"llvmpipe \([^)]*\), Mesa [\d.]+"
    if not re.search(device, readme):
        sys.exit("README.md: shows no output of llvmpipe")
    there = re.search(device, readme)[0]
    text = "\n".join([f"$ {EXAMPLE} --bisect --report out.html", *differs])
    blocks = [re.sub(device, there, f"```\n{block}\n```\n") for block in (text, agrees)]
    missing = [block for block in blocks if block not in readme]
    if missing and write:
        old = re.findall(r"^```\n.*?^```\n", readme, re.S | re.M)
        for block, was in zip(blocks, old):
            readme = readme.replace(was, block)
        (ROOT / "README.md").write_text(readme, encoding="utf-8")
        return []
    return [f"README.md: the program prints, shortened,\n{block}" for block in missing]


def check_commands(vxla, readme):
    """Each line of README's shell blocks that calls vxla, as it is written, beside a program, its arguments and a corpus."""
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", readme, re.S | re.M) for line in block.splitlines() if line.startswith("vxla ")]
    wrong = [] if len(lines) > 4 else [f"README.md: {len(lines)} commands that call vxla, and there were more when this was written"]
    environment = {**os.environ, "PATH": f"{vxla.parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "corpus").mkdir()
        for program in ("softmax_f32.mlir", "dot_f32.hlo"):
            shutil.copy(ROOT / "examples/corpus" / program, folder / "corpus")
        shutil.copy(ROOT / "examples/corpus/softmax_f32.mlir", folder / "program.mlir")
        # Its result is of the shape of its argument.
        subprocess.run([str(vxla), "run", "program.mlir", "--device", "cpu", "-o", "saved.npz"], cwd=folder, check=True, capture_output=True)
        with zipfile.ZipFile(folder / "saved.npz") as saved, zipfile.ZipFile(folder / "args.npz", "w") as arguments:
            arguments.writestr("arg_0.npy", saved.read("result_0.npy"))
        for line in lines:
            done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)
            written = re.findall(r"(?:-o|--report|--junit) (\S+)", line)
            missing = [file for file in written if not (folder / file).is_file()]
            if done.returncode != 0 or missing:
                wrong.append(f"README.md: {line}\n  exit code {done.returncode}; not written: {missing}\n{done.stdout}{done.stderr}")
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--run", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--picture")
    options = parser.parse_args()
    readme = read("README.md")
    if options.write:
        readme = with_numbers(readme)
        (ROOT / "README.md").write_text(readme, encoding="utf-8")
    wrong = check_numbers(readme)
    if options.run:
        wrong += check_output(options.run.resolve(), readme, options.write, options.picture)
        wrong += check_commands(options.run.resolve(), readme)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
