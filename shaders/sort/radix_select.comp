// The first KEPT of each row, in the order of the row, by the digits of their keys: no element moves before it is known to be
// one of them (Alabi, Blanchard, Gordon, Steinbach, "Fast k-selection algorithms for graphics processing units", 2012).
//
// PHASE 0 counts, for one digit, weightiest first, the elements whose higher digits are those of the last one kept; its
// digit is found from the counts by whoever needs it next. PHASE 1 counts, when all digits of that key are known, what each
// chunk of a row has below it and of it; 2 puts these elements side by side: first those below, then as many of the equal
// ones as are wanted, each in the order of the row, EACH (up to 32) neighbours to an invocation.
//
// PART_COUNT chunks in all, LENGTH elements of a row, ROW_PARTS chunks of a row, DIGIT_LOW the lowest bit of the digit
// that is counted, KNOWN_LOW the lowest bit of its word that is known already, FOUND_LOW the lowest bit of the digit
// that is found first. Counts lie as [row][digit][RADIX] and are zero at first, states as [row][digits known: key, how
// many of it are wanted], parts as [chunk][below, equal].
//
// The generated part defines PHASE, RADIX (a multiple of LANES), LANES (the workgroup's size), CHUNK, KEPT, DIGITS (of a
// key), KNOWN (how many of them are found before this pass, or by it), KEY_WORDS, BY_CHUNKS(g) (g / ROW_PARTS), load_count(i),
// add_count(i, n), load_state(i), store_state(i, n), load_part(i), store_part(i, n), Key, NO_KEY (all zeros),
// load_key(i) and store_key(i, key) of a state, SET_DIGIT(key, digit), MATCHES(key, known), KEY_WORD(key), MASKED(key), Item,
// key_of(Item), before(Key, Key), read_item(row, place in the row), GROUP, READ_GROUP and EACH_ITEM as for
// software/radix_chunks.comp (phases 0 and 1), EACH and emit_item(row, place in the row of the result, Item) (phase 2).
#include "generated"

#define STATE_WORDS (KEY_WORDS + 1u)
#define STATE_AT(row, known) (((row) * DIGITS + uint(known) - 1u) * STATE_WORDS)

shared uint sums[LANES];

// sums[] becomes the sums of all lanes up to each one.
void add_up_lanes() {
  uint lane = gl_LocalInvocationID.x;
  barrier();
  for (uint reach = 1u; reach < LANES; reach *= 2u) {
    uint below = lane >= reach ? sums[lane - reach] : 0u;
    barrier();
    sums[lane] += below;
    barrier();
  }
}

#if PHASE != 2

shared uint found_digit, found_wanted;

// The key of the last one kept, as far as it is known, and how many elements like it are wanted.
Key find_known(uint row, bool notes, out uint wanted) {
  wanted = KEPT;
  Key known = NO_KEY;
#if KNOWN > 0
#if KNOWN > 1
  known = load_key(STATE_AT(row, KNOWN - 1));
  wanted = load_state(STATE_AT(row, KNOWN - 1) + KEY_WORDS);
#endif
  const uint OWN = RADIX / LANES;
  uint lane = gl_LocalInvocationID.x;
  uint first = (row * DIGITS + uint(KNOWN - 1)) * RADIX + lane * OWN;
  uint total = 0u;
  for (uint i = 0u; i < OWN; ++i) total += load_count(first + i);
  sums[lane] = total;
  add_up_lanes();
  uint below = sums[lane] - total;
  if (below < wanted && wanted - below <= total) {
    uint i = 0u;
    for (; i + 1u < OWN; ++i) {
      uint count = load_count(first + i);
      if (wanted - below <= count) break;
      below += count;
    }
    found_digit = lane * OWN + i;
    found_wanted = wanted - below;
  }
  barrier();
  SET_DIGIT(known, found_digit);
  wanted = found_wanted;
  if (notes && lane == 0u) {
    store_key(STATE_AT(row, KNOWN), known);
    store_state(STATE_AT(row, KNOWN) + KEY_WORDS, wanted);
  }
#endif
  return known;
}

#if PHASE == 0
shared uint bins[RADIX];
#define NOTE(item) { \
    Key key = key_of(item); \
    if (MATCHES(key, known)) atomicAdd(bins[(KEY_WORD(key) >> DIGIT_LOW) & (RADIX - 1u)], 1u); }
