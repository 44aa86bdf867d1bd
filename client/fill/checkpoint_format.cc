#include "client/fill/checkpoint_format.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace pipefill::sdk {
namespace {

constexpr std::string_view kMagic = "PFSAVE01";
constexpr size_t kCrcOffset = 8;
constexpr size_t kCheckedOffset = 16;
constexpr size_t kUsefulOffset = 24;

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed
constexpr size_t kSlices = 8;
using SliceTables = std::array<std::array<uint32_t, 256>, kSlices>;

// Table k: what a byte does to the sum once k more bytes have followed.
constexpr SliceTables MakeTables() {
  SliceTables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = sum;
  }
  for (size_t slice = 1; slice < kSlices; ++slice) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr SliceTables kTables = MakeTables();

uint64_t LoadWord(const char* bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{static_cast<uint8_t>(bytes[i])} << 8 * i;
  return word;
}

void StoreWord(uint64_t word, char* bytes) {
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(word >> 8 * i & 0xff);
}

std::string WriterText(const char* kind, const Writer& writer) {
  char text[64];
  std::snprintf(text, sizeof(text), "%s-%020llu-%06u", kind,
                static_cast<unsigned long long>(writer.fence), writer.start);
  return text;
}

template <typename Number>
bool TakeNumber(std::string_view* text, Number* number) {
  if (text->empty() || text->front() != '-') return false;
  text->remove_prefix(1);
  const size_t size = text->find('-');
  const std::string_view digits = text->substr(0, size);
  const char* end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, *number);
  text->remove_prefix(digits.size());
  return failure == std::errc() && rest == end;
}

bool TakeKind(std::string_view kind, std::string_view* text) {
  if (text->substr(0, kind.size()) != kind) return false;
  text->remove_prefix(kind.size());
  return true;
}

std::optional<Writer> ParseWriter(std::string_view kind, std::string_view text) {
  Writer writer;
  const bool is_good = TakeKind(kind, &text) && TakeNumber(&text, &writer.fence) &&
                       TakeNumber(&text, &writer.start) && text.empty();
  return is_good ? std::optional(writer) : std::nullopt;
}

}  // namespace

uint32_t Crc32c(std::string_view data) {
  uint32_t sum = ~uint32_t{0};
  for (; data.size() >= kSlices; data.remove_prefix(kSlices)) {
    const uint64_t word = LoadWord(data.data()) ^ sum;
    sum = 0;
    for (size_t i = 0; i < kSlices; ++i) sum ^= kTables[kSlices - 1 - i][word >> 8 * i & 0xff];
  }
  for (const char byte : data) {
    sum = (sum >> 8) ^ kTables[0][(sum ^ static_cast<uint8_t>(byte)) & 0xff];
  }
  return ~sum;
}

std::string ClaimText(const Writer& writer) { return WriterText("claim", writer); }

std::string BaseText(const Writer& writer) { return WriterText("base", writer); }

std::string SaveText(const SaveName& save) {
  char number[32];
  std::snprintf(number, sizeof(number), "-%012llu", static_cast<unsigned long long>(save.number));
  return WriterText("save", save.writer) + number;
}

std::optional<Writer> ParseClaim(std::string_view text) {
  const std::optional<Writer> writer = ParseWriter("claim", text);
  return writer.has_value() && ClaimText(*writer) == text ? writer : std::nullopt;
}

std::optional<Writer> ParseBase(std::string_view text) {
  const std::optional<Writer> writer = ParseWriter("base", text);
  return writer.has_value() && BaseText(*writer) == text ? writer : std::nullopt;
}

std::optional<SaveName> ParseSave(std::string_view text) {
  const std::string whole(text);
  SaveName save;
  const bool is_good = TakeKind("save", &text) && TakeNumber(&text, &save.writer.fence) &&
                       TakeNumber(&text, &save.writer.start) && TakeNumber(&text, &save.number) &&
                       text.empty() && SaveText(save) == whole;
  return is_good ? std::optional(save) : std::nullopt;
}

void SealBlob(uint64_t useful_ns, std::string* blob) {
  std::memcpy(blob->data(), kMagic.data(), kMagic.size());
  StoreWord(blob->size() - kBlobHeaderBytes, blob->data() + kCheckedOffset);
  StoreWord(useful_ns, blob->data() + kUsefulOffset);
  StoreWord(Crc32c(std::string_view(*blob).substr(kCheckedOffset)), blob->data() + kCrcOffset);
}

std::string MakeBlob(std::string_view content) {
  std::string blob(kBlobHeaderBytes, '\0');
  blob += content;
  SealBlob(0, &blob);
  return blob;
}

std::optional<BlobView> OpenBlob(std::string_view blob) {
  if (blob.size() < kBlobHeaderBytes || blob.substr(0, kMagic.size()) != kMagic) {
    return std::nullopt;
  }
  const BlobView view = {.useful_ns = LoadWord(blob.data() + kUsefulOffset),
                         .content = blob.substr(kBlobHeaderBytes)};
  if (LoadWord(blob.data() + kCheckedOffset) != view.content.size()) return std::nullopt;
  if (LoadWord(blob.data() + kCrcOffset) != Crc32c(blob.substr(kCheckedOffset))) {
    return std::nullopt;
  }
  return view;
}

}  // namespace pipefill::sdk
