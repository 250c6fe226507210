#!/usr/bin/env python3
"""Plants the faults of tests/planted_faults.json one by one, and tells which tier of the tests catches each.

    tools/planted_faults.py --check            each fault's text is in its file once (ctest runs this)
    tools/planted_faults.py --list             the faults
    tools/planted_faults.py [NAME ...]         plants all, or the named ones: builds, runs the tests that the fault names
    tools/planted_faults.py --whole [NAME ...] runs the whole tier instead of those tests

The faults are planted in a worktree of HEAD, build-planted, with a build of its own; the checkout stays as it is. ccache makes it bearable. A
fault that no test of its tier catches makes the exit code 1. Device tests want the environment that CONTRIBUTING.md names.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build-planted" / "tree"
BUILD = TREE / "build"  # as in any checkout, so that ccache finds what others compiled
FAULTS = ROOT / "tests" / "planted_faults.json"
TIERS = ("fast", "pr", "nightly")


def read(path):
    faults = json.loads(path.read_text())
    wrong = []
    for fault in faults:
        text = (ROOT / fault["file"]).read_text()
        count = text.count(fault["old"])
        # A fault may change the first of several places that say the same.
        if count == 0:
            wrong.append(f'{fault["name"]}: {fault["file"]} does not hold: {fault["old"]}')
        if fault["tier"] not in TIERS:
            wrong.append(f'{fault["name"]}: {fault["tier"]} is no tier')
    names = [fault["name"] for fault in faults]
    wrong += [f"{name}: two faults are called so" for name in set(names) if names.count(name) > 1]
    return faults, wrong


def run(*command, **options):
    return subprocess.run(command, text=True, capture_output=True, **options)


def must(*command, **options):
    done = run(*command, **options)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))}: {done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done.stdout


def prepare():
    if not TREE.exists():
        TREE.parent.mkdir(exist_ok=True)
        must("git", "-C", ROOT, "worktree", "add", "--detach", "--force", TREE, "HEAD")
    else:
        must("git", "-C", TREE, "reset", "--hard", must("git", "-C", ROOT, "rev-parse", "HEAD").strip())
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if run("sh", "-c", "command -v ccache").returncode == 0 else []
    must("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DVXLA_BUILD_TESTS=ON", "-DVXLA_WERROR=ON", *launcher)


def suites(fault):
    """The targets of the tests that a fault names."""
    names = {re.match(r"\w+", name).group() for name in fault["tests"].split("|")}
    targets = {"corpus_on_llvmpipe": "vxla", "docs": None}
    built = {targets.get(name, name) for name in names} - {None}
    return sorted(built | ({"vxla"} if {"program_tests", "runtime_test"} & built else set()))


def plant(fault, whole):
    path = TREE / fault["file"]
    text = path.read_text()
    path.write_text(text.replace(fault["old"], fault["new"], 1))
    try:
        targets = [f'{fault["tier"]}_tests'] if whole else suites(fault)
        if targets:
            built = run("cmake", "--build", BUILD, "--target", *targets)
            if built.returncode != 0:
                return "the build", built.stdout[-500:]
        chosen = [] if whole else ["-R", "^(" + fault["tests"] + ")"]
        tested = run("ctest", "--test-dir", BUILD, "-L", f'^{fault["tier"]}$', "--stop-on-failure", "-j", str(os.cpu_count()), *chosen)
        failed = re.findall(r"^\s+\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|.*Abort.*|ILLEGAL)\)", tested.stdout, re.M)
        return (f'{fault["tier"]}: {failed[0]}' if failed else "", tested.stdout[-500:])
    finally:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    faults, wrong = read(FAULTS)
    if wrong:
        sys.exit("\n".join(wrong))
    unknown = set(options.names) - {fault["name"] for fault in faults}
    if unknown:
        sys.exit(f'no fault is called {", ".join(sorted(unknown))}')
    if options.check:
        print(f"{len(faults)} faults can be planted")
        return
    if options.list:
        for fault in faults:
            print(f'{fault["name"]:20} {fault["tier"]:8} {fault["what"]}')
        return
    prepare()
    missed = 0
    for fault in faults:
        if options.names and fault["name"] not in options.names:
            continue
        begin = time.time()
        caught, said = plant(fault, options.whole)
        missed += not caught
        print(f'{fault["name"]:20} {"caught by " + caught if caught else "MISSED"} ({time.time() - begin:.0f} s): {fault["what"]}', flush=True)
        if not caught:
            print(said)
    print(f"{missed} missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
