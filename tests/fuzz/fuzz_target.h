// What each NAME_fuzz.cc defines: one decoder, under whatever bytes there are.
//
// libFuzzer calls it by way of libfuzzer_entry.cc; replay_test.cc hands it the kept corpus.
//
// Thread-compatible: one call at a time.
#ifndef TESTS_FUZZ_FUZZ_TARGET_H_
#define TESTS_FUZZ_FUZZ_TARGET_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace pipefill {

// Hands `input` to the decoder and ends the process (CHECK) if a promise of it is broken. Whether
// the decoder took the input; parts of it are enough where it has parts.
bool TakeInput(absl::string_view input);

// Inputs from real encodings, which TakeInput takes.
std::vector<std::string> Seeds();

}  // namespace pipefill

#endif  // TESTS_FUZZ_FUZZ_TARGET_H_
