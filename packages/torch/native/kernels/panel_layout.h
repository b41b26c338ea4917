// How panels and the rows that they multiply are laid out, part of the kernels of packed_linear.cc.

#ifdef MULTIPLIES_BFLOAT16
constexpr bool PAIRED = true;
#else
constexpr bool PAIRED = false;
#endif

// Numbers of four bytes that a row of the input has a step: a pair of bfloat16 is one where an instruction multiplies
// it.
template <class T>
constexpr int64_t NUMBERS = sizeof(T) == 2 && !PAIRED ? 2 : 1;

int64_t numbersOfHalves() { return NUMBERS<c10::BFloat16>; }

// Numbers from `first` on of a row, zeros behind its end. Of bfloat16, a number is a pair or, widened, one.
template <bool WIDENED>
INLINE void readNumbers(const Rows& rows, int64_t row, int64_t first, int64_t count, float* to) {
  const int64_t inputs = row < rows.count ? rows.inputs : 0;
  const char* from = static_cast<const char*>(rows.data) + row * rows.stride * rows.bytes;
  if constexpr (WIDENED) {
    const int64_t there = std::clamp<int64_t>(inputs - first, 0, count);
    const auto* halves = reinterpret_cast<const c10::BFloat16*>(from) + first;
    eachVector(there, [&](int64_t i, int64_t some) INLINED { store(to + i, loadFirst(halves + i, some)); });
    std::fill(to + there, to + count, 0.f);
  } else {
    const int64_t there = std::clamp<int64_t>(inputs * rows.bytes - first * 4, 0, count * 4);
    std::memcpy(to, from + first * 4, there);
    std::memset(reinterpret_cast<char*>(to) + there, 0, count * 4 - there);
  }
}

// Number i of LANES rows that lie side by side already, zeros behind the last.
template <bool WIDENED>
INLINE Vector numberOf(const Rows& rows, int64_t row, int64_t i) {
  const int64_t there = std::clamp<int64_t>(rows.count - row, 0, LANES);
  const auto* floats = static_cast<const float*>(rows.data) + row;
  const auto* halves = static_cast<const c10::BFloat16*>(rows.data) + row;
  const auto half = [&](int64_t input) INLINED {
    return input < rows.inputs ? loadFirst(halves + input * rows.step, there) : Vector{};
  };
  if (WIDENED) return half(i);
  if (rows.bytes == 4) return i < rows.inputs ? loadFirst(floats + i * rows.step, there) : Vector{};
  return bitsOf<Vector>(bitsOf<Bits>(half(2 * i)) >> 16 | bitsOf<Bits>(half(2 * i + 1)));
}

// Sixteen rows side by side: [count, 16] numbers, from `first` on. Behind the last row they mean nothing.
template <bool WIDENED>
INLINE void sideBySide(const Rows& rows, int64_t row, int64_t first, int64_t count, float* to) {
  if (rows.step != 1) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t r = 0; r < PANEL; r += LANES) store(to + i * PANEL + r, numberOf<WIDENED>(rows, row + r, first + i));
    return;
  }
  constexpr int64_t SOME = 64;
  const int64_t last = std::min(PANEL, rows.count - row) - 1;
  const auto turn = [=](const float* from, int64_t stride, float* to) INLINED {
    for (int64_t r = 0; r < PANEL; r += LANES)
      for (int64_t i = 0; i < SOME; i += LANES)
        transposeRows([=](int place) INLINED { return from + std::min(r + place, last) * stride + i; },
                      to + i * PANEL + r, PANEL);
  };
  alignas(64) float some[PANEL * SOME], turned[SOME * PANEL];
  const int64_t bytes = rows.stride * rows.bytes;
  // Where whole numbers of four bytes are there, they are read where they lie.
  const bool whole = !WIDENED && bytes % sizeof(float) == 0;
  const int64_t there = whole ? rows.inputs * rows.bytes / sizeof(float) : 0;
  const char* start = static_cast<const char*>(rows.data) + row * bytes;
  for (int64_t from = 0; from < count; from += SOME) {
    const int64_t many = std::min(SOME, count - from), place = first + from;
    float* out = many == SOME ? to + from * PANEL : turned;
    if (place + SOME <= there) {
      turn(reinterpret_cast<const float*>(start) + place, bytes / sizeof(float), out);
    } else {
      for (int64_t r = 0; r <= last; ++r) readNumbers<WIDENED>(rows, row + r, place, SOME, some + r * SOME);
      turn(some, SOME, out);
    }
    if (many < SOME) std::memcpy(to + from * PANEL, turned, many * PANEL * sizeof(float));
  }
}

void pack(const Rows& weight, const Panels& panels, int64_t begin, int64_t end) {
  const auto packSome = [&](int64_t panel, int64_t from, int64_t most) INLINED {
    sideBySide<false>(weight, panel * PANEL, from, std::min(most, panels.steps - from), panels.at(panel, from));
  };
  if (weight.step == 1) {
    for (int64_t panel = begin; panel < end; ++panel)
      for (int64_t from = 0; from < panels.steps; from += STEPS) packSome(panel, from, STEPS);
  } else {
    // The rows lie side by side, so all panels take some inputs before the next are read.
    for (int64_t from = 0; from < panels.steps; from += PANEL)
      for (int64_t panel = begin; panel < end; ++panel) packSome(panel, from, PANEL);
  }
}

#ifdef MULTIPLIES_TILES
// Sixteen rows: tile after tile of sixteen numbers of each.
void arrangeTiles(const Rows& x, int64_t row, int64_t first, int64_t count, float* to) {
  alignas(64) float some[PANEL * PANEL];
  for (int64_t from = first; from < first + count; from += PANEL, to += PANEL * PANEL) {
    if (x.step == 1) {
      for (int64_t r = 0; r < PANEL; ++r) readNumbers<false>(x, row + r, from, PANEL, to + r * PANEL);
    } else {
      sideBySide<false>(x, row, from, PANEL, some);
      transpose(some, PANEL, to, PANEL);
    }
  }
}
#endif

// Pieces of blocks of sixteen rows of an input in bfloat16 as they are multiplied: [numbers, 16], or rows for the
// tiles. The pieces of one place in all blocks are neighbours: rows that lie side by side share their lines.
void arrange(const Rows& x, int64_t steps, float* to, int64_t begin, int64_t end) {
  constexpr int64_t SOME = NUMBERS<c10::BFloat16>;
  const int64_t numbers = steps * SOME, blocks = (x.count + PANEL - 1) / PANEL;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t block = task % blocks, row = block * PANEL, from = task / blocks * PIECE;
    const int64_t count = std::min(PIECE, numbers - from);
    float* out = to + (block * numbers + from) * PANEL;
#ifdef MULTIPLIES_TILES
    arrangeTiles(x, row, from, count, out);
#else
    sideBySide<(SOME > 1)>(x, row, from, count, out);
#endif
  }
}
