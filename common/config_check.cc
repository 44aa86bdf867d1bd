#include "common/config_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/edit_distance.h"

namespace pipefill {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::json;

// "; did you mean cores?" or, if nothing is near, "; known are: name, cores".
std::string Suggestion(const std::string& wrong, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t nearest_distance = std::max<size_t>(2, wrong.size() / 3) + 1;
  for (const std::string& name : known) {
    const size_t distance = EditDistance(wrong, name);
    if (distance < nearest_distance && distance < name.size()) {
      nearest = &name;
      nearest_distance = distance;
    }
  }
  if (nearest != nullptr) return absl::StrCat("; did you mean ", *nearest, "?");
  return absl::StrCat("; known are: ", absl::StrJoin(known, ", "));
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(type.field_count()));
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

std::vector<std::string> ValueNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(type.value_count()));
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return names;
}

const FieldDescriptor* FindField(const Descriptor& type, const std::string& name) {
  const FieldDescriptor* field = type.FindFieldByName(name);
  for (int i = 0; field == nullptr && i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) field = type.field(i);
  }
  return field;
}

// What a value of `field` is called in "must be ...".
std::string Expected(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of ", absl::StrJoin(ValueNames(*field.enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "an object";
    case FieldDescriptor::CPPTYPE_INT32:
      return "a whole number that fits 32 bits";
    case FieldDescriptor::CPPTYPE_UINT32:
      return "a whole number from 0 that fits 32 bits";
    case FieldDescriptor::CPPTYPE_INT64:
      return "a whole number that fits 64 bits";
    case FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number from 0 that fits 64 bits";
  }
  return "something else";
}

// A value other than a list or an object, as read.
struct Scalar {
  enum class Kind { kNull, kBool, kInteger, kReal, kString };
  Kind kind = Kind::kNull;
  // kInteger: digits and sign; kString: the string.
  std::string text;
  double real = 0;
};

bool IsWholeNumber(const Scalar& value) {
  return value.kind == Scalar::Kind::kInteger || value.kind == Scalar::Kind::kString ||
         (value.kind == Scalar::Kind::kReal && std::trunc(value.real) == value.real);
}

template <typename Integer>
bool Fits(const Scalar& value) {
  if (!IsWholeNumber(value)) return false;
  if (value.kind == Scalar::Kind::kReal) {
    // The largest values are no doubles: below 2^digits.
    return value.real >= static_cast<double>(std::numeric_limits<Integer>::min()) &&
           value.real < std::ldexp(1.0, std::numeric_limits<Integer>::digits);
  }
  Integer ignored = 0;
  return absl::SimpleAtoi(value.text, &ignored);
}

bool IsNumber(const Scalar& value) {
  double ignored = 0;
  return value.kind == Scalar::Kind::kInteger || value.kind == Scalar::Kind::kReal ||
         (value.kind == Scalar::Kind::kString && absl::SimpleAtod(value.text, &ignored));
}

bool IsValueOf(const EnumDescriptor& type, const Scalar& value) {
  if (value.kind == Scalar::Kind::kString) return type.FindValueByName(value.text) != nullptr;
  return value.kind == Scalar::Kind::kInteger && Fits<int32_t>(value);
}

bool IsAllowed(const FieldDescriptor& field, const Scalar& value) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return value.kind == Scalar::Kind::kString;
    case FieldDescriptor::CPPTYPE_BOOL:
      return value.kind == Scalar::Kind::kBool;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return IsNumber(value);
    case FieldDescriptor::CPPTYPE_ENUM:
      return IsValueOf(*field.enum_type(), value);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
    case FieldDescriptor::CPPTYPE_INT32:
      return Fits<int32_t>(value);
    case FieldDescriptor::CPPTYPE_UINT32:
      return Fits<uint32_t>(value);
    case FieldDescriptor::CPPTYPE_INT64:
      return Fits<int64_t>(value);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Fits<uint64_t>(value);
  }
  return false;
}

