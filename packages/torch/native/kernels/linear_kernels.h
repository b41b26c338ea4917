// Lays a transposed matrix out row by row, included by each_level.h.

// Columns that are read of each row before the next is: whole cache lines.
constexpr int64_t STRIP = 64;

// Rows begin … end of `to` [columns of `from`, rows of it].
void turnRows(const Turned& job, int64_t begin, int64_t end) {
  const auto some = [&](int64_t from, int64_t to, int64_t row, int64_t last) INLINED {
    for (int64_t column = from; column < to; ++column)
      for (int64_t i = row; i < last; ++i) job.to[column * job.rows + i] = job.from[i * job.stride + column];
  };
  const int64_t whole = job.rows / LANES * LANES;
  for (int64_t strip = begin; strip < end; strip += STRIP) {
    const int64_t stop = std::min(strip + STRIP, end), vectors = strip + (stop - strip) / LANES * LANES;
    for (int64_t row = 0; row < whole; row += LANES) {
      for (int64_t column = strip; column < vectors; column += LANES)
        transpose(job.from + row * job.stride + column, job.stride, job.to + column * job.rows + row, job.rows);
      some(vectors, stop, row, row + LANES);
    }
    some(strip, stop, whole, job.rows);
  }
}
