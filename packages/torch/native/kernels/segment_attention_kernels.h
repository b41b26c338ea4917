// The kernels of segment attention, included by each_level.h.
//
// The queries of all heads that share a key head stand side by side, token by token, in tiles; a score matrix is
// [keys, queries], so that a vector holds the scores of LANES queries with one key.

#include "small_product.h"

using namespace segment_attention;

constexpr int64_t TILE = 32;
constexpr int64_t KEY_BLOCK = 64;

constexpr int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Rows of zeros, each at the beginning of a cache line.
struct Matrix : Scratch {
  const int64_t stride;
  Matrix(int64_t rows, int64_t columns) : Scratch(up(rows, 16) * up(columns, LINE)), stride(up(columns, LINE)) {
    std::fill(data, data + up(rows, 16) * stride, 0.f);
  }
  float* row(int64_t i) const { return data + i * stride; }
};

template <class T>
INLINE void loadRow(float* to, const T* from, int64_t width, float factor = 1) {
  eachVector(width, [&](int64_t i, int64_t count) INLINED { store(to + i, loadFirst(from + i, count) * factor); });
}

template <class T>
INLINE void storeRow(T* to, const float* from, int64_t width, float factor = 1) {
  eachVector(width, [&](int64_t i, int64_t count) INLINED { storeFirst(to + i, load(from + i) * factor, count); });
}

INLINE void transposeTile(const Matrix& from, const Matrix& to, int64_t queries, int64_t width) {
  for (int64_t i = 0; i < queries; i += LANES)
    for (int64_t j = 0; j < width; j += LANES) transpose(from.row(i) + j, from.stride, to.row(j) + i, to.stride);
}

// A family as the kernels go through it.
struct Plan {
  int64_t parent;
  int64_t keys;
  explicit Plan(const Family& family) : parent(family[0].length), keys(0) {
    for (size_t i = 0; i < family.size(); ++i) keys = std::max(keys, family[i].length + (i > 0 ? parent : 0));
  }
};

// Some of the queries of one segment: query j of the segment is of token j / ratio and of head j % ratio.
struct Tile {
  const Segment& segment;
  // Keys before the segment's own.
  int64_t before;
  int64_t ratio;
  int64_t window;
  int64_t first;
  int64_t count;

  Tile(const Segment& segment, int64_t before, int64_t ratio, int64_t window, int64_t first)
      : segment(segment),
        before(before),
        ratio(ratio),
        window(window),
        first(first),
        count(std::min(TILE, segment.length * ratio - first)) {}

  int64_t vectors() const { return (count + LANES - 1) / LANES; }
  // Keys that some query of the tile sees.
  int64_t keys() const { return before + (first + count - 1) / ratio + 1; }
  // Keys that no query of the tile sees any more, in whole blocks of rows.
  int64_t past() const { return std::max<int64_t>(0, before + first / ratio + 1 - window) / BLOCK_ROWS * BLOCK_ROWS; }
  // Queries at the beginning of the tile that do not see a key yet.
  int64_t blindTo(int64_t key) const { return std::clamp<int64_t>((key - before) * ratio - first, 0, count); }
  // Hides the keys from `from` on from queries that do not see them any more.
  INLINE void hidePast(const Matrix& scores, int64_t from, int64_t keys) const {
    const int64_t end = std::min(from + keys, this->keys() - window);
    for (int64_t key = from; key < end; ++key) {
      const int64_t seeing = blindTo(key + window);
      std::fill_n(scores.row(key - from) + seeing, count - seeing, -std::numeric_limits<float>::infinity());
    }
  }
  // Calls back with each query's place in the tile, its token and its head.
  template <class Body>
  INLINE void forEach(int64_t keyHead, const Body& body) const {
    int64_t token = segment.start + first / ratio, head = first % ratio;
    for (int64_t i = 0; i < count; ++i) {
      body(i, token, keyHead * ratio + head);
      if (++head == ratio) {
        head = 0;
        ++token;
      }
    }
  }
};

// c × tanh(score / c) for each score.
INLINE void capScores(const Matrix& scores, int64_t keys, int64_t vectors, float softcap) {
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t j = 0; j < vectors * LANES; j += LANES)
      store(scores.row(key) + j, softcap * hyperbolicTangent(load(scores.row(key) + j) * (1 / softcap)));
}

// From scores to their exponentials, less the largest of each query; their sums and log Σ exp.
INLINE void exponentials(const Matrix& scores, int64_t keys, int64_t vectors, float* sums, float* normalizers) {
  for (int64_t j = 0; j < vectors * LANES; j += LANES) {
    Vector most = load(scores.data + j), sum = {};
    for (int64_t key = 1; key < keys; ++key) most = larger(load(scores.row(key) + j), most);
    for (int64_t key = 0; key < keys; ++key) {
      const Vector p = exponential(load(scores.row(key) + j) - most);
      store(scores.row(key) + j, p);
      sum += p;
    }
    store(sums + j, sum);
    for (int i = 0; i < LANES; ++i) normalizers[j + i] = most[i] + std::log(sum[i]);
  }
}

