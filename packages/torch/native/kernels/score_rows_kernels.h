// Passes over a row of logits, included by each_level.h.

template <typename T>
INLINE Vector scaled(const T* logits, int64_t count, float temperature) {
  Vector x = loadFirst(logits, count);
  if (temperature != 1) x = x / temperature;
  return filled(x, count, LEAST);
}

template <typename T>
INLINE void runRow(const Scores<T>& job, int64_t row) {
  const T* logits = job.logits + row * job.vocab;
  Vector most = broadcast(LEAST);
  eachVector(job.vocab, [&](int64_t i, int64_t count)
                            INLINED { most = larger(scaled(logits + i, count, job.temperature), most); });
  const float largest = maximumOf(most);
  // Σ e^x and Σ x e^x, with x from the largest logit down.
  Doubles sum{}, moment{};
  eachVector(job.vocab, [&](int64_t i, int64_t count) INLINED {
    const Vector x = scaled(logits + i, count, job.temperature) - largest, y = exponential(x);
    addTo(sum, y);
    addTo(moment, x * y);
  });
  const double total = sumOf(sum), logSum = std::log(total);
  job.normalizers[row] = float(largest + logSum);
  // Rounded after each step, as libtorch's log softmax is.
  job.logprobs[row] = (float(logits[job.targets[row]]) / job.temperature - largest) - float(logSum);
  job.entropies[row] = float(logSum - sumOf(moment) / total);
}

// With p = softmax(z / t): [g at the token − p g − h p (log p + H)] / t.
template <typename T>
INLINE void runRow(const Gradients<T>& job, int64_t row) {
  const T* logits = job.logits + row * job.vocab;
  T* out = job.out + row * job.vocab;
  const float g = job.logprob ? job.logprob[row] : 0, h = job.entropy ? job.entropy[row] : 0;
  const float normalizer = job.normalizers[row], entropy = job.entropies[row];
  const auto gradient = [&](Vector x) INLINED {
    const Vector logProbability = x - normalizer, weight = h == 0 ? Vector{} - g : (logProbability + entropy) * -h - g;
    return exponential(logProbability) * weight;
  };
  eachVector(job.vocab, [&](int64_t i, int64_t count) INLINED {
    const Vector scores = gradient(scaled(logits + i, count, job.temperature));
    storeFirst(out + i, job.temperature == 1 ? scores : scores / job.temperature, count);
  });
  const int64_t target = job.targets[row];
  const Vector score = gradient(broadcast(float(logits[target]) / job.temperature)) + g;
  out[target] = T(score[0] / job.temperature);
}

template <class Job>
void scoreRows(const Job& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) runRow(job, row);
}
