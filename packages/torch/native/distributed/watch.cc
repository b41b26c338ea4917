#include "watch.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace grpo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPulse(1);
constexpr seconds kLostAfter(10);
// For JavaScript to end the process after a loss.
constexpr seconds kGrace(15);
// A process that ends waits for its last words to be written, and as server of the store for them to be read.
constexpr seconds kLastWords(2), kLastWordsRead(4);
constexpr milliseconds kTick(100);

std::string memberKey(int rank) { return "member/" + std::to_string(rank); }
std::string statusKey(int rank) { return "status/" + std::to_string(rank); }

std::string textOf(const std::vector<uint8_t>& bytes) { return std::string(bytes.begin(), bytes.end()); }

std::string list(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace

Watch::Watch(c10::intrusive_ptr<c10d::Store> store, int rank, int size, bool servesStore, std::string whereStore,
             Member self, std::chrono::seconds timeout, std::function<void(Loss)> onLoss)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      servesStore_(servesStore),
      whereStore_(std::move(whereStore)),
      timeout_(timeout),
      onLoss_(std::move(onLoss)),
      peers_(size) {
  peers_[rank].member = std::move(self);
  peers_[rank].isHere = true;
  lastExchange_ = lastProgress_ = Clock::now();
}

void Watch::start() {
  if (store_->add("claim/" + std::to_string(rank_), 1) > 1)
    throw std::runtime_error("another process is rank " + std::to_string(rank_) + " already, at " + whereStore_);
  store_->set(memberKey(rank_), write(peers_[rank_].member));
  exchangeOnce();
  std::thread([self = shared_from_this()] { self->exchange(); }).detach();
  std::thread([self = shared_from_this()] { self->guard(); }).detach();
}

std::vector<Member> Watch::waitForAll(const std::function<void(const std::vector<int>&)>& onMissing) {
  const auto deadline = Clock::now() + timeout_;
  // Processes that start together come within this time of each other, and nobody has to hear of it.
  auto told = Clock::now() + seconds(2);
  std::vector<int> before;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;; changed_.wait_for(lock, kTick)) {
    if (loss_) throw std::runtime_error(loss_->reason);
    std::vector<int> missing;
    std::vector<Member> members;
    for (int rank = 0; rank < size_; ++rank) {
      members.push_back(peers_[rank].member);
      if (!peers_[rank].isHere) missing.push_back(rank);
    }
    if (missing.empty()) return members;
    const auto now = Clock::now();
    if (now > deadline) {
      lose(missing[0], list(missing) + " of " + std::to_string(size_) + " did not come within " +
                           std::to_string(timeout_.count()) + " s");
    } else if (now > told && missing != before) {
      before = missing;
      onMissing(missing);
    }
  }
}

void Watch::beginCall(std::string call) {
  std::lock_guard<std::mutex> lock(mutex_);
  own_.call = std::move(call);
}

void Watch::endCall() {
  std::lock_guard<std::mutex> lock(mutex_);
  own_.call.clear();
  ++own_.calls;
  ++progress_;
}

std::optional<Loss> Watch::waitForLoss(milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return loss_ || stopping_; });
  return loss_;
}

void Watch::exchange() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    try {
      exchangeOnce();
      lock.lock();
    } catch (const std::exception&) {
      lock.lock();
      if (!stopping_) loseStore("closed its connection");
      break;
    }
    const auto pause = own_.state == Status::kRunning ? milliseconds(kPulse) : kTick;
    changed_.wait_for(lock, pause, [this] { return stopping_ || version_ != published_; });
  }
  stopped_ = true;
  changed_.notify_all();
}

// Writes this process's status and reads those of all who have come.
void Watch::exchangeOnce() {
  std::vector<int> ranks;
  std::vector<std::string> keys;
  std::vector<int> absent;
  int64_t version;
  std::string text;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++own_.pulse;
    text = write(own_);
    version = version_;
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_) (peers_[rank].isHere ? ranks : absent).push_back(rank);
  }
  store_->set(statusKey(rank_), text);
  std::vector<std::pair<int, Member>> arrived;
  for (const int rank : absent) {
    if (!store_->check({memberKey(rank), statusKey(rank)})) continue;
    arrived.emplace_back(rank, readMember(textOf(store_->get(memberKey(rank)))));
    ranks.push_back(rank);
  }
  for (const int rank : ranks) keys.push_back(statusKey(rank));
  const auto answers = keys.empty() ? std::vector<std::vector<uint8_t>>() : store_->multiGet(keys);

  std::lock_guard<std::mutex> lock(mutex_);
  const auto now = Clock::now();
  for (const auto& [rank, member] : arrived) {
    peers_[rank].isHere = true;
    peers_[rank].member = member;
    peers_[rank].changed = now;
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    auto& peer = peers_[ranks[i]];
    const Status status = readStatus(textOf(answers[i]));
    if (status.pulse != peer.status.pulse) peer.changed = now;
    peer.status = status;
  }
  lastExchange_ = now;
  published_ = version;
  judge(now);
  changed_.notify_all();
}

