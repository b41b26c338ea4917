// Passes over a row of logits, included by each_level.h.

// The numbers that softmax is taken of.
template <typename T>
struct Row {
  const T* logits;
  int64_t count;
  float temperature, softcap;

  INLINE Vector capped(Vector x) const { return softcap == 0 ? x : softcap * hyperbolicTangent(x / softcap); }
  INLINE Vector tempered(Vector x) const { return temperature == 1 ? x : x / temperature; }

  INLINE Vector at(int64_t i, int64_t size) const {
    return filled(tempered(capped(loadFirst(logits + i, size))), 0, size, LEAST);
  }
  INLINE float scored(int64_t i) const { return tempered(capped(broadcast(float(logits[i]))))[0]; }
};

template <typename T>
INLINE void scoreRow(const Scores<T>& job, int64_t r, const Row<T>& row, int64_t target) {
  Vector most = broadcast(LEAST);
  eachVector(row.count, [&](int64_t i, int64_t size) INLINED { most = larger(row.at(i, size), most); });
  const float largest = maximumOf(most);
  // Σ e^x and Σ x e^x, with x from the largest logit down.
  Doubles sum{}, moment{};
  eachVector(row.count, [&](int64_t i, int64_t size) INLINED {
    const Vector x = row.at(i, size) - largest, y = exponential(x);
    addTo(sum, y);
    addTo(moment, x * y);
  });
  const double total = sumOf(sum), logSum = std::log(total);
  job.normalizers[r] = float(largest + logSum);
  // Rounded after each step, as libtorch's log softmax is.
  job.logprobs[r] = (row.scored(target) - largest) - float(logSum);
  job.entropies[r] = float(logSum - sumOf(moment) / total);
}

// With p = softmax(z / t): [g at the token − p g − h p (log p + H)] / t, times the slope of the cap.
template <typename T>
INLINE void gradientOf(const Gradients<T>& job, int64_t r, const Row<T>& row, T* out, int64_t target) {
  const float g = job.logprob ? job.logprob[r] : 0, h = job.entropy ? job.entropy[r] : 0;
  const float normalizer = job.normalizers[r], entropy = job.entropies[r];
  const auto gradient = [&](Vector capped) INLINED {
    const Vector logProbability = row.tempered(capped) - normalizer,
                 weight = h == 0 ? Vector{} - g : (logProbability + entropy) * -h - g;
    return exponential(logProbability) * weight;
  };
  const auto beforeCap = [&](Vector scores, Vector capped) INLINED {
    const Vector tempered = row.tempered(scores);
    if (row.softcap == 0) return tempered;
    const Vector share = capped / row.softcap;
    return tempered * (1.f - share * share);
  };
  // Read first: the gradients may take the place of the logits.
  const Vector chosen = row.capped(broadcast(float(row.logits[target])));
  eachVector(row.count, [&](int64_t i, int64_t size) INLINED {
    const Vector capped = row.capped(loadFirst(row.logits + i, size));
    storeFirst(out + i, beforeCap(gradient(capped), capped), size);
  });
  out[target] = T(beforeCap(gradient(chosen) + g, chosen)[0]);
}

// The logits of a row's set, side by side.
template <typename T>
struct Gathered {
  std::vector<int32_t> ids;
  std::vector<T> logits, gradients;

  // The place of the target among them; whoever calls has seen that it is there.
  INLINE int64_t gather(const Rows<T>& job, int64_t r) {
    TokenSet{job.sets + job.offsets[r], job.sets + job.offsets[r + 1]}.decode(job.vocab, ids);
    const T* from = job.logits + r * job.vocab;
    logits.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) logits[i] = from[ids[i]];
    return std::lower_bound(ids.begin(), ids.end(), job.targets[r]) - ids.begin();
  }
  INLINE Row<T> row(const Rows<T>& job) const {
    return {logits.data(), int64_t(ids.size()), job.temperature, job.softcap};
  }
};

template <typename T>
INLINE bool restricts(const Rows<T>& job, int64_t r) {
  return job.sets && job.offsets[r] < job.offsets[r + 1];
}

template <typename T>
INLINE Row<T> wholeRow(const Rows<T>& job, int64_t r) {
  return {job.logits + r * job.vocab, job.vocab, job.temperature, job.softcap};
}

template <typename T>
INLINE void runRow(const Scores<T>& job, int64_t r, Gathered<T>& some) {
  if (!restricts(job, r)) return scoreRow(job, r, wholeRow(job, r), job.targets[r]);
  const int64_t target = some.gather(job, r);
  scoreRow(job, r, some.row(job), target);
}

template <typename T>
INLINE void runRow(const Gradients<T>& job, int64_t r, Gathered<T>& some) {
  T* out = job.out + r * job.vocab;
  if (!restricts(job, r)) return gradientOf(job, r, wholeRow(job, r), out, job.targets[r]);
  const int64_t target = some.gather(job, r);
  some.gradients.resize(some.ids.size());
  gradientOf(job, r, some.row(job), some.gradients.data(), target);
  std::fill(out, out + job.vocab, T(0));
  for (size_t i = 0; i < some.ids.size(); ++i) out[some.ids[i]] = some.gradients[i];
}

template <class Job>
void scoreRows(const Job& job, int64_t begin, int64_t end) {
  Gathered<typename Job::Logit> some;
  for (int64_t r = begin; r < end; ++r) runRow(job, r, some);
}
