# Counts the instructions of one file that `vxla explain --isa` wrote of an AMD kernel, and prints a row of docs/internals/isa.md:
# the kernel's statistics, then what its hot part is made of: of the innermost loops (a label, and the last branch back
# to it, with none within) the one with the most instructions, or all of a kernel in which none has a twentieth of them. A loop of divisions by
# integers, which ordinary numbers do not enter (it goes by the bits of a word, and counts leading zeros of denormal
# ones), or of exponentials (it rounds to whole numbers), is no loop, and not counted.
# vgpr: registers of a lane. waves: subgroups resident on a SIMD. spill: registers kept in memory. valu: vector
# instructions (a pair of v_dual_ is one), of which fma (halves of pairs, products of matrices), mul and add are of floats, and slow are
# of a quarter of the rate. ld, st: global memory, count x bits. ds: shared memory.

function class_of(name, width) {
  width = name ~ /b128|dwordx4/ ? 128 : name ~ /b96|dwordx3/ ? 96 : name ~ /b64|dwordx2/ ? 64 : \
          name ~ /u16|i16|b16|short/ ? 16 : name ~ /u8|i8|b8|byte/ ? 8 : 32
  return width
}
function widths(counts, text, w) {
  text = ""
  for (w = 8; w <= 128; w += 8) if (counts[w]) text = text (text == "" ? "" : " ") counts[w] "x" w
  return text == "" ? "-" : text
}
function note(text, name, half, halves, i) {
  split(text, half, " :: ")
  name = half[1]; sub(/[ \t].*/, "", name)
  if (name ~ /^v_/) valu++
  if (name ~ /^s_waitcnt|^s_wait_/) waits++
  halves = text ~ / :: / ? 2 : 1
  for (i = 1; i <= halves; ++i) {
    name = half[i]; sub(/[ \t].*/, "", name); sub(/v_dual_/, "v_", name)
    if (name ~ /^v_wmma_|^v_(pk_)?(fma|fmac|mac|mad|fmaak|fmamk)(_mix[a-z]*)?(_legacy)?_f(16|32)/) fma++
    else if (name ~ /^v_(pk_)?mul_(legacy_|dx9_zero_)?f(16|32)/) mul++
    else if (name ~ /^v_(pk_)?(add|sub|subrev)_f(16|32)/) add++
    else if (name ~ /^v_(exp|log|rcp|rsq|sqrt|sin|cos)_|^v_mul_(lo|hi)_/) slow++
  }
  name = half[1]; sub(/[ \t].*/, "", name)
  if (name ~ /^(global|buffer|flat)_load/) loads[class_of(name)]++
  else if (name ~ /^(global|buffer|flat)_store/) stores[class_of(name)]++
  else if (name ~ /^scratch_/) scratch++
  else if (name ~ /^ds_/) ds++
}
/^; / && !count {
  at = index($0, " = ")
  if (at) head[substr($0, 3, at - 3)] = substr($0, at + 3)
  next
}
/^[A-Za-z_][A-Za-z0-9_]*:/ { label = $1; sub(/:.*/, "", label); place[label] = count + 1; next }
/^[ \t]/ {
  text = $0; sub(/^[ \t]+/, "", text); sub(/[ \t]*(;|\/\/).*/, "", text)
  if (text == "") next
  line[++count] = text
  if (text ~ /^s_c?branch/) { target = text; sub(/^[^ \t]+[ \t]+/, "", target); branch[count] = target }
}
END {
  for (i = 1; i <= count; ++i)
    if ((i in branch) && (branch[i] in place) && place[branch[i]] <= i) last[place[branch[i]]] = i
  for (a in last) {
    inner = 1
    for (b in last) if (b + 0 >= a + 0 && last[b] <= last[a] && (b != a)) inner = 0
    leading = 0; bits = 0
    for (i = a + 0; inner && i <= last[a]; ++i) {
      if (line[i] ~ /^v_(clz_i32|ffbh_u32|floor_f32)/) leading = 1
      if (line[i] ~ /^[vs]_(ctz_i32|ffbl_b32|ff1_i32)/) bits = 1
    }
    if (leading && bits) for (i = a + 0; i <= last[a]; ++i) rare[i] = 1
  }
  for (a in last) if (rare[a + 0]) delete last[a]
  first = 1; end = count; best = 0
  for (a in last) {
    inner = 1
    for (b in last) if (b + 0 >= a + 0 && last[b] <= last[a] && (b != a)) inner = 0
    if (inner && last[a] - a > best) { best = last[a] - a; first = a + 0; end = last[a] }
  }
  if (20 * best < count) { first = 1; end = count; best = 0 }
  for (i = first; i <= end; ++i) if (!rare[i]) note(line[i])
  printf "| %s | %s | %d | %d | %d | %d | %s | %d | %d, %d, %d | %d | %s | %s | %d | %d |\n", name, head["subgroup size"], \
    head["VGPRs"], head["Subgroups per SIMD"], head["Spilled VGPRs"] + head["Spilled SGPRs"], head["Code size"], \
    best ? "loop" : "all", valu, fma, mul, add, slow, widths(loads), widths(stores), ds, waits
}