// What was found instead, in "not ...".
std::string Actual(const Scalar& value) {
  switch (value.kind) {
    case Scalar::Kind::kNull:
      return "null";
    case Scalar::Kind::kBool:
      return "true or false";
    case Scalar::Kind::kInteger:
      return value.text;
    case Scalar::Kind::kReal:
      return absl::StrCat(value.real);
    case Scalar::Kind::kString:
      return "a string";
  }
  return "something else";
}

// Reads text for nlohmann's parser and tells how far it has read.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;
  CountingIterator(const char* at, const char** read_to) : at_(at), read_to_(read_to) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    *read_to_ = at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_ = nullptr;
  const char** read_to_ = nullptr;
};

// Walks through the text and the descriptor at the same time. Called by nlohmann's parser; stops it
// at the first fault by returning false.
class Walk : public nlohmann::json_sax<json> {
 public:
  Walk(const std::string& text, absl::string_view origin, const Descriptor& type)
      : text_(text), origin_(origin), read_to_(text.data()), root_(type) {}

  absl::Status Run() {
    const CountingIterator begin(text_.data(), &read_to_);
    const CountingIterator end(text_.data() + text_.size(), &read_to_);
    const bool is_read = json::sax_parse(begin, end, this);
    if (!is_read && fault_.ok()) fault_ = absl::InvalidArgumentError("broken JSON");
    return fault_;
  }

  bool null() override { return OnScalar({.kind = Scalar::Kind::kNull, .text = "", .real = 0}); }
  bool boolean(bool) override {
    return OnScalar({.kind = Scalar::Kind::kBool, .text = "", .real = 0});
  }
  bool number_integer(number_integer_t value) override {
    return OnScalar({.kind = Scalar::Kind::kInteger, .text = absl::StrCat(value), .real = 0});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return OnScalar({.kind = Scalar::Kind::kInteger, .text = absl::StrCat(value), .real = 0});
  }
  bool number_float(number_float_t value, const string_t&) override {
    return OnScalar({.kind = Scalar::Kind::kReal, .text = "", .real = value});
  }
  bool string(string_t& value) override {
    return OnScalar({.kind = Scalar::Kind::kString, .text = value, .real = 0});
  }
  bool binary(binary_t&) override { return false; }  // not in text

  bool start_object(size_t) override {
    if (opaque_depth_ > 0) return ++opaque_depth_ > 0;
    if (levels_.empty()) {
      levels_.push_back({.kind = Level::Kind::kMessage, .type = &root_});
      return true;
    }
    StartValue();
    const FieldDescriptor* field = levels_.back().field;
    if (levels_.back().kind == Level::Kind::kMessage && field->is_map()) {
      levels_.push_back({.kind = Level::Kind::kMap, .field = field->message_type()->map_value()});
      return true;
    }
    if (IsListExpected()) return MustBe("a list", "an object");
    if (field->message_type() == nullptr) return MustBe(Expected(*field), "an object");
    if (IsOpaque(*field)) return ++opaque_depth_ > 0;
    levels_.push_back({.kind = Level::Kind::kMessage, .type = field->message_type()});
    return true;
  }

  bool key(string_t& name) override {
    if (opaque_depth_ > 0) return true;
    Level& level = levels_.back();
    level.name = name;
    const bool is_field = level.kind == Level::Kind::kMessage;
    if (is_field) {
      level.field = FindField(*level.type, name);
      if (level.field == nullptr) {
        return Fail(absl::StrCat("no such field", Suggestion(name, FieldNames(*level.type))));
      }
    }
    // A field has two spellings, a key of a map one.
    const bool is_new = level.seen.insert(is_field ? level.field->name() : name).second;
    return is_new || Fail("given twice");
  }

  bool end_object() override { return EndLevel(); }

  bool start_array(size_t) override {
    if (opaque_depth_ > 0) return ++opaque_depth_ > 0;
    if (levels_.empty()) return MustBe("an object", "a list");
    StartValue();
    const FieldDescriptor* field = levels_.back().field;
    if (IsListExpected()) {
      levels_.push_back({.kind = Level::Kind::kList, .field = field});
      return true;
    }
    if (IsOpaque(*field)) return ++opaque_depth_ > 0;
    return MustBe(levels_.back().kind == Level::Kind::kMessage && field->is_map()
                      ? "an object"
                      : Expected(*field),
                  "a list");
  }