void Watch::judge(Clock::time_point now) {
  if (loss_ || own_.state != Status::kRunning) return;
  for (int rank = 0; rank < size_ && !loss_; ++rank) {
    const auto& [isHere, member, status, changed] = peers_[rank];
    if (rank == rank_ || !isHere) continue;
    if (member.size != size_)
      return lose(rank, describe(rank) + " says that there are " + std::to_string(member.size) + " processes, rank " +
                            std::to_string(rank_) + " that there are " + std::to_string(size_));
    if (status.state == Status::kEnding) return lose(status.culprit, status.reason);
    const bool isWaiting = !own_.call.empty();
    if (status.state == Status::kLeft) {
      if (isWaiting && status.calls <= own_.calls)
        lose(rank, describe(rank) + " has left, and rank " + std::to_string(rank_) + " waits for it in " + own_.call);
      continue;
    }
    if (now - changed > kLostAfter)
      return lose(rank, describe(rank) + " was lost: it stopped answering " + std::to_string(kLostAfter.count()) +
                            " s ago; it was killed or stopped, or its machine is gone");
    if (isWaiting && !status.call.empty() && status.calls == own_.calls && status.call != own_.call)
      return lose(rank, describe(rank) + " is in " + status.call + " while rank " + std::to_string(rank_) + " is in " +
                            own_.call);
  }
  judgeSelf(now);
}

// Each judges its own progress: this thread runs as well where JavaScript hangs.
void Watch::judgeSelf(Clock::time_point now) {
  bool allWait = !own_.call.empty();
  for (int rank = 0; rank < size_; ++rank)
    allWait = allWait && (rank == rank_ || (peers_[rank].isHere && !peers_[rank].status.call.empty()));
  const bool waitsForOthers = !own_.call.empty() && !allWait;
  if (waitsForOthers || progress_ != seenProgress_) {
    seenProgress_ = progress_;
    lastProgress_ = now;
  }
  if (loss_ || now - lastProgress_ <= timeout_) return;
  const std::string limit = std::to_string(timeout_.count()) + " s";
  lose(rank_, allWait ? describe(rank_) + " and all others wait in " + own_.call + ", which has not moved for " +
                            limit + "; the network between them may be gone"
                      : describe(rank_) + " made no progress for " + limit);
}

// What the exchange cannot see because it hangs itself, and the end of a process that does not end.
void Watch::guard() {
  auto before = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;; changed_.wait_for(lock, kTick)) {
    if (stopping_) return;
    const auto now = Clock::now();
    const auto pause = std::chrono::duration_cast<seconds>(now - before);
    before = now;
    // This process was stopped itself, and has not had the time to hear from the others.
    if (pause > kPulse) lastExchange_ = now;
    if (pause > kLostAfter + kPulse)
      lose(rank_, describe(rank_) + " was stopped for " + std::to_string(pause.count()) +
                      " s; the others do not wait so long");
    if (!loss_ && now - lastExchange_ > kLostAfter) loseStore("does not answer");
    if (!loss_ || now - lossTime_ < kGrace || own_.state == Status::kLeft) continue;
    std::fprintf(stderr, "%s. Rank %d was still at work %d s later, and is ended.\n", loss_->reason.c_str(), rank_,
                 int(kGrace.count()));
    std::fflush(stderr);
    _exit(1);
  }
}

void Watch::lose(int rank, std::string reason) {
  if (loss_ || own_.state != Status::kRunning) return;
  loss_ = Loss{rank, std::move(reason)};
  lossTime_ = Clock::now();
  own_.culprit = rank;
  own_.reason = loss_->reason;
  publish(Status::kEnding);
  onLoss_(*loss_);
}

void Watch::loseStore(const std::string& how) {
  if (peers_[0].isHere && rank_ != 0)
    lose(0, describe(0) + " was lost: the store at " + whereStore_ + " " + how +
                "; rank 0 was killed or stopped, or its machine is gone");
  else
    lose(0, "the store at " + whereStore_ + " " + how);
}

void Watch::publish(Status::State state) {
  own_.state = state;
  ++version_;
  changed_.notify_all();
}

void Watch::fail(std::string reason) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (own_.state == Status::kRunning) {
    own_.culprit = rank_;
    own_.reason = describe(rank_) + " failed: " + reason;
    publish(Status::kEnding);
  }
  stop(lock);
}

void Watch::leave() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (own_.state == Status::kRunning) {
    publish(Status::kLeft);
    // Nobody is lost to a process that has what it wanted, but they may need the store.
    changed_.wait(lock, [this] { return stopped_ || !servesStore_ || areOthersGone(Clock::now()); });
  }
  stop(lock);
}

bool Watch::areOthersGone(Clock::time_point now) const {
  for (int rank = 0; rank < size_; ++rank) {
    const auto& peer = peers_[rank];
    if (rank == rank_ || !peer.isHere) continue;
    if (peer.status.state == Status::kRunning && now - peer.changed <= kLostAfter) return false;
  }
  return true;
}

// After the last words were written, and read where nobody else can hand them out.
void Watch::stop(std::unique_lock<std::mutex>& lock) {
  if (servesStore_) changed_.wait_for(lock, kLastWordsRead, [this] { return stopped_ || areOthersGone(Clock::now()); });
  changed_.wait_for(lock, kLastWords, [this] { return stopped_ || published_ == version_; });
  stopping_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kLastWords, [this] { return stopped_; });
}

std::string Watch::describe(int rank) const {
  const Member& member = peers_[rank].member;
  return "rank " + std::to_string(rank) + " (" + member.host + ", process " + std::to_string(member.process) + ")";
}

}  // namespace grpo
