// What a process writes about itself into the store, for the others to read.
#pragma once
#include <cstdint>
#include <string>

namespace grpo {

// Written once, when the process comes.
struct Member {
  std::string host;
  int64_t process = 0;
  // How many it says there are.
  int size = 0;
  // The address of this machine that reaches the store.
  std::string address;
};

// Written each second.
struct Status {
  enum State { kRunning, kLeft, kEnding };
  State state = kRunning;
  // Grows with each writing.
  int64_t pulse = 0;
  // Collectives that are done; kind and size of the one that runs, or nothing.
  int64_t calls = 0;
  std::string call;
  // Of an ending process: who is the cause, and why.
  int culprit = -1;
  std::string reason;
};

std::string write(const Member& member);
Member readMember(const std::string& text);
std::string write(const Status& status);
Status readStatus(const std::string& text);

}  // namespace grpo
