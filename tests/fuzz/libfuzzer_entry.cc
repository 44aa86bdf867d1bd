// The entry that libFuzzer's main calls.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pipefill::TakeInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
