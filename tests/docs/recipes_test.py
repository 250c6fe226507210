"""packaging's recipes say what the sources say: version, options of CMake, files, libraries: recipes_test.py SOURCES."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(sys.argv.pop(1)).resolve()
CMAKE = (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8") + "".join(p.read_text(encoding="utf-8") for p in (SOURCES / "cmake").glob("*.cmake"))
CONAN = (SOURCES / "packaging/conan/conanfile.py").read_text(encoding="utf-8")
PROFILE = (SOURCES / "packaging/conan/debian12.profile").read_text(encoding="utf-8")
PORT = (SOURCES / "packaging/vcpkg/portfile.cmake").read_text(encoding="utf-8")
MANIFEST = json.loads((SOURCES / "packaging/vcpkg/vcpkg.json").read_text(encoding="utf-8"))
# What vcpkg and Conan call the same library.
OTHER_NAMES = {"nlohmann-json": "nlohmann_json"}


def required_by_conan():
    return {name: least for name, least in re.findall(r'"([a-z_0-9-]+)/\[>=([\d.]+)\]"', CONAN)}


class RecipesTest(unittest.TestCase):
    def test_versions(self):
        version = re.search(r"project\(vxla VERSION ([\d.]+)", CMAKE)[1]
        self.assertIn(f'version = "{version}"', CONAN)
        self.assertEqual(MANIFEST["version"], version)

    def test_options_are_options_of_cmake(self):
        used = set(re.findall(r"\bVXLA_[A-Z_]+(?==)", CONAN + PORT))
        self.assertGreater(len(used), 3)
        for option in used:
            self.assertRegex(CMAKE, rf"option\({option} |set\({option} [^)]*CACHE|\b{option}\b[^)]*CACHE", option)

    def test_sources_that_are_copied_are_there(self):
        patterns = re.search(r"for pattern in \((.*?)\):", CONAN, re.S)[1]
        for pattern in re.findall(r'"([^"]+)"', patterns):
            self.assertTrue(list(SOURCES.glob(pattern)), pattern)

    def test_both_need_the_same_libraries(self):
        ports = {OTHER_NAMES.get(name, name) for name in MANIFEST["dependencies"] if isinstance(name, str)}
        self.assertEqual(ports, set(required_by_conan()))

    # vcpkg's own functions say what they are called with; the rest of the port is CMake's.
    def test_the_port_runs_as_cmake(self):
        functions = ("vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup", "vcpkg_fixup_pkgconfig", "vcpkg_copy_tools",
                     "vcpkg_install_copyright")
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "port.cmake"
            script.write_text("".join(f'function({name})\n  message("{name};${{ARGN}}")\nendfunction()\n' for name in functions) +
                              f'set(VCPKG_LIBRARY_LINKAGE static)\nset(CURRENT_PACKAGES_DIR "{folder}")\ninclude("{SOURCES}/packaging/vcpkg/portfile.cmake")\n')
            done = subprocess.run([shutil.which("cmake"), "-P", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = {words[0]: words[1:] for words in (line.split(";") for line in done.stderr.splitlines())}
        self.assertEqual(set(calls), set(functions))
        self.assertTrue((pathlib.Path(calls["vcpkg_cmake_configure"][1]) / "CMakeLists.txt").is_file())
        self.assertIn("-DVXLA_SHARED=0", calls["vcpkg_cmake_configure"])
        for file in calls["vcpkg_install_copyright"][1:]:
            self.assertTrue(pathlib.Path(file).is_file(), file)

    def test_debians_packages_are_new_enough(self):
        there = dict(re.findall(r"^([a-z_0-9-]+)/([\d.]+)$", PROFILE, re.M))
        self.assertEqual(set(there), set(required_by_conan()))
        for name, least in required_by_conan().items():
            self.assertGreaterEqual([int(n) for n in there[name].split(".")], [int(n) for n in least.split(".")], name)


if __name__ == "__main__":
    unittest.main()
