// What the other process does to its page: stores anywhere, and records pushed as it should.
//
// Thread-compatible.
#ifndef TESTS_FUZZ_PAGE_SCRIPT_H_
#define TESTS_FUZZ_PAGE_SCRIPT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/fuzz_input.h"

namespace pipefill {

enum class PageStep : uint8_t { kStore, kPush, kLook };

// Which word (4 bytes), and its value (8).
template <typename Page>
void StoreFrom(InputReader& input, Page* page) {
  const size_t word = input.Take<uint32_t>() % (sizeof(Page) / sizeof(uint64_t));
  const auto value = input.Take<uint64_t>();
  std::memcpy(reinterpret_cast<char*>(page) + word * sizeof(value), &value, sizeof(value));
}

template <size_t kWords, typename Ring>
void PushFrom(InputReader& input, Ring& ring) {
  uint64_t words[kWords];
  for (uint64_t& word : words) word = input.Take<uint64_t>();
  ring.Push(words);
}

template <size_t kWords>
void PutWords(const uint64_t (&words)[kWords], InputWriter& seed) {
  for (uint64_t word : words) seed.Put(word);
}

}  // namespace pipefill

#endif  // TESTS_FUZZ_PAGE_SCRIPT_H_
