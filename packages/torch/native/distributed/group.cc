#include "group.h"

// Tells the header that libtorch was built with Gloo.
#define USE_C10D_GLOO
#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "../binding/napi.h"
#include "address.h"
#include "buckets.h"

// Of libgomp, which libtorch loads; null where its threads are another library's.
extern "C" __attribute__((weak)) void omp_set_num_threads(int count);

namespace grpo {
namespace {

using std::chrono::seconds;

// Whether a collective waits in vain is the watch's to say.
constexpr seconds kNoLimit = std::chrono::hours(24 * 30);
// To reach the store.
constexpr seconds kAttempt(3);
constexpr auto kBetweenAttempts = std::chrono::milliseconds(300);
// For the watch to find out why a connection broke.
constexpr seconds kExplained(14);
// Of each process, in one transfer of a gather.
constexpr int64_t kGatherBytes = 32 << 20;

std::string hostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string whereStore(const GroupOptions& options) { return options.host + ":" + std::to_string(options.port); }

c10::intrusive_ptr<c10d::TCPStore> openStore(const GroupOptions& options, bool serves, seconds timeout) {
  c10d::TCPStoreOptions tcp;
  tcp.port = uint16_t(options.port);
  tcp.isServer = serves;
  tcp.waitWorkers = false;
  tcp.timeout = timeout;
  // Says more clearly that the host has no address, and at once.
  addressTowards(options.host, options.port);
  return c10::make_intrusive<c10d::TCPStore>(options.host, tcp);
}

c10::intrusive_ptr<c10d::Store> withPrefix(const GroupOptions& options, c10::intrusive_ptr<c10d::TCPStore> store) {
  const std::string prefix = options.prefix.empty() ? "grpo" : options.prefix + "/grpo";
  return c10::make_intrusive<c10d::PrefixStore>(prefix, std::move(store));
}

// Whoever comes before the one that serves the store waits for it.
c10::intrusive_ptr<c10d::Store> findStore(const GroupOptions& options, const std::function<void()>& onMissing) {
  const auto deadline = Watch::Clock::now() + options.timeout;
  for (bool told = false;; told = true) {
    try {
      return withPrefix(options, openStore(options, false, std::min(kAttempt, options.timeout)));
    } catch (const std::exception& e) {
      if (Watch::Clock::now() > deadline)
        throw std::runtime_error("there is no store at " + whereStore(options) + ", for " +
                                 std::to_string(options.timeout.count()) + " s: " + messageOf(e));
    }
    if (!told) onMissing();
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

c10::intrusive_ptr<c10d::TCPStore> serveStore(const GroupOptions& options) {
  try {
    return openStore(options, true, options.timeout);
  } catch (const std::exception& e) {
    throw std::runtime_error("rank " + std::to_string(options.rank) + " cannot serve the store at " +
                             whereStore(options) + ": " + messageOf(e));
  }
}

// The address that the other processes connect to.
std::string ownAddress(const std::vector<Member>& members, const GroupOptions& options) {
  const std::string& own = members[options.rank].address;
  // The store's own machine may know itself by its loopback alone; then it asks how it reaches another.
  const auto far =
      std::find_if(members.begin(), members.end(), [](const Member& member) { return !isLoopback(member.address); });
  return isLoopback(own) && far != members.end() ? addressTowards(far->address, options.port) : own;
}

std::vector<std::shared_ptr<gloo::transport::Device>> devices(const std::string& address) {
  std::vector<std::shared_ptr<gloo::transport::Device>> devices;
  const char* names = std::getenv("GLOO_SOCKET_IFNAME");
  std::istringstream interfaces(names ? names : "");
  for (std::string name; std::getline(interfaces, name, ',');)
    devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(name));
  if (devices.empty()) devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
  return devices;
}

// The same in every process that makes the same call.
std::string describe(const GroupCall& call) {
  if (call.kind == GroupCall::kGather) return "a gather";
  if (call.kind == GroupCall::kBarrier) return "a barrier";
  int64_t count = 0;
  for (const auto& tensor : call.tensors) count += tensor.numel();
  return std::string(call.kind == GroupCall::kSum ? "a sum" : "a broadcast") + " of " +
         std::to_string(call.tensors.size()) + " tensors with " + std::to_string(count) + " numbers";
}

Member self(const GroupOptions& options) {
  return {hostName(), getpid(), options.size, addressTowards(options.host, options.port)};
}

at::ScalarType sameType(at::ScalarType type) { return type; }

}  // namespace

void Group::start() {
  // The store would log each connection that fails or breaks, with a stack; here it is told in one sentence.
  if (!std::getenv("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = c10::GLOG_FATAL;
  call({0, GroupCall::kJoin});
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

void Group::call(GroupCall call) {
  std::lock_guard<std::mutex> lock(mutex_);
  calls_.push_back(std::move(call));
  changed_.notify_all();
}

std::shared_ptr<Watch> Group::watch() {
  std::lock_guard<std::mutex> lock(mutex_);
  return watch_;
}

void Group::progress() {
  if (const auto watch = this->watch()) watch->progress();
}

void Group::fail(const std::string& reason) {
  if (const auto watch = this->watch()) watch->fail(reason);
}

// On a thread of its own: that of the collectives may hang in one.
void Group::leave(int64_t id) {
  std::thread([self = shared_from_this(), id] {
    if (const auto watch = self->watch()) watch->leave();
    {
      std::lock_guard<std::mutex> lock(self->mutex_);
      self->left_ = true;
      self->changed_.notify_all();
    }
    self->tell_({GroupEvent::kDone, id});
  }).detach();
}

void Group::run() {
  // This thread only copies. A team of its own would keep the cores from whoever computes. The first line makes
  // libtorch set the number now, and not later.
  at::get_num_threads();
  if (omp_set_num_threads) omp_set_num_threads(1);
  while (auto call = next()) attempt(std::move(*call));
  engine_.reset();
  store_.reset();
}

std::optional<GroupCall> Group::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return left_ || !calls_.empty(); });
  if (left_) return std::nullopt;
  GroupCall call = std::move(calls_.front());
  calls_.pop_front();
  return call;
}

void Group::attempt(GroupCall call) {
  GroupEvent event{GroupEvent::kDone, call.id};
  try {
    if (!broken_.empty()) throw std::runtime_error(broken_);
    if (call.kind == GroupCall::kJoin)
      join();
    else
      perform(call, event);
  } catch (const std::exception& e) {
    broken_ = messageOf(e);
    const auto watch = this->watch();
    // The watch tells of a loss itself.
    if (watch && watch->waitForLoss(kExplained)) return;
    if (watch) watch->fail(broken_);
    event.kind = GroupEvent::kFailed;
    event.reason = broken_;
  }
  tell_(std::move(event));
}

void Group::join() {
  const auto tellMissing = [this](const std::vector<int>& ranks) { tell_({GroupEvent::kMissing, 0, ranks}); };
  const auto tellNoStore = [&] { tellMissing({0}); };
  if (options_.servesStore) {
    const auto served = serveStore(options_);
    options_.port = served->getPort();
    store_ = withPrefix(options_, served);
    GroupEvent serving{GroupEvent::kServing};
    serving.port = options_.port;
    tell_(std::move(serving));
  } else {
    store_ = findStore(options_, tellNoStore);
  }
  const auto watch =
      std::make_shared<Watch>(findStore(options_, tellNoStore), options_.rank, options_.size, options_.servesStore,
                              whereStore(options_), self(options_), options_.timeout, [tell = tell_](const Loss& loss) {
                                tell({GroupEvent::kLost, 0, {loss.rank}, loss.reason});
                              });
  watch->beginCall("joining");
  watch->start();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    watch_ = watch;
  }
  const auto members = watch->waitForAll(tellMissing);
  auto options = c10d::ProcessGroupGloo::Options::create(kNoLimit);
  try {
    options->devices = devices(ownAddress(members, options_));
  } catch (const std::exception& e) {
    const char* names = std::getenv("GLOO_SOCKET_IFNAME");
    watch->fail((names ? "no connection by GLOO_SOCKET_IFNAME=" + std::string(names) : "no connection") + ": " +
                messageOf(e));
    throw;
  }
  engine_ = c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", store_),
                                                        options_.rank, options_.size, options);
  watch->endCall();
}

