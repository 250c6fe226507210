"""tools/docs_check.py finds what it is for, and nothing in a page that is right: docs_check_test.py SOURCES."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

DOCS = "docs"  # spelt apart, for these names are of no page of the tree
CHECK = pathlib.Path(sys.argv.pop(1)).resolve() / "tools/docs_check.py"
GOOD = f"""# A page

See [this heading](#a-page), [that page]({DOCS}/other.md#two-words) and {DOCS}/other.md. A second sentence.

    a block of code with [no link](nowhere.md)

| a table | """ + "word " * 30 + ". name: " + "word " * 30 + """|
|---|---|

- an item
- another item, with `code.Of(it), ends. No sentence`
"""


class DocsCheckTest(unittest.TestCase):
    def found(self, addition):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            (folder / DOCS).mkdir()
            (folder / DOCS / "other.md").write_text("# Other\n\n## Two words\n")
            (folder / "README.md").write_text(GOOD + addition)
            done = subprocess.run([sys.executable, CHECK], cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.returncode, 1 if done.stdout else 0)
            return done.stdout

    def test_a_good_page_passes(self):
        self.assertEqual(self.found(""), "")

    def test_a_link_to_no_file(self):
        self.assertEqual(self.found(f"\n[x]({DOCS}/gone_page.md)\n").splitlines()[0], f"README.md: {DOCS}/gone_page.md: no such file")

    def test_a_link_to_no_heading(self):
        self.assertEqual(self.found(f"\n[x]({DOCS}/other.md#three-words)\n"), f"README.md: {DOCS}/other.md#three-words: no such heading\n")

    def test_a_mention_of_no_file(self):
        self.assertEqual(self.found(f"\n    // {DOCS}/gone.md says why\n"), f"README.md: mentions {DOCS}/gone.md, which is not there\n")

    def test_a_sentence_of_forty_words_passes(self):
        self.assertEqual(self.found("\nSo " + "word " * 38 + "ends.\n"), "")

    def test_a_sentence_of_forty_one_words(self):
        self.assertIn("README.md: a sentence of 41 words (at most 40): So word", self.found("\nSo " + "word " * 39 + "ends.\n"))

    def test_words_of_code_count(self):
        self.assertIn("README.md: a sentence of 41 words", self.found("\nSo `" + "word " * 39 + "ends`.\n"))

    def test_a_long_cell_of_a_table(self):
        self.assertIn("README.md: a sentence of 41 words", self.found("\n| a |\n|---|\n| " + "word " * 41 + "|\n"))

    def test_a_word_that_only_the_authors_use(self):
        self.assertIn("README.md: 'run apart' (run by itself", self.found("\nSome devices run apart.\n"))
        self.assertIn("README.md: 'each turn' (iteration)", self.found("\nIt adds one in each turn.\n"))
        self.assertEqual(self.found("\nIt works in place, takes place, and stands for half a turn, in turn, in the last place.\n"), "")

    def test_comments_of_headers(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            (folder / "include").mkdir()
            (folder / "include/x.h").write_text("// Good.\n" + "int x;  // at that place\n" + "// So " + "word " * 40 + "ends.\n")
            done = subprocess.run([sys.executable, CHECK], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("include/x.h: 'place' (", done.stdout)
        self.assertIn("include/x.h: a sentence of 42 words", done.stdout)


if __name__ == "__main__":
    unittest.main()
