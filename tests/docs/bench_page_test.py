"""tools/bench_page.py writes what the data give, and says what is not so: bench_page_test.py SOURCES."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1)).resolve() / "tools/bench_page.py"


def data(rows):
    return json.dumps({"name": "two", "title": "A & B", "device": "D", "driver": "1", "day": "2026-01-01", "commit": None, "peer": "P",
                       "command": "c", "note": "n", "rows": rows})


class BenchPageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for each in ("tools", "docs/benchmarks/data", "docs/pictures"):
            (self.root / each).mkdir(parents=True)
        shutil.copy(SCRIPT, self.root / "tools")
        self.page = self.root / "docs/benchmarks/index.md"
        self.page.write_text("before\n<!-- data two -->\nold\n<!-- /data -->\nafter\n")
        self.write([{"case": "a", "vxla_ms": 1, "peer_ms": 4, "ratio": 4}, {"case": "b", "vxla_ms": 1, "peer_ms": 1, "ratio": 1}])

    def write(self, rows):
        (self.root / "docs/benchmarks/data/two.json").write_text(data(rows))

    def run_script(self, *options):
        return subprocess.run([sys.executable, self.root / "tools/bench_page.py", *options], capture_output=True, text=True, check=False)

    def test_the_page_and_the_plot_are_the_datas(self):
        self.assertEqual(self.run_script().returncode, 0)
        page = self.page.read_text()
        self.assertIn("Quicker than P on 1 of 2, geometric mean 2.00.", page)
        self.assertIn("| a | 1 | 4 | 4.00 |", page)
        self.assertNotIn("old", page)
        self.assertTrue(page.startswith("before\n") and page.endswith("after\n"))
        self.assertIn("A &amp; B", (self.root / "docs/pictures" / "two.svg").read_text())
        self.assertEqual(self.run_script("--check").returncode, 0)

    def test_check_writes_nothing_and_names_what_is_stale(self):
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("index.md: is not what the data give", done.stdout)
        self.assertIn("old", self.page.read_text())

    def test_a_ratio_that_the_times_do_not_give(self):
        self.write([{"case": "a", "vxla_ms": 1, "peer_ms": 4, "ratio": 3}])
        self.assertIn("two.json: a: 4 over 1 is not 3", self.run_script().stderr)

    def test_a_table_without_a_peer(self):
        table = {"name": "table", "device": "a device", "day": "2026-01-01", "commit": "abc", "command": "c", "note": "", "columns": ["x", "y"], "rows": [["1", "2"]]}
        file = self.root / "docs/benchmarks/data/table.json"
        file.write_text(json.dumps(table))
        self.page.write_text(self.page.read_text() + "<!-- data table -->\n<!-- /data -->\n")
        self.assertEqual(self.run_script().returncode, 0)
        self.assertIn("A device. 2026-01-01, abc, `c`.\n\n| x | y |\n|---|---|\n| 1 | 2 |\n<!-- /data -->", self.page.read_text())
        file.write_text(json.dumps({**table, "rows": [["1"]]}))
        self.assertIn("table.json: 1: 1 cells, and the table has 2 columns", self.run_script().stderr)

    def test_rows_that_a_script_puts_in(self):
        folder = self.root / "docs/internals"
        (folder / "data").mkdir(parents=True)
        file = folder / "data/runs.json"
        file.write_text(json.dumps({"name": "runs", "columns": ["what", "result"], "rows": [["a", "1"], ["b", "2"]]}))
        (folder / "runs.md").write_text("<!-- data runs -->\n<!-- /data -->\n")

        def put(*options, table=None):
            return subprocess.run([sys.executable, SCRIPT.parent / "page_data.py", *options], input=table, capture_output=True, text=True, check=False)

        self.assertEqual(put("row", file, "a", "é").returncode, 0)
        self.assertEqual(put("row", file, "c", "3").returncode, 0)
        self.assertIn(' "rows": [\n  ["a", "é"],\n  ["b", "2"],\n  ["c", "3"]\n ]\n', file.read_text())
        self.assertEqual(self.run_script().returncode, 0)
        self.assertIn("<!-- data runs -->\n| what | result |\n|---|---|\n| a | é |\n| b | 2 |\n| c | 3 |\n<!-- /data -->", (folder / "runs.md").read_text())
        self.assertEqual(put("rows", file, table="\n| what | result |\n|---|---|\n| x | 9 |\n").returncode, 0)
        self.assertEqual(json.loads(file.read_text())["rows"], [["x", "9"]])
        self.assertIn("runs.json: d: 3 cells, and the table has 2 columns", put("row", file, "d", "4", "5").stderr)

    def test_a_page_without_marks(self):
        self.page.write_text("nothing\n")
        self.assertIn("no page has the marks <!-- data two -->", self.run_script().stderr)


if __name__ == "__main__":
    unittest.main()
