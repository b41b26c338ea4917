#include "stages.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <thread>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace grpo {
namespace {

// About what a core's own cache holds beside the weights that pass through it.
constexpr int64_t kMostBytes = 1 << 20;
// What a stage reads is kept as long as it waits.
constexpr size_t kMostStages = 1024;

void rest() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Yields after some spins: the awaited thread may need this core.
template <class Condition>
void waitUntil(const Condition& holds) {
  constexpr int kSpins = 1000;
  for (int spins = 0; !holds(); ++spins) spins < kSpins ? rest() : std::this_thread::yield();
}

// Threads that perform stages one after another, all parts of one before any of the next. One leads: it adds stages
// while the others perform those that are there, and performs with them where it has to wait.
class Team {
 public:
  explicit Team(int64_t members) : members_(members) {}

  // Runs `adds`, which adds stages, and performs those that are left.
  void lead(const std::function<void(Team&)>& adds) {
    try {
      adds(*this);
      finish();
    } catch (...) {
      failed_.store(true, std::memory_order_release);
      closed_.store(true, std::memory_order_release);
      throw;
    }
    closed_.store(true, std::memory_order_release);
  }

  // Performs the leader's stages until the team is closed.
  void follow() {
    const auto isClosed = [&] { return closed_.load(std::memory_order_acquire); };
    for (Link* last = &first_;;) {
      waitUntil([&] { return following(*last) || isClosed(); });
      Job* job = following(*last);
      if (!job) return;
      perform(*job);
      last = job;
    }
  }

  void add(Stage stage, int64_t bytes) {
    Job& job = jobs_.emplace_back(std::move(stage), bytes);
    last_->following.store(&job, std::memory_order_release);
    last_ = &job;
    bytes_ += bytes;
    while (unfinished_ < jobs_.size() && jobs_[unfinished_].isDone()) release();
    while (bytes_ > kMostBytes) finishOne();
  }

  // Performs all that was added.
  void finish() {
    while (unfinished_ < jobs_.size()) finishOne();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Job;
  struct Link {
    std::atomic<Job*> following{nullptr};
  };
  // A stage, whose parts are taken by pieces.
  struct Job : Link {
    Job(Stage own, int64_t size) : stage(std::move(own)), bytes(size) {}

    bool isDone() const { return done.load(std::memory_order_acquire) == stage.count; }

    Stage stage;
    const int64_t bytes;
    // On cache lines of their own: who takes a piece is not to disturb who waits.
    alignas(64) std::atomic<int64_t> taken{0};
    alignas(64) std::atomic<int64_t> done{0};
  };

  static Job* following(const Link& link) { return link.following.load(std::memory_order_acquire); }

  // Takes pieces until none are left, and waits for those of the others.
  void perform(Job& job) {
    // A member is awake, and takes less than is worth waking it for.
    constexpr int64_t kAwake = 8;
    // Who comes late, or has less of its core, takes one piece less.
    constexpr int64_t kPieces = 2;
    const int64_t count = job.stage.count;
    const int64_t piece = std::max({int64_t(1), job.stage.grain / kAwake, at::divup(count, kPieces * members_)});
    for (int64_t begin = job.taken.load(std::memory_order_relaxed); begin < count;) {
      const int64_t end = std::min(count, begin + piece);
      if (!job.taken.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      runParts(job.stage, begin, end);
      job.done.fetch_add(end - begin, std::memory_order_acq_rel);
      begin = job.taken.load(std::memory_order_relaxed);
    }
    waitUntil([&] { return job.isDone(); });
  }

  // The others wait for these parts, whatever becomes of them.
  void runParts(const Stage& stage, int64_t begin, int64_t end) {
    if (failed_.load(std::memory_order_acquire)) return;
    try {
      stage.run(begin, end);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  void finishOne() {
    perform(jobs_[unfinished_]);
    release();
  }

  // Lets go of the tensors of a stage that is done.
  void release() {
    Job& job = jobs_[unfinished_++];
    job.stage.run = nullptr;
    bytes_ -= job.bytes;
  }

  const int64_t members_;
  // Places do not change: the others read one job while another is added.
  std::deque<Job> jobs_;
  Link first_;
  // The leader's own.
  Link* last_ = &first_;
  size_t unfinished_ = 0;
  int64_t bytes_ = 0;
  std::atomic<bool> closed_{false}, failed_{false};
  std::exception_ptr error_;
};

// Stages that this thread has added.
struct Waiting {
  std::vector<Stage> stages;
  int64_t bytes = 0;
  // Performs them at once.
  Team* team = nullptr;
};

Waiting& waiting() {
  static thread_local Waiting all;
  return all;
}

// A thread's stages go to the team as long as this lives.
struct Led {
  Led(Waiting& added, Team& team) : all(added) { all.team = &team; }
  Led(const Led&) = delete;
  ~Led() { all.team = nullptr; }

  Waiting& all;
};

#if AT_PARALLEL_OPENMP && defined(_OPENMP)
// Turns of a loop run side by side: they may wait for one another.
constexpr bool kHasTeams = true;
#else
constexpr bool kHasTeams = false;
#endif

bool canTeam() { return kHasTeams && at::get_num_threads() > 1 && !at::in_parallel_region(); }

// One loop of libtorch's with a turn for each thread. The first turn is the caller's.
void performTogether(const std::function<void(Team&)>& adds) {
  const int64_t members = at::get_num_threads();
  Team team(members);
  at::parallel_for(0, members, 1, [&](int64_t begin, int64_t) { begin == 0 ? team.lead(adds) : team.follow(); });
}

}  // namespace

void addStage(Stage stage, int64_t bytes) {
  Waiting& all = waiting();
  if (all.team) return all.team->add(std::move(stage), bytes);
  all.stages.push_back(std::move(stage));
  all.bytes += bytes;
  if (all.bytes > kMostBytes || all.stages.size() >= kMostStages) performStages();
}

void performStages() {
  Waiting& all = waiting();
  if (all.team) return all.team->finish();
  if (all.stages.empty()) return;
  // Emptied first: one that fails is not tried again.
  std::vector<Stage> stages = std::exchange(all.stages, {});
  all.bytes = 0;
  const bool large = std::any_of(stages.begin(), stages.end(), [](const Stage& s) { return s.count > s.grain; });
  if (!large || !canTeam()) {
    for (const Stage& stage : stages) at::parallel_for(0, stage.count, stage.grain, stage.run);
    return;
  }
  performTogether([&](Team& team) {
    for (Stage& stage : stages) team.add(std::move(stage), 0);
  });
}

void performWhile(const std::function<void()>& adds) {
  Waiting& all = waiting();
  if (all.team || !canTeam()) return adds();
  performStages();
  performTogether([&](Team& team) {
    const Led led(all, team);
    adds();
  });
}

bool letsStagesWait(const std::string& name) {
  static const std::string names[] = {"grpo::packed_linear",    "grpo::add_norm",    "grpo::gated_activation",
                                      "grpo::decode_attention", "grpo::draw_tokens", "aten::split_with_sizes"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace grpo
