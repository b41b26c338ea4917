// Sets of token ids, coded as packages/grpo/src/formats/token-sets.ts says: a varint of 2 × size + kind, then for kind
// 0 a varint for each id, how many ids lie before it and behind the one before; for kind 1 a bitmap.
#pragma once
#include <cstdint>
#include <vector>

namespace grpo {

struct TokenSet {
  const uint8_t *at, *end;

  // The ids, rising; false where the bytes are no set of ids below `vocab`.
  bool decode(int64_t vocab, std::vector<int32_t>& ids) const {
    ids.clear();
    const uint8_t* from = at;
    uint64_t head = 0;
    if (!varint(from, head)) return false;
    const auto size = int64_t(head / 2);
    if (size > vocab) return false;
    ids.reserve(size);
    if (head % 2 == 0) {
      uint64_t next = 0, gap = 0;
      for (; from < end; ids.push_back(int32_t(next++))) {
        if (!varint(from, gap) || (next += gap) >= uint64_t(vocab)) return false;
      }
    } else {
      for (int64_t first = 0; from < end; first += 8)
        for (uint32_t bits = *from++; bits; bits &= bits - 1) ids.push_back(int32_t(first + __builtin_ctz(bits)));
    }
    return int64_t(ids.size()) == size && (ids.empty() || ids.back() < vocab);
  }

 private:
  bool varint(const uint8_t*& from, uint64_t& value) const {
    value = 0;
    for (int shift = 0; shift < 35 && from < end; shift += 7) {
      value |= uint64_t(*from & 0x7f) << shift;
      if (*from++ < 0x80) return true;
    }
    return false;
  }
};

inline void addVarint(std::vector<uint8_t>& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(uint8_t(value | 0x80));
  to.push_back(uint8_t(value));
}

}  // namespace grpo
