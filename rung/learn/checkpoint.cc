// The state of a trainer on disk: parameters, moments, counters and curves, in one safetensors file that
// appears whole or not at all (rung.checkpoint/1).
#include "rung/base/json_fields.h"
#include "rung/learn/plateau.h"
#include "rung/learn/trainer.h"
#include "rung/records/earlier_words.h"

namespace rung::learn {
namespace {

constexpr const char* kFormat = "rung.checkpoint/1";

rung::Tensor as_bytes(const torch::Tensor& given) {
  const torch::Tensor host = given.detach().to(torch::kCPU).contiguous();
  rung::Tensor out;
  switch (host.scalar_type()) {
    case torch::kFloat32:
      out.dtype = DType::f32;
      break;
    case torch::kLong:
      out.dtype = DType::i64;
      break;
    case torch::kUInt8:
      out.dtype = DType::u8;
      break;
    default:
      RUNG_REQUIRE(false, "element type {}", c10::toString(host.scalar_type()));
  }
  out.shape = host.sizes().vec();
  out.owner = std::make_shared<torch::Tensor>(host);
  out.bytes = static_cast<const std::byte*>(host.data_ptr());
  return out;
}

Result<void> fill(torch::Tensor& to, const TensorFile& file, const std::string& name,
                  const std::string& path) {
  const auto found = file.tensors.find(name);
  const rung::Tensor expected = as_bytes(to);
  if (found == file.tensors.end() || found->second.shape != expected.shape ||
      found->second.dtype != expected.dtype)
    return fail(ErrorCode::format,
                "[train] {}: tensor {} is missing or has another shape: a checkpoint of another architecture "
                "or ensemble",
                path, name);
  const torch::NoGradGuard no_grad;
  const torch::Tensor view = torch::from_blob(const_cast<std::byte*>(found->second.bytes), to.sizes(),
                                              to.options().device(torch::kCPU));
  to.copy_(view);
  return {};
}

// What counts beside the tensors.
struct Progress {
  std::int64_t step = 0, summed = 0;
  std::vector<MemberProgress> members;
};
template <class Fields>
void describe(Fields& field, Progress& x) {
  field.need("step", x.step);
  field.need("summed", x.summed);
  field.need("members", x.members);
}

}  // namespace

template <class Fields>
void describe(Fields& field, MemberProgress& x) {
  field("index", x.plan.index);
  int state = static_cast<int>(x.state);
  field.need("state", state);
  if constexpr (Fields::kReads) {
    if (state < 0 || state > static_cast<int>(RecordState::failed))
      return field.refuse(fmt::format("member {}", x.plan.index), fmt::format("no state {}", state));
    x.state = static_cast<RecordState>(state);
  }
  field.need("reason", x.reason);
  field.need("curve", x.curve);
  field.need("reached", x.reached);
  field.need("steps", x.steps);
  field("stage", x.stage);
}

Result<void> Trainer::save(const std::string& path) const {
  TensorFile file;
  file.metadata["format"] = kFormat;
  file.metadata["plan"] = plan_text(plan_);
  file.metadata["progress"] = to_fields(Progress{step_, summed_, members_}).dump();
  file.tensors = {{"parameters", as_bytes(parameters_.master)}, {"first", as_bytes(optimiser_.first)},
                  {"second", as_bytes(optimiser_.second)},      {"count", as_bytes(optimiser_.count)},
                  {"alive", as_bytes(optimiser_.alive)},        {"loss", as_bytes(loss_sum_)}};
  if (rounding_)
    for (const auto& [name, seen] : rounding_->largest) file.tensors["largest." + name] = as_bytes(seen);
  return write_safetensors(path, file);
}

Result<void> Trainer::restore(const std::string& path) {
  RUNG_TRY(const TensorFile file, read_safetensors(path));
  const auto text = [&](const char* key) {
    return file.metadata.contains(key) ? file.metadata.at(key) : std::string();
  };
  if (text("format") != kFormat) return fail(ErrorCode::format, "[train] {}: no {} file", path, kFormat);
  if (translate_plan(text("plan")) != plan_text(plan_)) {
    const auto other = parse_plan(text("plan"), path);
    if (other && other->arch != plan_.arch)
      return fail(ErrorCode::format, "[train] {}: a checkpoint of another architecture, {}; {} expected",
                  path, other->arch, plan_.arch);
    return fail(ErrorCode::format, "[train] {}: a checkpoint of another plan", path);
  }
  const auto progress = from_text<Progress>(text("progress"));
  if (!progress)
    return fail(ErrorCode::format, "[train] {}: its progress is no {} document: {}", path, kFormat,
                progress.error().message);
  if (progress->members.size() != members_.size())
    return fail(ErrorCode::format, "[train] {}: {} members; {} expected", path, progress->members.size(),
                members_.size());
  if (progress->step < 0 || progress->step > plan_.steps || progress->summed < 0 ||
      progress->summed > progress->step)
    return fail(ErrorCode::format, "[train] {}: at step {} with {} summed; at most {} steps expected", path,
                progress->step, progress->summed, plan_.steps);
  for (const MemberProgress& member : progress->members)
    if (member.steps < 0 || member.steps > progress->step ||
        !is_curve_of(member.curve, lesson_.tasks(), progress->step))
      return fail(ErrorCode::format, "[train] {}: member {} has no curve of {} tasks up to step {}", path,
                  member.plan.index, lesson_.tasks(), progress->step);
  RUNG_CHECK(fill(parameters_.master, file, "parameters", path));
  RUNG_CHECK(fill(optimiser_.first, file, "first", path));
  RUNG_CHECK(fill(optimiser_.second, file, "second", path));
  RUNG_CHECK(fill(optimiser_.count, file, "count", path));
  RUNG_CHECK(fill(optimiser_.alive, file, "alive", path));
  RUNG_CHECK(fill(loss_sum_, file, "loss", path));
  if (rounding_)
    for (const auto& [name, tensor] : file.tensors)
      if (name.starts_with("largest.")) {
        torch::Tensor seen =
            torch::zeros({parameters_.members()}, torch::TensorOptions(torch::kFloat32).device(device_));
        RUNG_CHECK(fill(seen, file, name, path));
        rounding_->largest[name.substr(8)] = seen;
      }
  parameters_.refresh();
  step_ = progress->step;
  summed_ = progress->summed;
  for (std::size_t e = 0; e < members_.size(); ++e) {
    const MemberPlan plan = members_[e].plan;
    MemberProgress& member = members_[e] = progress->members[e];
    member.plan = plan;
    member.stage = std::min(member.stage, lesson_.supports() - 1);
    if (plan_.patience > 0) optimiser_.slow(e, pace(plan_, member.curve).share);
  }
  if (lesson_.supports() > 1) source_.set_supports(support_stages());
  return {};
}

}  // namespace rung::learn
