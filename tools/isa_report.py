#!/usr/bin/env python3
"""What real GPUs' compilers make of the kernels, without a GPU: docs/internals/isa.md.

    tools/isa_report.py [DEVICE ...]            # prints a table of the programs of `vxla bench kernels` for each device
    tools/isa_report.py --write [DEVICE ...]    # puts them into docs/internals/data, of which the page is made
    tools/isa_report.py --spills PROGRAM ...    # counts other programs' kernels on all devices; fails if one keeps
                                                # vector registers in memory, and names those of more than 32 KiB

A DEVICE is one of DEVICES below: a driver of the newest Mesa (tools/newer_mesa.sh) and its chip, or the installed RADV
and its own name of one. VXLA names the command, by default build/vxla.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
VXLA = os.environ.get("VXLA", "build/vxla")
DEVICES = ["amd:gfx1201", "amd:navi31", "amd:navi21", "amd:vega10", "nvidia:170", "nvidia:192", "adreno:750", "apple",
           "installed:gfx1100", "installed:navi21", "installed:vega10"]
HEAD = ["kernel", "lanes", "registers", "waves", "spill", "code", "part", "alu", "fma, mul, add", "slow", "ld", "st", "shared", "wait"]
MOST_CODE = 32768


class Kernel:
    """One file of `vxla explain --isa`: what the driver says of it, its instructions, and its loops as sets of these."""

    def __init__(self, path):
        self.name = re.sub(r"^[0-9]*_|_[0-9a-f]*$", "", path.stem)
        self.said, self.instructions, self.loops = {}, [], []
        lines = path.read_text(errors="replace").splitlines()
        while lines and lines[0].startswith("; "):
            key, _, value = lines.pop(0)[2:].partition(" = ")
            self.said[key] = value
        if any(line.endswith("-> {") for line in lines):
            self.dialect = Nvidia()
            self.read_blocks(lines)
        else:
            self.dialect = Amd() if "VGPRs" in self.said else Adreno() if "Max Waves Per Core" in self.said else Apple()
            self.read_labels(lines)

    def read_labels(self, lines):
        """Assembly with labels: a loop is from a label to the last branch back to it."""
        places, last = {}, {}
        for line in lines:
            label = re.match(r"([A-Za-z_]\w*):", line)
            if label:
                places[label[1]] = len(self.instructions)
            text = self.dialect.text(line)
            if not text or label:
                continue
            target = self.dialect.target(text)
            if target in places:
                last[places[target]] = len(self.instructions)
            self.instructions.append(text)
        self.loops = [set(range(first, end + 1)) for first, end in last.items()]

    def read_blocks(self, lines):
        """Basic blocks that name those before them: natural loops."""
        blocks, before, block = defaultdict(list), {}, None
        for line in lines:
            head = re.match(r"\s*block(?:\.u)? (\d+) L\d+ \[([^\]]*)\]", line)
            if head:
                block = int(head[1])
                before[block] = [int(b) for b in head[2].split(",") if b.strip()]
            elif block is not None and self.dialect.text(line):
                blocks[block].append(len(self.instructions))
                self.instructions.append(self.dialect.text(line))
        bodies = defaultdict(set)
        for head, end in back_edges(before):
            body, left = {head, end}, [end]
            while left:
                at = left.pop()
                new = set(before[at]) - body if at != head else set()
                body |= new
                left += new
            bodies[head] |= body
        self.loops = [{i for block in body for i in blocks[block]} for body in bodies.values()]

    def hot(self):
        """"loop" and the innermost loop of most products of matrices, then of most instructions; "all" where none has a
        twentieth of them. Loops that ordinary numbers do not enter are left out."""
        innermost = [a for a in self.loops if not any(b < a for b in self.loops)]
        rare = [loop for loop in innermost if self.dialect.is_rare(self.instructions[i] for i in loop)]
        size = lambda loop: (sum(bool(re.search(r"wmma_|[hi]mma\.", self.instructions[i])) for i in loop), len(loop))
        largest = max((loop for loop in innermost if loop not in rare), key=size, default=set())
        if 20 * len(largest) >= len(self.instructions) > 0 and largest:
            return "loop", sorted(largest)
        return "all", [i for i in range(len(self.instructions)) if not any(i in loop for loop in rare)]

    def row(self, program):
        part, indices = self.hot()
        counts, loads, stores = Counter(), Counter(), Counter()
        for i in indices:
            self.dialect.count(self.instructions[i], counts, loads, stores)
        say = self.dialect.say(self.said)
        cells = [f"{program} {self.name}", self.said.get("subgroup size", "-"), *say]
        if not self.instructions:
            return cells + ["-"] * (len(HEAD) - len(cells))
        sums = f"{counts['fma']}, {counts['mul']}, {counts['add']}"
        return cells + [part, str(counts["alu"]), sums, str(counts["slow"]), widths(loads), widths(stores),
                        str(counts["shared"]), str(counts["wait"])]

    def fault(self):
        spilled, code = self.dialect.say(self.said)[2], self.dialect.say(self.said)[3]
        found = [f"{spilled} registers in memory"] if spilled not in ("0", "-") else []
        return found + ([f"{code} bytes of code"] if code.isdigit() and int(code) > MOST_CODE else [])


def back_edges(before):
    after, state, found = defaultdict(list), {}, []
    for block, ones in before.items():
        for one in ones:
            after[one].append(block)
    stack = [(min(before), iter(after[min(before)]))]
    state[stack[0][0]] = "open"
    while stack:
        block, rest = stack[-1]
        for next_one in rest:
            if next_one not in state:
                state[next_one] = "open"
                stack.append((next_one, iter(after[next_one])))
                break
            if state[next_one] == "open":
                found.append((next_one, block))
        else:
            state[block] = "done"
            stack.pop()
    return found


def widths(counts):
    return " ".join(f"{count}x{width}" for width, count in sorted(counts.items())) or "-"


class Amd:
    """RADV's assembly. A v_dual_ pair is one vector instruction, and two of what its halves are."""

    def text(self, line):
        return re.sub(r"[ \t]*(;|//).*", "", line.strip()) if line[:1] in (" ", "\t") else ""

    def target(self, text):
        return text.split()[-1] if re.match(r"s_c?branch", text) else None

    def is_rare(self, texts):
        """Divisions by integers and of denormal numbers, and exponentials of large ones."""
        names = [text.split()[0] for text in texts]
        return any(re.match(r"v_(clz_i32|ffbh_u32|floor_f32)", n) for n in names) and \
            any(re.match(r"[vs]_(ctz_i32|ffbl_b32|ff1_i32)", n) for n in names)

    def say(self, said):
        return [said["VGPRs"], said["Subgroups per SIMD"], said["Spilled VGPRs"], said["Code size"]]

    def count(self, text, counts, loads, stores):
        halves = text.split(" :: ")
        first = halves[0].split()[0]
        counts["alu"] += first.startswith("v_")
        counts["wait"] += bool(re.match(r"s_wait(cnt|_)", first))
        for half in halves:
            name = half.split()[0].replace("v_dual_", "v_")
            if re.match(r"v_s?wmma_|v_(pk_)?(fma|fmac|mac|mad|fmaak|fmamk)(_mix[a-z]*)?(_legacy)?_f(16|32)", name):
                counts["fma"] += 1
            elif re.match(r"v_(pk_)?mul_(legacy_|dx9_zero_)?f(16|32)", name):
                counts["mul"] += 1
            elif re.match(r"v_(pk_)?(add|sub|subrev)_f(16|32)", name):
                counts["add"] += 1
            elif re.match(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_|v_mul_(lo|hi)_", name):
                counts["slow"] += 1
        if re.match(r"(global|buffer|flat)_(load|store)", first):
            width = next((w for w, names in ((128, r"b128|dwordx4"), (96, r"b96|dwordx3"), (64, r"b64|dwordx2"), (16, r"[uib]16|short"),
                                             (8, r"[uib]8|byte")) if re.search(names, first)), 32)
            (loads if "_load" in first else stores)[width] += 1
        counts["shared"] += first.startswith("ds_")


class Nvidia:
    """NAK's instructions, which say what they wait for."""

    CONTROL = r"(bra|bssy|bsync|bclear|breakpt|nop|bar|membar|exit|ldc|s2r|cs2r|errbar|ccctl|warpsync)\b"

    def text(self, line):
        return line.strip() if re.match(r"\s", line) else ""

    def is_rare(self, texts):
        return False

    def say(self, said):
        return [said["Number of GPRs"], said["Max warps/SM"], said["Spills to memory"], said["Code size"]]

    def count(self, text, counts, loads, stores):
        code, _, comment = text.partition("//")
        name = re.sub(r"^@\S+\s+", "", code.split(" = ")[-1].strip()).split()[0]
        counts["wait"] += bool(re.search(r"wt=[01]*1", comment))
        memory = re.match(r"(ld|st)\.(global|shared|local)\b.*?\.[bui](\d+)", name)
        if memory and memory[2] == "global":
            (loads if memory[1] == "ld" else stores)[int(memory[3])] += 1
        elif memory or re.match(r"ldsm|atoms", name):
            counts["shared"] += 1
        elif not re.match(self.CONTROL, name):
            counts["alu"] += 1
            counts["fma"] += bool(re.match(r"(ffma|hfma2|dfma|hmma|imma)", name))
            counts["mul"] += bool(re.match(r"[fhd]mul", name))
            counts["add"] += bool(re.match(r"[fhd]add", name))
            counts["slow"] += bool(re.match(r"(mufu|f2f|f2i|i2f|popc|flo)\b", name))


class Adreno:
    """Turnip's assembly. Repeated instructions, (rptN), are as many; accesses end with their number of elements."""

    def text(self, line):
        return line.strip() if re.match(r"(\([a-z0-9]+\))*[a-z]", line) and not re.match(r"Native", line) else ""

    def target(self, text):
        found = re.search(r"\b(?:br|jump|bany|ball)\b.*#(\w+)", text)
        return found[1] if found else None

    def is_rare(self, texts):
        return False

    def say(self, said):
        return [said["Registers used"], said["Max Waves Per Core"], said["STP Count"], str(8 * int(said["Instruction Count"]))]

    def count(self, text, counts, loads, stores):
        flags, name = re.match(r"((?:\([a-z0-9]+\))*)\s*(\S+)", text).groups()
        repeats = re.search(r"\(rpt(\d)\)", flags)
        times = 1 + int(repeats[1]) if repeats else 1
        counts["wait"] += "(sy)" in flags or "(ss)" in flags
        memory = re.match(r"(ld|st)[gb]\b.*?\.[uif](\d+)", name)
        if memory:
            (loads if memory[1] == "ld" else stores)[int(memory[2]) * int(text.split()[-1])] += 1
        elif re.match(r"(ldl|stl)", name):
            counts["shared"] += 1
        elif not re.match(r"(nop|br|jump|end|bar|fence|pred|getone|shp|ldc|stc|stsc|andg|shpe|mova)", name):
            counts["alu"] += times
            counts["fma"] += times * bool(re.match(r"mad\.f", name))
            counts["mul"] += times * bool(re.match(r"mul\.f", name))
            counts["add"] += times * bool(re.match(r"add\.f", name))
            counts["slow"] += times * bool(re.match(r"(rcp|rsq|sqrt|exp2|log2|sin|cos)", name))


class Apple(Adreno):
    """Honeykrisp gives statistics alone."""

    def text(self, line):
        return ""

    def say(self, said):
        return [said["GPRs"], str(int(said["Threads"]) // 32), said["Spills"], said["Code size"]]


def compile_for(device, program, folder):
    """The files of the program's kernels, or why there are none."""
    command = [VXLA, "explain", str(program), "--bindings=addresses", "--no-cache", "--isa", str(folder)]
    environment = dict(os.environ, MESA_SHADER_CACHE_DISABLE="true")
    driver, _, chip = device.partition(":")
    if driver == "installed":
        manifest = next(pathlib.Path("/usr/share/vulkan/icd.d").glob("radeon_icd*.json"), None)
        if manifest is None:
            sys.exit("isa_report: no RADV is installed (Debian: apt install mesa-vulkan-drivers)")
        environment.update(VK_DRIVER_FILES=str(manifest), VK_ICD_FILENAMES=str(manifest), RADV_FORCE_FAMILY=chip)
    else:
        command = ["tools/newer_mesa.sh", device, *command]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [], (done.stderr.strip().splitlines() or ["failed"])[-1]
    return sorted(folder.glob("*.isa")), ""


def table(device, programs, work):
    rows = []
    for program in programs:
        folder = work / "isa" / device.replace(":", "_") / program.stem
        files, why = compile_for(device, program, folder)
        print(f"\r{device} {program.stem:40}", end="", file=sys.stderr)
        rows += [Kernel(file).row(program.stem) for file in files]
        if why:
            sys.exit(f"isa_report: {device}: {program.stem}: {why}")
    print(file=sys.stderr)
    return rows


def bench_programs(work):
    listed = subprocess.run([VXLA, "bench", "kernels", "--list", "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    for case in json.loads(listed.stdout):
        (work / f"{case['name']}.hlo").write_text(case["hlo"])
    return sorted(work.glob("*.hlo"))


def spills(programs, work):
    faults = 0
    copies = []  # where newer_mesa.sh sees them
    for number, program in enumerate(programs):
        copies.append(work / f"{number}_{program.name}")
        shutil.copyfile(program, copies[-1])
    for device in DEVICES:
        kernels = []
        for program, copy in zip(programs, copies):
            files, why = compile_for(device, copy, work / "isa" / device.replace(":", "_") / copy.stem)
            found = [(Kernel(file), file) for file in files]
            kernels += found
            for kernel, file in found:
                for fault in kernel.fault():
                    print(f"{device}: {program}: {file.stem}: {fault}")
                    faults += "registers" in fault
            if why:
                print(f"{device}: {program}: {why}")
                faults += 1
        print(f"{device}: {len(kernels)} kernels")
    return 1 if faults else 0


def main():
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if words[:1] == ["--spills"]:
            return spills([pathlib.Path(word) for word in words[1:]], work)
        writes = words[:1] == ["--write"]
        devices = words[writes:] or DEVICES
        for device in devices:
            if device not in DEVICES:
                sys.exit(f"isa_report: {device} is none of {', '.join(DEVICES)}")
        programs = bench_programs(work)
        for device in devices:
            lines = ["| " + " | ".join(row) + " |" for row in [HEAD, ["---"] * len(HEAD)] + table(device, programs, work)]
            if not writes:
                print(f"\n## {device}\n\n" + "\n".join(lines))
                continue
            data = ROOT / "docs/internals/data" / f"isa_{device.replace(':', '_')}.json"
            if not data.exists():
                data.write_text(json.dumps({"name": data.stem, "columns": HEAD, "rows": []}))
            subprocess.run([sys.executable, "tools/page_data.py", "rows", str(data)], cwd=ROOT, input="\n".join(lines), text=True, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
