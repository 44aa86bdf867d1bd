// How checkpoints are named and sealed.
//
//   claim-FENCE-START         a writer was here: the START-th process of the attempt with that
//   fence base-FENCE-START          what it went on from: the name of a save, or nothing
//   save-FENCE-START-NUMBER   what it saved, NUMBER = 1, 2, ...
//
// Numbers are padded with zeros, so names of one kind sort as their writers do.
//
// A blob is  magic, CRC-32C of all that follows, length, useful_ns, content;  little endian.
//
// Pure.
#ifndef CLIENT_FILL_CHECKPOINT_FORMAT_H_
#define CLIENT_FILL_CHECKPOINT_FORMAT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipefill::sdk {

uint32_t Crc32c(std::string_view data);

// One process of one attempt. A later attempt has a higher fence; of one attempt the process that
// was started later has a higher start.
struct Writer {
  uint64_t fence = 0;
  uint32_t start = 0;

  friend auto operator<=>(const Writer&, const Writer&) = default;
};

struct SaveName {
  Writer writer;
  uint64_t number = 0;

  friend auto operator<=>(const SaveName&, const SaveName&) = default;
};

std::string ClaimText(const Writer& writer);
std::string BaseText(const Writer& writer);
std::string SaveText(const SaveName& save);

// nullopt unless `text` is exactly what the functions above make.
std::optional<Writer> ParseClaim(std::string_view text);
std::optional<Writer> ParseBase(std::string_view text);
std::optional<SaveName> ParseSave(std::string_view text);

inline constexpr size_t kBlobHeaderBytes = 32;

// Fills in the header of `blob`, whose content begins at kBlobHeaderBytes: content that is there
// need not be copied. REQUIRES: blob->size() >= kBlobHeaderBytes.
void SealBlob(uint64_t useful_ns, std::string* blob);
std::string MakeBlob(std::string_view content);

// Points into the blob.
struct BlobView {
  uint64_t useful_ns = 0;
  std::string_view content;
};
// nullopt if it is torn or was changed.
std::optional<BlobView> OpenBlob(std::string_view blob);

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_CHECKPOINT_FORMAT_H_
