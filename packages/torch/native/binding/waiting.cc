// How the threads of a parallel loop wait for one another. libgomp's spin, and sleep after a while. A thread that
// sleeps is woken late, which a small model pays several thousand times per step; a thread that spins keeps a core from
// whoever would work there, which costs many times more where others want the cores. So they spin while this process
// gets the cores that it asks for, and sleep almost at once while it waits for them.
#include "waiting.h"

#if defined(__linux__)
#include <ATen/Parallel.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// libgomp's, which libtorch loads; null where its threads are another library's. Declared here, since a compiler
// without OpenMP knows no pragma for them.
extern "C" {
__attribute__((weak)) void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
__attribute__((weak)) int omp_get_thread_num();
__attribute__((weak)) int omp_get_num_procs();
}
#endif

namespace grpo {

#if defined(__linux__)
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(100);
// Seconds that the threads wait for a core, together, per second. One other thread that never rests makes it 0.5.
constexpr double kContended = 0.25;
// Intervals above that before they sleep, and below it before they spin again. Garbage is collected in less.
constexpr int kInARow = 3;

// libgomp spins a hundred rounds only while it manages more threads than there are processors. A crowd is one thread
// and its team, as few as make it more beside `working` threads; they sleep until it is destroyed. Where all processors
// work that is two threads: OpenMP ends a process that may not have as many as it asks for.
class Crowd {
 public:
  explicit Crowd(size_t working)
      : working(working), team_(std::max(2, omp_get_num_procs() + 2 - int(working))), thread_([this] { stay(); }) {}

  ~Crowd() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  const size_t working;

 private:
  void stay() {
    GOMP_parallel([](void*) {}, nullptr, unsigned(team_), 0);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  const int team_;
  std::thread thread_;
};

// The threads whose waiting counts.
struct Team {
  std::mutex mutex;
  std::vector<pid_t> threads;

  size_t size() {
    std::lock_guard<std::mutex> lock(mutex);
    return threads.size();
  }
};

Team& theTeam() {
  // Never freed: the thread that watches lives as long as the process.
  static Team* team = new Team();
  return *team;
}

// Nanoseconds that the team's threads, while ready to run, have waited for a core; nullopt where the system does not
// say.
std::optional<uint64_t> readDelay() {
  std::lock_guard<std::mutex> lock(theTeam().mutex);
  std::optional<uint64_t> sum;
  for (const pid_t thread : theTeam().threads) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/schedstat";
    FILE* file = std::fopen(path.c_str(), "r");
    // A thread may have ended since.
    if (!file) continue;
    unsigned long long ran, waited;
    if (std::fscanf(file, "%llu %llu", &ran, &waited) == 2) sum = sum.value_or(0) + waited;
    std::fclose(file);
  }
  return sum;
}

void watch() {
  std::unique_ptr<Crowd> crowd;
  std::optional<uint64_t> before;
  auto then = Clock::now();
  int quiet = 0, contended = 0;
  for (;; std::this_thread::sleep_for(kInterval)) {
    const auto delay = readDelay();
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - then).count();
    // A sum over other threads than before can be less.
    const bool known = delay && before && *delay >= *before;
    const bool isQuiet = known && double(*delay - *before) * 1e-9 < kContended * seconds;
    quiet = isQuiet ? quiet + 1 : 0;
    contended = isQuiet ? 0 : contended + 1;
    before = delay;
    then = now;
    const size_t working = theTeam().size();
    if (quiet >= kInARow || (crowd && crowd->working != working)) crowd.reset();
    if (contended >= kInARow && !crowd) crowd = std::make_unique<Crowd>(working);
  }
}

}  // namespace

void watchWaiting() {
  if (!GOMP_parallel || !omp_get_thread_num || !omp_get_num_procs) return;
  std::vector<pid_t> threads(at::get_num_threads());
  const auto note = [](void* data) {
    auto& threads = *static_cast<std::vector<pid_t>*>(data);
    threads[omp_get_thread_num()] = pid_t(syscall(SYS_gettid));
  };
  GOMP_parallel(note, &threads, unsigned(threads.size()), 0);
  {
    std::lock_guard<std::mutex> lock(theTeam().mutex);
    theTeam().threads = threads;
  }
  static std::once_flag once;
  if (threads.size() > 1) std::call_once(once, [] { std::thread(watch).detach(); });
}
#else
void watchWaiting() {}
#endif

}  // namespace grpo
