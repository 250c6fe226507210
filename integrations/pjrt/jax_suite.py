"""Runs JAX's own tests on the plugin, and says for each file which share passes of what passes on JAX's CPU.

    python integrations/pjrt/jax_suite.py TESTS lax_test nn_test --every=10

TESTS is the folder `tests` of JAX's sources, of the version that is installed; nothing is fetched. Without names of files it is all of
FILES below. PYTHONPATH holds the build's `python` folder, unless the plugin is installed. Each file has a process of its own. A test that
kills it, or that takes longer than the limit, is a failure, and the rest go on in a new process. What fails is run once more on JAX's
CPU: a test that does not pass there does not count. Exit code: 0; 1 where a test fails that the list of expected failures lacks.
"""

import argparse
import fnmatch
import importlib.util
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import time
import traceback

FILES = """lax_test lax_numpy_test lax_numpy_operators_test lax_numpy_reducers_test lax_numpy_indexing_test lax_numpy_ufuncs_test
lax_numpy_einsum_test lax_numpy_setops_test lax_numpy_vectorize_test lax_control_flow_test lax_autodiff_test lax_vmap_test lax_vmap_op_test
lax_scipy_test lax_scipy_sparse_test lax_scipy_special_functions_test lax_scipy_spectral_dac_test scipy_stats_test nn_test random_test
random_lax_test random_impl_test fft_test linalg_test eigh_test svd_test qdwh_test image_test sparse_test sparse_bcoo_bcsr_test api_test
array_test batching_test aot_test export_test shape_poly_test python_callback_test debugging_primitives_test checkify_test memories_test
layout_test compilation_cache_test pmap_test shard_map_test""".split()
EXPECTED = pathlib.Path(__file__).parent / "jax_suite_expected.txt"


def read_expected(path):
    """Lines `file.Class.test # reason`, where names may hold * and ?; a line without a reason is an error."""
    patterns = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition("#")
        if not reason.strip():
            sys.exit(f"{path}:{number}: an expected failure without a reason: {line}")
        patterns.append((pattern.strip(), reason.strip()))
    return patterns


# The process that runs tests: it says by a line of JSON each which tests there are, which one begins and how it ended.

def tell(stream, **what):
    stream.write(json.dumps(what) + "\n")
    stream.flush()


def tests_of(path):
    from jax._src import test_util
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    pending, found = [test_util.JaxTestLoader().loadTestsFromModule(module)], {}
    while pending:
        item = pending.pop()
        try:
            pending.extend(reversed(list(item)))
        except TypeError:
            found[f"{type(item).__name__}.{item._testMethodName}"] = item
    return found


def outcome_of(test):
    import unittest
    result = unittest.TestResult()
    try:
        test.run(result)
    except BaseException:
        return "failed", traceback.format_exc()
    if result.failures or result.errors:
        return "failed", (result.failures + result.errors)[0][1]
    if result.skipped:
        return "skipped", result.skipped[0][1]
    if result.unexpectedSuccesses:
        return "failed", "an unexpected success"
    return "passed", ""


def work(path, device):
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what tests print is no answer
    request = json.loads(sys.stdin.readline())
    sys.argv[1:] = []
    from absl import flags
    flags.FLAGS(sys.argv[:1])
    from jax._src import test_util
    original = test_util.run_on_devices

    def run_on_devices(*names, **reason):
        return (lambda test: test) if {"cpu", "gpu"} & set(names) else original(*names, **reason)
    # What is skipped by the platform's name is not skipped.
    test_util.run_on_devices = run_on_devices
    found = tests_of(path)
    test_util.device_under_test = lambda: device
    tell(told, tests=list(found))
    if request["tests"] is None:
        return
    for name in request["tests"]:
        tell(told, begins=name)
        outcome, text = outcome_of(found[name]) if name in found else ("failed", "there is no such test")
        tell(told, ended=name, outcome=outcome, text=text[-6000:])


class Worker:
    def __init__(self, path, tests, options, platform):
        environment = dict(os.environ)
        environment.setdefault("JAX_NUM_GENERATED_CASES", "1")
        environment.setdefault("JAX_SKIP_SLOW_TESTS", "1")
        environment["JAX_PLATFORMS"] = "cpu" if platform == "cpu" else "vulkan,cpu"
        environment["JAX_ENABLE_X64"] = "1" if options.x64 else "0"
        device = "cpu" if platform == "cpu" else options.device
        self.errors = open(options.log, "ab")
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", str(path), device], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.process.stdin.write(json.dumps({"tests": tests}).encode() + b"\n")
        self.process.stdin.flush()
        self.buffer = b""

    def next(self, limit):
        """What it says next; None: it has ended; "late"."""
        end = time.monotonic() + limit
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))[0]:
                return "late"
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            if not read:
                return None
            self.buffer += read
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def end(self):
        self.process.kill()
        code = self.process.wait()
        self.errors.close()
        return code


def run_tests(path, tests, options, platform):
    """{test: (outcome, text, seconds)} in order."""
    outcomes, left = {}, list(tests)
    while left:
        worker, running, began = Worker(path, left, options, platform), None, 0.0
        while True:
            said = worker.next(options.limit if running else options.start_limit)
            if said is None or said == "late":
                break
            if "begins" in said:
                running, began = said["begins"], time.monotonic()
            elif "ended" in said:
                outcomes[said["ended"]] = (said["outcome"], said["text"], time.monotonic() - began)
                if options.verbose:
                    print(f"{said['outcome']:8} {time.monotonic() - began:6.1f} s {path.stem}.{said['ended']}", flush=True)
                running = None
        try:
            died = said is None and worker.process.wait(60)
        except subprocess.TimeoutExpired:
            died = "none within 60 s"
            print(f"{path.stem}: the process of its tests does not end", flush=True)
        worker.end()
        if running:
            text = f"took more than {options.limit} s" if said == "late" else f"the process ended with {died}"
            outcomes[running] = ("hung" if said == "late" else "crashed", text, time.monotonic() - began)
        left = [test for test in left if test not in outcomes]
        if left and not running:
            return outcomes | {test: ("failed", f"the file cannot be run: exit code {died}; see {options.log}", 0.0) for test in left}
    return outcomes


