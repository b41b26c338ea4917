#include "status.h"

#include <sstream>

namespace grpo {
namespace {

std::string line(std::istream& from) {
  std::string text;
  std::getline(from, text);
  return text;
}

int64_t number(std::istream& from) { return std::stoll(line(from)); }

}  // namespace

std::string write(const Member& member) {
  std::ostringstream text;
  text << member.host << '\n' << member.process << '\n' << member.size << '\n' << member.address;
  return text.str();
}

Member readMember(const std::string& text) {
  std::istringstream from(text);
  Member member;
  member.host = line(from);
  member.process = number(from);
  member.size = int(number(from));
  member.address = line(from);
  return member;
}

std::string write(const Status& status) {
  std::ostringstream text;
  text << int(status.state) << '\n' << status.pulse << '\n' << status.calls << '\n' << status.call << '\n';
  // The reason is last: it may have several lines.
  text << status.culprit << '\n' << status.reason;
  return text.str();
}

Status readStatus(const std::string& text) {
  std::istringstream from(text);
  Status status;
  status.state = Status::State(number(from));
  status.pulse = number(from);
  status.calls = number(from);
  status.call = line(from);
  status.culprit = int(number(from));
  status.reason.assign(std::istreambuf_iterator<char>(from), {});
  return status;
}

}  // namespace grpo
