// Whether the processes of a group are alive and get on. Each writes its status into the store once per second, by a
// connection and a thread of its own, and reads the others'. That goes on while JavaScript computes and while a
// collective waits, which is when a process must learn that it waits in vain.
#pragma once
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "status.h"

namespace grpo {

// Why the group cannot go on: whose fault it is, and a sentence about it.
struct Loss {
  int rank = 0;
  std::string reason;
};

class Watch : public std::enable_shared_from_this<Watch> {
 public:
  using Clock = std::chrono::steady_clock;

  // `store` is used by this watch alone; `whereStore` is its host and port, for people.
  Watch(c10::intrusive_ptr<c10d::Store> store, int rank, int size, bool servesStore, std::string whereStore,
        Member self, std::chrono::seconds timeout, std::function<void(Loss)> onLoss);

  // Until `leave` or `fail`. The threads keep the watch alive: one may hang in a store that answers no more.
  void start();

  // Waits until all have come, tells `onMissing` of the ranks that have not as often as they change, and throws with
  // them when `timeout` has passed.
  std::vector<Member> waitForAll(const std::function<void(const std::vector<int>&)>& onMissing);

  // This process gets on.
  void progress() { ++progress_; }

  // From here on this process waits for the others in a collective, described by its kind and size.
  void beginCall(std::string call);
  void endCall();

  // The loss, where there is one within `patience`.
  std::optional<Loss> waitForLoss(std::chrono::milliseconds patience);

  // Tells the others that this process fails, and waits until that is written.
  void fail(std::string reason);

  // Tells the others that this process needs no more of them. Who serves the store waits until none needs it.
  void leave();

 private:
  struct Peer {
    bool isHere = false;
    Member member;
    Status status;
    Clock::time_point changed;
  };

  void exchange();
  void exchangeOnce();
  void guard();
  void judge(Clock::time_point now);
  void judgeSelf(Clock::time_point now);
  void lose(int rank, std::string reason);
  void loseStore(const std::string& how);
  void publish(Status::State state);
  void stop(std::unique_lock<std::mutex>& lock);
  bool areOthersGone(Clock::time_point now) const;
  std::string describe(int rank) const;

  const c10::intrusive_ptr<c10d::Store> store_;
  const int rank_, size_;
  const bool servesStore_;
  const std::string whereStore_;
  const std::chrono::seconds timeout_;
  const std::function<void(Loss)> onLoss_;
  std::atomic<int64_t> progress_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  Status own_;
  // Counts what has to be written before the next second; `published_` is what has been.
  int64_t version_ = 0, published_ = 0;
  std::optional<Loss> loss_;
  Clock::time_point lossTime_, lastExchange_, lastProgress_;
  int64_t seenProgress_ = 0;
  bool stopping_ = false, stopped_ = false;
};

}  // namespace grpo
