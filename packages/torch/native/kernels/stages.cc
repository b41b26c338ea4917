#include "stages.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#if AT_PARALLEL_OPENMP && defined(_OPENMP)
// Elsewhere the turns of a loop need not run side by side, and must not wait for one another.
#define HAS_TEAMS
#include <omp.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace grpo {
namespace {

// About what a core's own cache holds beside the weights that pass through it.
constexpr int64_t kMostBytes = 1 << 20;
// What a stage reads is kept as long as it waits.
constexpr size_t kMostStages = 1024;

struct Waiting {
  std::vector<Stage> stages;
  int64_t bytes = 0;
};

Waiting& waiting() {
  static thread_local Waiting all;
  return all;
}

#if defined(HAS_TEAMS)
// A member of a team is awake, and takes a share of less than is worth waking it for.
constexpr int64_t kAwake = 8;

void rest() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Where the members of a team wait for one another.
class Barrier {
 public:
  explicit Barrier(int members) : members_(members) {}

  void wait() {
    const int turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    // Where others want the cores, the one that is waited for may not run before this one yields.
    for (int spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins)
      spins < kSpins ? rest() : std::this_thread::yield();
  }

 private:
  static constexpr int kSpins = 1000;
  const int members_;
  // On cache lines of their own: who arrives is not to disturb who waits.
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> turn_{0};
};

class Team {
 public:
  Team(const std::vector<Stage>& stages, int members) : stages_(stages), members_(members), barrier_(members) {}

  // What the member does, from the first stage to the last.
  void work(int member) {
    for (const Stage& stage : stages_) {
      const int64_t parts = at::divup(stage.count, std::max<int64_t>(1, stage.grain / kAwake));
      const int64_t share = at::divup(stage.count, std::clamp<int64_t>(parts, 1, members_)), begin = member * share;
      if (begin < stage.count && !failed_.load(std::memory_order_acquire))
        perform(stage, begin, std::min(begin + share, stage.count));
      // The end of the loop is a barrier, too.
      if (members_ > 1 && &stage != &stages_.back()) barrier_.wait();
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // A member that left early would be waited for.
  void perform(const Stage& stage, int64_t begin, int64_t end) {
    try {
      stage.run(begin, end);
    } catch (...) {
      if (!failing_.exchange(true)) {
        error_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
      }
    }
  }

  const std::vector<Stage>& stages_;
  const int members_;
  Barrier barrier_;
  alignas(64) std::atomic<bool> failing_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// One loop of libtorch's with a turn for each thread: OpenMP runs them side by side, or fewer that take several.
void performTogether(const std::vector<Stage>& stages) {
  const int64_t wanted = at::get_num_threads();
  std::optional<Team> team;
  std::atomic<bool> made{false};
  std::atomic_flag making = ATOMIC_FLAG_INIT;
  at::parallel_for(0, wanted, 1, [&](int64_t begin, int64_t) {
    const int64_t there = std::min<int64_t>(omp_get_num_threads(), wanted), turns = at::divup(wanted, there);
    if (!making.test_and_set()) {
      team.emplace(stages, int(at::divup(wanted, turns)));
      made.store(true, std::memory_order_release);
    }
    while (!made.load(std::memory_order_acquire)) std::this_thread::yield();
    team->work(int(begin / turns));
  });
  team->rethrow();
}
#else
void performTogether(const std::vector<Stage>& stages) {
  for (const Stage& stage : stages) at::parallel_for(0, stage.count, stage.grain, stage.run);
}
#endif

}  // namespace

void addStage(Stage stage, int64_t bytes) {
  Waiting& all = waiting();
  all.stages.push_back(std::move(stage));
  all.bytes += bytes;
  if (all.bytes > kMostBytes || all.stages.size() >= kMostStages) performStages();
}

void performStages() {
  Waiting& all = waiting();
  if (all.stages.empty()) return;
  // Emptied first: one that fails is not tried again.
  const std::vector<Stage> stages = std::exchange(all.stages, {});
  all.bytes = 0;
  const bool large = std::any_of(stages.begin(), stages.end(), [](const Stage& s) { return s.count > s.grain; });
  if (!large || at::get_num_threads() == 1 || at::in_parallel_region()) {
    for (const Stage& stage : stages) stage.run(0, stage.count);
  } else {
    performTogether(stages);
  }
}

bool letsStagesWait(const std::string& name) {
  static const std::string names[] = {"grpo::packed_linear",    "grpo::add_norm",    "grpo::gated_activation",
                                      "grpo::decode_attention", "grpo::draw_tokens", "aten::split_with_sizes"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace grpo
