// Processes that compute together: torch.distributed's store and collectives, without Python. One thread performs the
// collectives in the order of their calls, which is the same in every process.
#pragma once
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "watch.h"

namespace grpo {

struct GroupOptions {
  int rank = 0, size = 1;
  std::string host;
  // 0: the store that this process serves takes one that is free.
  int port = 0;
  bool servesStore = false;
  std::string prefix;
  std::chrono::seconds timeout{600};
};

struct GroupCall {
  enum Kind { kJoin, kSum, kBroadcast, kGather, kBarrier };
  int64_t id = 0;
  Kind kind = kJoin;
  // Of a sum or broadcast; they live until it is done.
  std::vector<at::Tensor> tensors;
  // Of a gather.
  std::vector<uint8_t> bytes;
};

// What a group's threads tell.
struct GroupEvent {
  enum Kind { kMissing, kDone, kFailed, kLost, kServing };
  Kind kind = kDone;
  // The call that it is about.
  int64_t id = 0;
  // Of kMissing: the ranks that have not come; of kLost: the one that was lost.
  std::vector<int> ranks;
  std::string reason;
  // Of a gather.
  std::vector<std::vector<uint8_t>> gathered;
  // Of kServing: where the store listens.
  int port = 0;
};

class Group : public std::enable_shared_from_this<Group> {
 public:
  Group(GroupOptions options, std::function<void(GroupEvent)> tell)
      : tell_(std::move(tell)), options_(std::move(options)) {}

  // Joins, which is call 0.
  void start();
  void call(GroupCall call);
  void progress();
  void fail(const std::string& reason);
  // After the last call, or a loss.
  void leave(int64_t id);

 private:
  using Wait = std::function<void(const c10::intrusive_ptr<c10d::Work>&)>;

  void run();
  std::optional<GroupCall> next();
  void attempt(GroupCall call);
  void join();
  void perform(GroupCall& call, GroupEvent& done);
  std::vector<std::vector<uint8_t>> gather(const std::vector<uint8_t>& own, const Wait& wait);
  std::shared_ptr<Watch> watch();

  const std::function<void(GroupEvent)> tell_;

  // Of the thread of the collectives.
  GroupOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Backend> engine_;
  std::string broken_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Watch> watch_;
  std::deque<GroupCall> calls_;
  bool left_ = false;
};

}  // namespace grpo
