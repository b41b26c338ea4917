// Sums of gradients, included by each_level.h.

// sum += gradient, from `begin` to `end`.
void addHalves(float* sum, const c10::BFloat16* gradient, int64_t begin, int64_t end) {
  eachVector(end - begin, [&](int64_t i, int64_t count) INLINED {
    const int64_t at = begin + i;
    storeFirst(sum + at, loadFirst(sum + at, count) + loadFirst(gradient + at, count), count);
  });
}
