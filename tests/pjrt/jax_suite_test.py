"""integrations/pjrt/jax_suite.py on a file of tests that pass, fail, are skipped, kill their process or never end."""

import json
import pathlib
import subprocess
import sys
import tempfile

TESTS = '''
import os, time, unittest
import jax
from jax._src import test_util as jtu
jax.config.parse_flags_with_absl()
class Kinds(jtu.JaxTestCase):
  def test_a_passes(self):
    self.assertEqual(jax.devices()[0].platform, "vulkan" if jtu.device_under_test() == "gpu" else "cpu")
  def test_b_kills(self):
    if jtu.device_under_test() == "gpu": os.abort()
  def test_c_hangs(self):
    if jtu.device_under_test() == "gpu": time.sleep(600)
  def test_d_fails(self):
    self.assertEqual(jtu.device_under_test(), "cpu")
  def test_e_fails_everywhere(self):
    self.fail("it always does")
  def test_f_is_skipped(self):
    self.skipTest("why not")
  @jtu.run_on_devices("cpu")
  def test_g_is_for_the_cpu(self):
    self.assertEqual(int(jax.numpy.arange(3).sum()), 3)
  def test_h_is_expected_to_fail(self):
    self.assertEqual(jtu.device_under_test(), "cpu")
'''


def main():
    runner = pathlib.Path(__file__).resolve().parents[2] / "integrations" / "pjrt" / "jax_suite.py"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kinds_test.py").write_text(TESTS)
        (folder / "expected.txt").write_text("kinds_test.Kinds.test_h_* # it is told so\n")

        def run(*options):
            return subprocess.run([sys.executable, str(runner), name, "kinds_test", "--json", str(folder / "rows.json"), "--limit", "4",
                                   "--expected", str(folder / "expected.txt"), *options], capture_output=True, text=True, timeout=240)
        done = run("--table", str(folder / "table.md"))
        assert done.returncode == 1, done.stdout + done.stderr
        saved = json.loads((folder / "rows.json").read_text())
        outcomes = {test.rsplit(".", 1)[1][5:6]: outcome[0] for test, outcome in saved["outcomes"].items()}
        assert outcomes == {"a": "passed", "b": "crashed", "c": "hung", "d": "failed", "e": "failed", "f": "skipped", "g": "passed",
                            "h": "failed"}, outcomes
        row = saved["rows"][0]
        assert (row["passed"], row["skipped"], row["expected"], row["cpu"]) == (2, 1, 1, 1), row
        assert [test[-8:] for test in row["unexpected"]] == ["_b_kills", "_c_hangs", "_d_fails"], row
        assert "| kinds_test | 8 | 1 | 2 of 6, 33.3 % | 1 | 3 |" in (folder / "table.md").read_text()
        assert run("--only", "test_a|test_h").returncode == 0
        (folder / "expected.txt").write_text("kinds_test.Kinds.test_h_*\n")
        done = run()
        assert done.returncode != 0 and "expected.txt:1: an expected failure without a reason" in done.stderr, done.stderr
    print("good")


if __name__ == "__main__":
    main()