template <class T>
void forward(const Forward<T>& call, const Family& family, int64_t keyHead, const Range& mine) {
  const Plan plan(family);
  const int64_t window = call.scores.window;
  const float scale = call.scores.scale, softcap = call.scores.softcap;
  const int64_t width = up(call.width, LANES);
  const Matrix keys(plan.keys, width), values(plan.keys, width), queries(TILE, width), turned(width, TILE);
  const Matrix scores(std::min(plan.keys, window + TILE + BLOCK_ROWS), TILE), out(TILE, width);
  float sums[TILE], normalizers[TILE];
  int64_t counted = 0;
  for (const Segment& segment : family) {
    const int64_t before = &segment == family.data() ? 0 : plan.parent, start = counted;
    counted += segment.length;
    // Who continues the first segment reads its keys.
    if (before > 0 && (start >= mine.end || counted <= mine.begin)) continue;
    for (int64_t i = 0; i < segment.length; ++i) {
      loadRow(keys.row(before + i), call.key.at(segment.start + i, keyHead), call.width);
      loadRow(values.row(before + i), call.value.at(segment.start + i, keyHead), call.width);
    }
    for (int64_t first = 0; first < segment.length * call.ratio; first += TILE) {
      if (!mine.holds(start + first / call.ratio)) continue;
      const Tile tile(segment, before, call.ratio, window, first);
      const int64_t past = tile.past(), end = tile.keys(), seen = end - past;
      tile.forEach(keyHead, [&](int64_t i, int64_t token, int64_t head) {
        loadRow(queries.row(i), call.query.at(token, head), call.width, scale);
      });
      transposeTile(queries, turned, tile.count, width);
      multiply<false>(seen, tile.vectors(), call.width, keys.row(past), keys.stride, turned.data, turned.stride,
                      scores.data, scores.stride, false);
      if (softcap > 0) capScores(scores, seen, tile.vectors(), softcap);
      for (int64_t key = before + first / call.ratio + 1; key < end; ++key)
        std::fill_n(scores.row(key - past), tile.blindTo(key), -std::numeric_limits<float>::infinity());
      tile.hidePast(scores, past, seen);
      exponentials(scores, seen, tile.vectors(), sums, normalizers);
      multiply<true>(tile.count, width / LANES, seen, scores.data, scores.stride, values.row(past), values.stride,
                     out.data, out.stride, false);
      tile.forEach(keyHead, [&](int64_t i, int64_t token, int64_t head) {
        storeRow(call.out.at(token, head), out.row(i), call.width, 1 / sums[i]);
        *call.normalizers.at(token, head) = normalizers[i];
      });
    }
  }
}

// Σ out × gradient of each query.
INLINE void dots(const Matrix& out, const Matrix& gradient, int64_t queries, int64_t width, float* sums) {
  alignas(64) float partial[LANES * LANES];
  for (int64_t i = 0; i < queries; i += LANES) {
    for (int64_t j = 0; j < LANES; ++j) {
      Vector sum = {};
      for (int64_t d = 0; d < width; d += LANES) sum += load(out.row(i + j) + d) * load(gradient.row(i + j) + d);
      store(partial + j * LANES, sum);
    }
    transpose(partial, LANES, partial, LANES);
    Vector sum = {};
    for (int64_t j = 0; j < LANES; ++j) sum += load(partial + j * LANES);
    store(sums + i, sum);
  }
}

// c × tanh(score / c) for each score, and its slopes.
INLINE void capScores(const Matrix& scores, const Matrix& slopes, int64_t keys, int64_t vectors, float softcap) {
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t j = 0; j < vectors * LANES; j += LANES) {
      const Vector share = hyperbolicTangent(load(scores.row(key) + j) * (1 / softcap));
      store(scores.row(key) + j, softcap * share);
      store(slopes.row(key) + j, 1.f - share * share);
    }
}

INLINE void multiplyEach(const Matrix& to, const Matrix& factors, int64_t rows, int64_t vectors) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors * LANES; j += LANES)
      store(to.row(i) + j, load(to.row(i) + j) * load(factors.row(i) + j));
}

