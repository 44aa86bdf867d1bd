#include "simulator/cluster/set_field.h"

#include <google/protobuf/descriptor.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/status.h"

namespace pipefill::simulator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// One step of a path: "classes[0]".
struct Step {
  std::string name;
  std::optional<int> index;
};

absl::StatusOr<Step> ParseStep(absl::string_view text) {
  const size_t open = text.find('[');
  if (open == absl::string_view::npos) return Step{std::string(text), std::nullopt};
  int index = 0;
  const bool is_good =
      text.back() == ']' && absl::SimpleAtoi(text.substr(open + 1, text.size() - open - 2), &index);
  if (!is_good) return absl::InvalidArgumentError(absl::StrCat(text, ": bad index"));
  return Step{std::string(text.substr(0, open)), index};
}

absl::StatusOr<const FieldDescriptor*> FieldOf(const Message& message, const std::string& name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field != nullptr) return field;
  std::string known;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    absl::StrAppend(&known, i > 0 ? ", " : "", message.GetDescriptor()->field(i)->name());
  }
  return absl::InvalidArgumentError(absl::StrCat("no such field: ", name, "; there are ", known));
}

// The message that the step leads to.
absl::StatusOr<Message*> Descend(const Step& step, Message* from) {
  ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldOf(*from, step.name));
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::InvalidArgumentError(absl::StrCat(step.name, " has no fields"));
  }
  const google::protobuf::Reflection& reflection = *from->GetReflection();
  if (!field->is_repeated()) return reflection.MutableMessage(from, field);
  const int size = reflection.FieldSize(*from, field);
  if (!step.index.has_value() || *step.index < 0 || *step.index >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat(step.name, " needs an index below ", size, ", as in ", step.name, "[0]"));
  }
  return reflection.MutableRepeatedMessage(from, field, *step.index);
}

// By the reader of files, which knows types and says what is wrong.
absl::Status Assign(const std::string& name, absl::string_view value, Message* message) {
  ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldOf(*message, name));
  const bool is_text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const std::string json = is_text ? absl::StrCat("{\"", name, "\": \"", value, "\"}")
                                   : absl::StrCat("{\"", name, "\": ", value, "}");
  const std::unique_ptr<Message> one(message->New());
  RETURN_IF_ERROR(ParseJson(json, "value", one.get()));
  message->GetReflection()->ClearField(message, field);
  message->MergeFrom(*one);
  return absl::OkStatus();
}

absl::Status SetAt(absl::string_view path, absl::string_view value, Message* message) {
  const std::vector<absl::string_view> names = absl::StrSplit(path, '.');
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    ASSIGN_OR_RETURN(const Step step, ParseStep(names[i]));
    ASSIGN_OR_RETURN(message, Descend(step, message));
  }
  return Assign(std::string(names.back()), value, message);
}

}  // namespace

absl::Status SetField(absl::string_view assignment, Message* message) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(assignment, ": must be FIELD=VALUE, such as training.replicas=8"));
  }
  const absl::Status status =
      SetAt(assignment.substr(0, equals), assignment.substr(equals + 1), message);
  return status.ok() ? status : WithContext(status, assignment);
}

}  // namespace pipefill::simulator