def list_tests(path, options):
    worker = Worker(path, None, options, "vulkan")
    said = worker.next(options.start_limit)
    worker.end()
    return said["tests"] if isinstance(said, dict) else None


def run_file(path, options, expected):
    names = list_tests(path, options)
    if names is None:
        print(f"{path.stem}: its tests cannot be listed; see {options.log}", flush=True)
        return {"file": path.stem, "run": 0, "passed": 0, "skipped": 0, "expected": 0, "unexpected": ["(all)"], "cpu": 0}, {}
    if options.only:
        names = [name for name in names if re.search(options.only, name)]
    names = names[options.offset::options.every]
    outcomes = run_tests(path, names, options, "vulkan")
    failed = [name for name, outcome in outcomes.items() if outcome[0] not in ("passed", "skipped")]
    not_on_cpu = set()
    if failed and not options.no_baseline:
        on_cpu = run_tests(path, failed, options, "cpu")
        not_on_cpu = {name for name in failed if on_cpu[name][0] != "passed"}
    unexpected, known = [], 0
    for name in failed:
        full = f"{path.stem}.{name}"
        reason = next((why for pattern, why in expected if fnmatch.fnmatchcase(full, pattern)), None)
        if name in not_on_cpu:
            continue
        if reason is not None:
            known += 1
            continue
        unexpected.append(name)
        outcome, text, seconds = outcomes[name]
        print(f"--- {full}: {outcome} ({seconds:.1f} s)\n{text[-options.text:]}", flush=True)
    count = {kind: sum(outcome[0] == kind for outcome in outcomes.values()) for kind in ("passed", "skipped")}
    row = {"file": path.stem, "run": len(outcomes), "passed": count["passed"], "skipped": count["skipped"], "expected": known,
           "unexpected": unexpected, "cpu": len(not_on_cpu)}
    counted = count["passed"] + known + len(unexpected)
    share = 100.0 * count["passed"] / counted if counted else 100.0
    print(f"{path.stem}: {len(outcomes)} run, {count['skipped']} skipped, {len(not_on_cpu)} not for JAX's CPU either; of {counted} "
          f"{count['passed']} pass ({share:.1f} %), {known} expected failures, {len(unexpected)} unexpected; "
          f"{sum(outcome[2] for outcome in outcomes.values()):.0f} s", flush=True)
    return row, {f"{path.stem}.{name}": outcome for name, outcome in outcomes.items()}


def table(rows):
    """Markdown: of the tests that pass on JAX's CPU, which share passes here."""
    lines = ["| file | run | skipped | pass | expected failures | others |", "|---|---|---|---|---|---|"]
    total = {"file": "all", "run": 0, "skipped": 0, "passed": 0, "expected": 0, "unexpected": []}
    for row in rows:
        for key in ("run", "skipped", "passed", "expected", "unexpected"):
            total[key] += row[key]
    for row in [*rows, total]:
        counted = row["passed"] + row["expected"] + len(row["unexpected"])
        share = f"{100 * row['passed'] / counted:.1f} %" if counted else "-"
        lines.append(f"| {row['file']} | {row['run']} | {row['skipped']} | {row['passed']} of {counted}, {share} | "
                     f"{row['expected'] or '-'} | {len(row['unexpected']) or '-'} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="one test in so many")
    parser.add_argument("--offset", type=int, default=0, help="begin with this one")
    parser.add_argument("--only", help="tests whose Class.name holds this regular expression")
    parser.add_argument("--x64", action="store_true")
    parser.add_argument("--device", default="gpu", help="what the tests are told that the device is")
    parser.add_argument("--no-baseline", action="store_true", help="what fails is not run on JAX's CPU")
    parser.add_argument("--expected", type=pathlib.Path, default=EXPECTED)
    parser.add_argument("--limit", type=float, default=120, help="seconds of a test")
    parser.add_argument("--start-limit", type=float, default=300, help="seconds until a file's first test")
    parser.add_argument("--json", type=pathlib.Path, help="rows and outcomes as JSON")
    parser.add_argument("--table", type=pathlib.Path, help="the rows as a table of Markdown")
    parser.add_argument("--log", type=pathlib.Path, default=os.devnull, help="what the tests print")
    parser.add_argument("--text", type=int, default=1500, help="so many characters of a failure's text")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    expected = read_expected(options.expected)
    rows, outcomes = [], {}
    for file in options.files or FILES:
        path = options.tests / (file.removesuffix(".py") + ".py")
        if not path.exists():
            sys.exit(f"{path}: no such file")
        row, own = run_file(path.resolve(), options, expected)
        rows.append(row)
        outcomes.update(own)
        if options.json:
            options.json.write_text(json.dumps({"x64": options.x64, "every": options.every, "rows": rows, "outcomes": outcomes}, indent=1))
        if options.table:
            options.table.write_text(table(rows))
    return any(row["unexpected"] for row in rows)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        work(pathlib.Path(sys.argv[2]), sys.argv[3])
        os._exit(0)
    sys.exit(main())
