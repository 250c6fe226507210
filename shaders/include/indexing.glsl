// Index arithmetic.

// floor(n / d) for n < 2^31, with the multiplier and shift that the host computed for d (MakeMagicDivisor).
FN uint divide_index(uint n, uint multiplier, uint shift) {
  uint high, low;
  umulExtended(n, multiplier, high, low);
  return high >> shift;
}