  bool end_array() override { return EndLevel(); }

  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    const size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    const size_t line_start = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
    const size_t column = line_start == std::string::npos ? at + 1 : at - line_start;
    std::string reason = error.what();
    // "[json.exception...] parse error at line 1, column 2: syntax error while ... - unexpected
    // ..."
    if (const size_t dash = reason.find(" - "); dash != std::string::npos) {
      reason.erase(0, dash + 3);
    }
    fault_ = absl::InvalidArgumentError(
        absl::StrCat(origin_, ":", LineOf(at), ":", column, ": broken JSON: ", reason));
    return false;
  }

 private:
  struct Level {
    enum class Kind { kMessage, kMap, kList };
    Kind kind = Kind::kMessage;
    // kMessage only.
    const Descriptor* type = nullptr;
    // kMessage: of the last key. kMap: of the values. kList: of the elements.
    const FieldDescriptor* field = nullptr;
    std::string name{};
    std::set<std::string> seen{};
    int64_t index = -1;
  };

  static bool IsOpaque(const FieldDescriptor& field) {
    return field.message_type() != nullptr &&
           absl::StartsWith(field.message_type()->full_name(), "google.protobuf.");
  }

  bool IsListExpected() const {
    const Level& level = levels_.back();
    return level.kind == Level::Kind::kMessage && level.field->is_repeated() &&
           !level.field->is_map();
  }

  // Before each value that is not the whole text.
  void StartValue() {
    if (levels_.back().kind == Level::Kind::kList) ++levels_.back().index;
  }

  bool OnScalar(const Scalar& value) {
    if (opaque_depth_ > 0) return true;
    if (levels_.empty()) return MustBe("an object", Actual(value));
    StartValue();
    const Level& level = levels_.back();
    const FieldDescriptor& field = *level.field;
    if (value.kind == Scalar::Kind::kNull && level.kind == Level::Kind::kMessage) return true;
    if (IsListExpected()) return MustBe("a list", Actual(value));
    if (level.kind == Level::Kind::kMessage && field.is_map()) {
      return MustBe("an object", Actual(value));
    }
    if (IsOpaque(field) || IsAllowed(field, value)) return true;
    if (field.enum_type() != nullptr && value.kind == Scalar::Kind::kString) {
      return Fail(absl::StrCat("no such value: ", value.text,
                               Suggestion(value.text, ValueNames(*field.enum_type()))));
    }
    return MustBe(Expected(field), Actual(value));
  }

  bool EndLevel() {
    if (opaque_depth_ > 0) {
      --opaque_depth_;
    } else {
      levels_.pop_back();
    }
    return true;
  }

  std::string Path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.kind == Level::Kind::kList) {
        absl::StrAppend(&path, "[", level.index, "]");
      } else {
        absl::StrAppend(&path, path.empty() ? "" : ".", level.name);
      }
    }
    return path;
  }

  // From 1.
  size_t LineOf(size_t position) const {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(position, text_.size()));
    return 1 + static_cast<size_t>(std::count(text_.begin(), end, '\n'));
  }

  bool Fail(absl::string_view reason) {
    // The parser may have read one character past a number, which may be the end of the line.
    const size_t read = static_cast<size_t>(read_to_ - text_.data());
    const size_t line = LineOf(read == 0 ? 0 : read - 1);
    const std::string path = Path();
    fault_ = absl::InvalidArgumentError(
        absl::StrCat(origin_, ":", line, ": ", path, path.empty() ? "" : ": ", reason));
    return false;
  }

  bool MustBe(absl::string_view expected, absl::string_view actual) {
    return Fail(absl::StrCat("must be ", expected, ", not ", actual));
  }

  const std::string& text_;
  const absl::string_view origin_;
  const char* read_to_;
  const Descriptor& root_;
  std::vector<Level> levels_;
  // Inside a message whose JSON form is its own business.
  int64_t opaque_depth_ = 0;
  absl::Status fault_;
};

}  // namespace

absl::Status CheckJson(const std::string& json, absl::string_view origin, const Descriptor& type) {
  return Walk(json, origin, type).Run();
}

}  // namespace pipefill