#else
shared uint below_count, equal_count;
#define NOTE(item) { \
    Key key = MASKED(key_of(item)); \
    below += before(key, known) ? 1u : 0u; \
    equal += key == known ? 1u : 0u; }
#endif

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint lane = gl_LocalInvocationID.x;
  bool surplus = group >= PART_COUNT;
  uint chunk = min(group, PART_COUNT - 1u);
  uint row = BY_CHUNKS(chunk);
  uint number = chunk - row * ROW_PARTS;
  uint begin = number * CHUNK;
  uint count = surplus ? 0u : min(CHUNK, LENGTH - begin);
  uint wanted;
  Key known = find_known(row, number == 0u && !surplus, wanted);
#if PHASE == 0
  for (uint i = lane; i < RADIX; i += LANES) bins[i] = 0u;
#else
  if (lane == 0u) below_count = equal_count = 0u;
  uint below = 0u, equal = 0u;
#endif
  barrier();
  uint whole = count / uint(GROUP) * uint(GROUP);
#if GROUP > 1
  for (uint e = lane * uint(GROUP); e < whole; e += LANES * uint(GROUP)) {
    READ_GROUP(row, begin + e)
    EACH_ITEM(NOTE)
  }
#else
  whole = 0u;
#endif
  for (uint e = whole + lane; e < count; e += LANES) NOTE(read_item(row, begin + e))
#if PHASE == 0
  barrier();
  for (uint i = lane; i < RADIX; i += LANES) {
    uint n = bins[i];
    if (n != 0u) add_count((row * DIGITS + uint(KNOWN)) * RADIX + i, n);
  }
#else
  if (below != 0u) atomicAdd(below_count, below);
  if (equal != 0u) atomicAdd(equal_count, equal);
  barrier();
  if (lane == 0u && !surplus) {
    store_part(chunk * 2u, below_count);
    store_part(chunk * 2u + 1u, equal_count);
  }
#endif
}

#else

shared uint below_before, equal_before;

void main() {
  load_arguments();
  uint group = WORKGROUP;
  uint lane = gl_LocalInvocationID.x;
  uint chunk = min(group, PART_COUNT - 1u);
  uint row = BY_CHUNKS(chunk);
  uint number = chunk - row * ROW_PARTS;
  uint begin = number * CHUNK;
  uint count = group < PART_COUNT ? min(CHUNK, LENGTH - begin) : 0u;
  Key known = load_key(STATE_AT(row, DIGITS));
  uint wanted = load_state(STATE_AT(row, DIGITS) + KEY_WORDS);
  if (lane == 0u) below_before = equal_before = 0u;
  barrier();
  uint below = 0u, equal = 0u;
  for (uint c = row * ROW_PARTS + lane; c < chunk; c += LANES) {
    below += load_part(c * 2u);
    equal += load_part(c * 2u + 1u);
  }
  if (below != 0u) atomicAdd(below_before, below);
  if (equal != 0u) atomicAdd(equal_before, equal);
  barrier();
  below = below_before;
  equal = equal_before;
  if (load_part(chunk * 2u) == 0u && (load_part(chunk * 2u + 1u) == 0u || equal >= wanted)) count = 0u;
  for (uint tile = 0u; tile < count; tile += LANES * EACH) {
    uint first = tile + lane * EACH;
    uint last = min(first + EACH, count);
    uint is_below = 0u, is_equal = 0u;
    for (uint e = first; e < last; ++e) {
      Key key = MASKED(key_of(read_item(row, begin + e)));
      is_below |= (before(key, known) ? 1u : 0u) << (e - first);
      is_equal |= (key == known ? 1u : 0u) << (e - first);
    }
    uint own = uint(bitCount(is_below)) + (uint(bitCount(is_equal)) << 16);
    sums[lane] = own;
    add_up_lanes();
    uint upto = sums[lane] - own, all = sums[LANES - 1u];
    uint place = below + (upto & 0xffffu);
    for (; is_below != 0u; is_below &= is_below - 1u) {
      emit_item(row, place++, read_item(row, begin + first + uint(findLSB(is_below))));
    }
    place = equal + (upto >> 16);
    for (; is_equal != 0u && place < wanted; is_equal &= is_equal - 1u) {
      emit_item(row, KEPT - wanted + place++, read_item(row, begin + first + uint(findLSB(is_equal))));
    }
    below += all & 0xffffu;
    equal += all >> 16;
    barrier();
  }
}

#endif
