#pragma once
#include <string>

namespace grpo {

// The address by which this machine reaches a host, which is the one by which others reach this machine. A machine's
// own name may lead to no address at all in a container, or to the loopback.
std::string addressTowards(const std::string& host, int port);

bool isLoopback(const std::string& address);

}  // namespace grpo