void Group::perform(GroupCall& call, GroupEvent& done) {
  const auto watch = this->watch();
  watch->beginCall(describe(call));
  const auto wait = [&](const c10::intrusive_ptr<c10d::Work>& work) {
    work->wait();
    watch->progress();
  };
  switch (call.kind) {
    case GroupCall::kJoin:
      break;
    case GroupCall::kSum:
      inBuckets(call.tensors, sumType, [&](const at::Tensor& bucket) {
        std::vector<at::Tensor> one{bucket};
        wait(engine_->allreduce(one));
      });
      break;
    case GroupCall::kBroadcast:
      inBuckets(call.tensors, sameType, [&](const at::Tensor& bucket) {
        std::vector<at::Tensor> bytes{bucket.view(at::kByte)};
        wait(engine_->broadcast(bytes));
      });
      break;
    case GroupCall::kGather:
      done.gathered = gather(call.bytes, wait);
      break;
    case GroupCall::kBarrier:
      wait(engine_->barrier());
  }
  watch->endCall();
}

// In parts, so that one who gives much costs the others no more memory than that.
std::vector<std::vector<uint8_t>> Group::gather(const std::vector<uint8_t>& own, const Wait& wait) {
  const auto gatherTensors = [&](const at::Tensor& tensor) {
    std::vector<at::Tensor> inputs{tensor};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int rank = 0; rank < options_.size; ++rank) outputs[0].push_back(at::empty_like(tensor));
    wait(engine_->allgather(outputs, inputs));
    return outputs[0];
  };
  std::vector<std::vector<uint8_t>> gathered;
  int64_t longest = 0;
  for (const auto& length : gatherTensors(at::tensor({int64_t(own.size())}, at::kLong))) {
    gathered.emplace_back(length.item<int64_t>());
    longest = std::max(longest, length.item<int64_t>());
  }
  for (int64_t begin = 0; begin < longest; begin += kGatherBytes) {
    const at::Tensor part = at::zeros({std::min(kGatherBytes, longest - begin)}, at::kByte);
    const auto sizeIn = [&](const std::vector<uint8_t>& bytes) {
      return std::clamp(int64_t(bytes.size()) - begin, int64_t(0), part.numel());
    };
    std::copy_n(own.data() + begin, sizeIn(own), part.data_ptr<uint8_t>());
    const auto parts = gatherTensors(part);
    for (size_t rank = 0; rank < gathered.size(); ++rank)
      std::copy_n(parts[rank].data_ptr<uint8_t>(), sizeIn(gathered[rank]), gathered[rank].data() + begin);
  }
  return gathered;
}

}  // namespace grpo
