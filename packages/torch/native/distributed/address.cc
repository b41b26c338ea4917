#include "address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

namespace grpo {
namespace {

// Connecting a datagram socket sends nothing: the system only picks the route. Empty without one.
std::string sourceAddress(const addrinfo& target) {
  const int fd = socket(target.ai_family, SOCK_DGRAM, 0);
  if (fd < 0) return "";
  sockaddr_storage local = {};
  socklen_t size = sizeof(local);
  char text[NI_MAXHOST] = "";
  if (connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) == 0)
    getnameinfo(reinterpret_cast<sockaddr*>(&local), size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  close(fd);
  return text;
}

}  // namespace

std::string addressTowards(const std::string& host, int port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed) throw std::runtime_error("'" + host + "' has no address: " + gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* each = found; each; each = each->ai_next) {
    const std::string address = sourceAddress(*each);
    if (!address.empty()) return address;
  }
  throw std::runtime_error("this machine has no route to '" + host + "'");
}

bool isLoopback(const std::string& address) { return address.rfind("127.", 0) == 0 || address == "::1"; }

}  // namespace grpo
