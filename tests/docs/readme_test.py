"""tools/readme.py finds numbers that are not what their sources say, and such without a source: readme_test.py SOURCES."""
import importlib.util
import pathlib
import sys
import unittest

SOURCES = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("readme", SOURCES / "tools/readme.py")
readme = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(readme)
README = (SOURCES / "README.md").read_text(encoding="utf-8")


class ReadmeTest(unittest.TestCase):
    def test_the_page_is_right(self):
        self.assertEqual(readme.check_numbers(README), [])

    def test_another_number_than_the_datas(self):
        wrong = readme.check_numbers(README.replace("887 of 940", "940 of 940"))
        self.assertIn("README.md: by its source this is to be there: 887 of 940 tests of operations were run by hand, and pass", wrong)

    def test_numbers_are_written_as_the_data_has_them(self):
        self.assertEqual(readme.with_numbers(README), README)
        self.assertEqual(readme.with_numbers(README.replace("887 of 940", "1,940 of 7")), README)

    def test_a_number_without_a_source(self):
        wrong = readme.check_numbers(README + "\nIt is 17 times as fast.\n")
        self.assertIn("that tools/readme.py has no source for", "\n".join(wrong))

    def test_output_is_shortened_alike(self):
        output = ("DIFFER: a and b differ, first in y; worst difference 5 ulp at result_0[1]\n"
                  "result_0 f32[4]: 4 of 4 elements differ, 0.1 absolute at [1], 0.2 relative at [1]: 4 OUTSIDE\n"
                  "    [1]  1\n    [2]  2\n    [3]  3\n  relative errors: <1: 4\nbisect: vxla diff b.hlo --device llvmpipe --kernel k\n")
        self.assertEqual(readme.shortened(output), [
            "DIFFER: a and b differ, first in y;", "  worst difference 5 ulp at result_0[1]",
            "result_0 f32[4]: 4 of 4 elements differ, 0.1 absolute at [1]: 4 OUTSIDE", "    [1]  1", "    [2]  2",
            "bisect: vxla diff b.hlo --kernel k"])


if __name__ == "__main__":
    unittest.main()