template <class T>
void backward(const Backward<T>& call, const Family& family, int64_t keyHead, const Part& part) {
  const Plan plan(family);
  const int64_t window = call.scores.window;
  const float scale = call.scores.scale, softcap = call.scores.softcap;
  const int64_t width = up(call.width, LANES), columns = width / LANES;
  const Matrix keys(plan.keys, width), values(plan.keys, width), keyGradients(plan.keys, width),
      valueGradients(plan.keys, width);
  const Matrix queries(TILE, width), turned(width, TILE), outs(TILE, width), gradients(TILE, width),
      gradientsTurned(width, TILE), queryGradients(TILE, width);
  const Matrix p(KEY_BLOCK, TILE), ds(KEY_BLOCK, TILE), slopes(softcap > 0 ? KEY_BLOCK : 0, TILE);
  alignas(64) float normalizers[TILE] = {}, deltas[TILE];
  const bool ofQueries = !part.queries.empty(), ofKeys = !part.keys.empty();
  const auto storeKeys = [&](const Segment& segment, int64_t before) {
    const int64_t end = std::min(segment.length, part.keys.end - before);
    for (int64_t i = std::max<int64_t>(0, part.keys.begin - before); i < end; ++i) {
      storeRow(call.keyGradient.at(segment.start + i, keyHead), keyGradients.row(before + i), call.width);
      storeRow(call.valueGradient.at(segment.start + i, keyHead), valueGradients.row(before + i), call.width);
    }
  };
  int64_t counted = 0;
  for (const Segment& segment : family) {
    const int64_t before = &segment == family.data() ? 0 : plan.parent, start = counted;
    counted += segment.length;
    for (int64_t i = 0; i < segment.length; ++i) {
      loadRow(keys.row(before + i), call.key.at(segment.start + i, keyHead), call.width);
      loadRow(values.row(before + i), call.value.at(segment.start + i, keyHead), call.width);
      std::fill_n(keyGradients.row(before + i), width, 0.f);
      std::fill_n(valueGradients.row(before + i), width, 0.f);
    }
    for (int64_t first = 0; first < segment.length * call.ratio; first += TILE) {
      if (!ofKeys && !part.queries.holds(start + first / call.ratio)) continue;
      const Tile tile(segment, before, call.ratio, window, first);
      const int64_t past = ofKeys ? std::max(tile.past(), part.keys.begin) : tile.past(), vectors = tile.vectors();
      const int64_t seen = ofKeys ? std::min(tile.keys(), part.keys.end) : tile.keys();
      if (past >= seen) continue;
      tile.forEach(keyHead, [&](int64_t i, int64_t token, int64_t head) {
        loadRow(queries.row(i), call.query.at(token, head), call.width, scale);
        loadRow(outs.row(i), call.out.at(token, head), call.width);
        loadRow(gradients.row(i), call.outGradient.at(token, head), call.width);
        normalizers[i] = *call.normalizers.at(token, head);
      });
      transposeTile(queries, turned, tile.count, width);
      transposeTile(gradients, gradientsTurned, tile.count, width);
      dots(outs, gradients, tile.count, width, deltas);
      for (int64_t from = past; from < seen; from += KEY_BLOCK) {
        const int64_t count = std::min(KEY_BLOCK, seen - from);
        multiply<false>(count, vectors, call.width, keys.row(from), keys.stride, turned.data, turned.stride, p.data,
                        p.stride, false);
        multiply<false>(count, vectors, call.width, values.row(from), values.stride, gradientsTurned.data,
                        gradientsTurned.stride, ds.data, ds.stride, false);
        if (softcap > 0) capScores(p, slopes, up(count, BLOCK_ROWS), vectors, softcap);
        tile.hidePast(p, from, count);
        // Of keys that nobody sees yet, those of the last block of rows as well: their gradients are added to.
        for (int64_t i = 0; i < up(count, BLOCK_ROWS); ++i) {
          std::fill_n(p.row(i), tile.blindTo(from + i), -std::numeric_limits<float>::infinity());
          for (int64_t j = 0; j < vectors * LANES; j += LANES) {
            const Vector probability = exponential(load(p.row(i) + j) - load(normalizers + j));
            store(p.row(i) + j, probability);
            store(ds.row(i) + j, probability * (load(ds.row(i) + j) - load(deltas + j)));
          }
        }
        if (softcap > 0) multiplyEach(ds, slopes, up(count, BLOCK_ROWS), vectors);
        if (ofKeys) {
          multiply<false>(count, columns, tile.count, p.data, p.stride, gradients.data, gradients.stride,
                          valueGradients.row(from), valueGradients.stride, true);
          multiply<false>(count, columns, tile.count, ds.data, ds.stride, queries.data, queries.stride,
                          keyGradients.row(from), keyGradients.stride, true);
        }
        if (ofQueries)
          multiply<true>(tile.count, columns, count, ds.data, ds.stride, keys.row(from), keys.stride,
                         queryGradients.data, queryGradients.stride, from > past);
      }
      if (!ofQueries) continue;
      tile.forEach(keyHead, [&](int64_t i, int64_t token, int64_t head) {
        storeRow(call.queryGradient.at(token, head), queryGradients.row(i), call.width, scale);
      });
    }
    if (ofKeys && before > 0) storeKeys(segment, before);
  }
  if (ofKeys) storeKeys(family[0], 0);
}
