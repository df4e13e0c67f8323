#include "rung/records/training_run.h"

#include "rung/base/json_fields.h"
#include "rung/store/setting.h"

namespace rung {
namespace {

// A word of somebody else's is no label of ours.
void drop_foreign_label(nlohmann::ordered_json& body) {
  const auto label = body.find("label");
  if (label != body.end() &&
      !(label->is_string() && find_word<LabelClass>(label->get_ref<const std::string&>())))
    *label = nullptr;
}

template <class Part>
void read_body(const std::string& text, Part& part) {
  auto body = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!body.is_object()) return;
  drop_foreign_label(body);
  std::optional<Error> error;
  Part read = part;
  FieldReader reader(body, "body", error);
  describe(reader, read);
  if (error) return;
  part = std::move(read);
  part.arch = spelled_line(part.arch, UnsaidForm::plain);
}

// Beside the other fields of a body.
template <class Fields>
void describe_label(Fields& field, std::optional<Label>& label) {
  Label read = label.value_or(Label());
  std::optional<LabelClass> letter;
  if (label) letter = label->letter;
  field("label", letter, "label_reason", read.reason, "ceiling", read.ceiling, "ceiling_reason",
        read.ceiling_reason);
  if (letter) read.letter = *letter, label = std::move(read);
}

}  // namespace

// What comes of a training, beside its plan.
template <class Fields>
void describe_outcome(Fields& field, MemberRecord& x) {
  field.some("accuracy", x.accuracy, "loss", x.loss, "steps_done", x.steps_done, "right", x.right, "answers",
             x.answers, "file", x.file, "news", x.news, "curve", x.curve);
  // Empty ones too: what a stopped run said of itself is no longer true of one that was resumed.
  field("note", x.note, "reason", x.reason);
  // Until it is known, the plan's field of this name, true, stands in the body.
  if constexpr (!Fields::kReads) field.some("carried_bits", x.carried_bits);
}

template <class Fields>
void describe(Fields& field, MemberRecord& x) {
  field("task", x.task, "arch", x.arch, "size", x.size, "member", x.member, "rate", x.rate, "steps", x.steps,
        "experiment", x.experiment, "configuration", x.configuration);
  describe_label(field, x.label);
  describe_outcome(field, x);
}

template <class Fields>
void describe(Fields& field, TrainingRun& x) {
  field("task", x.task, "arch", x.arch, "size", x.size, "steps", x.steps);
  describe_label(field, x.label);
}

nlohmann::ordered_json label_json(const Label& label) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  FieldWriter writer(out);
  std::optional<Label> some = label;
  describe_label(writer, some);
  return out;
}

std::string outcome_body(const MemberRecord& record) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  FieldWriter writer(out);
  describe_outcome(writer, const_cast<MemberRecord&>(record));  // a writer only reads
  return out.dump();
}

MemberRecord member_record(const Record& record) {
  MemberRecord out;
  out.id = record.id;
  out.run = record.parent;
  out.state = record.state;
  out.created = record.created;
  out.seed = record.seed;
  RunSetting setting = run_setting(record.body);
  out.asked = std::move(setting.asked);
  out.setting = std::move(setting.key);
  read_body(record.body, out);
  return out;
}

Result<TrainingRun> training_run(Store& store, const Record& run) {
  TrainingRun out;
  out.id = run.id;
  out.state = run.state;
  out.created = run.created;
  out.finished = run.finished;
  out.device = run.device;
  out.host = run.host;
  read_body(run.body, out);
  RUNG_TRY(const auto members,
           store.query({.kind = "member", .parent = run.id, .sort = "created", .descending = false}));
  for (const Record& record : members) out.members.push_back(member_record(record));
  return out;
}

}  // namespace rung
