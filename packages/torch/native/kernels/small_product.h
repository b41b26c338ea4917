// Products of matrices that stay in the nearest cache. Without a guard: included behind vector.h.

// c[rows × columns vectors] = or += a × b, over `depth`. An element (i, k) of a is at a[i × lda + k], or with TURNED at
// a[k × lda + i].
template <int ROWS, int COLUMNS, bool TURNED>
INLINE void multiplyBlock(int64_t depth, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                          int64_t ldc, bool add) {
  Vector sums[ROWS][COLUMNS];
  UNROLL
  for (int i = 0; i < ROWS; ++i) {
    UNROLL
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = add ? load(c + i * ldc + j * LANES) : Vector{};
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vector row[COLUMNS];
    UNROLL
    for (int j = 0; j < COLUMNS; ++j) row[j] = load(b + k * ldb + j * LANES);
    UNROLL
    for (int i = 0; i < ROWS; ++i) {
      const Vector x = broadcast(TURNED ? a[k * lda + i] : a[i * lda + k]);
      UNROLL
      for (int j = 0; j < COLUMNS; ++j) sums[i][j] = plusProduct(sums[i][j], x, row[j]);
    }
  }
  UNROLL
  for (int i = 0; i < ROWS; ++i) {
    UNROLL
    for (int j = 0; j < COLUMNS; ++j) store(c + i * ldc + j * LANES, sums[i][j]);
  }
}

// Rows of c that are computed at a time: with three vectors each, and what they are made of, they fill the registers.
constexpr int BLOCK_ROWS = REGISTERS >= 32 ? 8 : 4;

template <int COLUMNS, bool TURNED>
INLINE void multiplyColumns(int64_t rows, int64_t depth, const float* a, int64_t lda, const float* b, int64_t ldb,
                            float* c, int64_t ldc, bool add) {
  for (int64_t i = 0; i < rows; i += BLOCK_ROWS)
    multiplyBlock<BLOCK_ROWS, COLUMNS, TURNED>(depth, a + (TURNED ? i : i * lda), lda, b, ldb, c + i * ldc, ldc, add);
}

// As above, for any number of rows, which is rounded up to whole blocks, and of vectors a row.
template <bool TURNED>
void multiply(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t lda, const float* b, int64_t ldb,
              float* c, int64_t ldc, bool add) {
  for (int64_t blocks = (columns + 2) / 3; blocks > 0; --blocks) {
    const int64_t wide = (columns + blocks - 1) / blocks;
    const auto go = wide == 3   ? multiplyColumns<3, TURNED>
                    : wide == 2 ? multiplyColumns<2, TURNED>
                                : multiplyColumns<1, TURNED>;
    go(rows, depth, a, lda, b, ldb, c, ldc, add);
    columns -= wide;
    b += wide * LANES;
    c += wide * LANES;
  }
}
