// Drawing a token from a row of logits, included by each_level.h.

#include "logits_row.h"
#include "truncation.h"

INLINE int64_t likeliest(const RowOf& row, float largest, int64_t vocab) {
  for (int64_t i = 0; i < vocab; i += LANES) {
    const int64_t count = std::min<int64_t>(LANES, vocab - i);
    const Vector x = row.at(i, count);
    for (int64_t j = 0; j < count; ++j)
      if (x[j] == largest) return i + j;
  }
  return 0;
}

INLINE void drawRow(const Draws& job, int64_t r, Scratch& scratch) {
  const Rules& rules = job.rules[r];
  const bool greedy = rules.temperature == 0;
  const int64_t vocab = job.vocab;
  const RowOf plain{job.logits + r * job.stride, greedy ? 1 : float(rules.temperature)};
  float* maxima = nullptr;
  if (rules.truncates()) {
    scratch.maxima.resize(blocksOf(vocab) * LANES);
    scratch.kept.resize(blocksOf(vocab) * (BLOCK / 64));
    maxima = scratch.maxima.data();
  }
  const Normalizer ofPlain = normalize(plain, vocab, maxima, scratch.sums);
  RowOf allowed = plain;
  Normalizer ofAllowed = ofPlain;
  if (change(job, r, scratch.changed)) {
    allowed.logits = scratch.changed.logits.data();
    ofAllowed = normalizeChanged(allowed, plain, ofPlain, scratch.changed.ids, vocab, maxima, scratch.sums);
  }
  const auto logProb = [&](const RowOf& row, const Normalizer& by, int64_t token) {
    return (row.at(token) - by.largest) - by.logSum;
  };
  int64_t token = 0;
  float sampled;
  if (std::isnan(ofAllowed.logSum)) {
    sampled = ofAllowed.logSum;
  } else if (greedy) {
    token = likeliest(allowed, ofAllowed.largest, vocab);
    sampled = 0;
  } else if (rules.truncates()) {
    const float bound = leastKept(allowed, vocab, ofAllowed, rules, scratch);
    const Drawn drawn = drawKept(allowed, bound, ofAllowed.largest, vocab, job.uniforms[r], scratch);
    token = drawn.token;
    sampled = float((allowed.at(token) - ofAllowed.largest) - std::log(drawn.total));
    if (job.support) encodeSet(scratch.kept, job.support[r]);
  } else {
    token = invert(allowed, -FLT_MAX, ofAllowed.largest, vocab, job.uniforms[r], scratch.sums).token;
    sampled = logProb(allowed, ofAllowed, token);
  }
  job.tokens[r] = token;
  job.logprobs[r] = logProb(plain, ofPlain, token);
  job.sampledLogprobs[r] = sampled;
}

void drawRows(const Draws& job, int64_t begin, int64_t end) {
  Scratch scratch;
  scratch.sums.resize(blocksOf(job.vocab));
  scratch.blocks.resize(blocksOf(job.vocab));
  for (int64_t r = begin; r < end; ++r) drawRow(job, r, scratch);
}
