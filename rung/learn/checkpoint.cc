// The state of a trainer on disk: parameters, moments, counters and curves, in one safetensors file that
// appears whole or not at all (rung.checkpoint/1).
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

}  // namespace

Result<void> Trainer::save(const std::string& path) const {
  TensorFile file;
  file.metadata["format"] = kFormat;
  file.metadata["plan"] = plan_text(plan_);
  file.metadata["progress"] = progress_text({step_, summed_, members_});
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
  const auto progress = read_progress(text("progress"), members_.size(), lesson_.tasks(), plan_.steps);
  if (!progress)
    return fail(ErrorCode::format, "[train] {}: its progress is not that of a {} file: {}", path, kFormat,
                progress.error().message);
  RUNG_CHECK(fill(parameters_.master, file, "parameters", path));
  RUNG_CHECK(fill(optimiser_.first, file, "first", path));
  RUNG_CHECK(fill(optimiser_.second, file, "second", path));
  RUNG_CHECK(fill(optimiser_.count, file, "count", path));
  RUNG_CHECK(fill(optimiser_.alive, file, "alive", path));
  RUNG_CHECK(fill(loss_sum_, file, "loss", path));
  if (rounding_)
    for (const auto& [name, tensor] : file.tensors)
      if (name.starts_with("largest.")) {
        // One number a member, or one for each coordinate of what is carried.
        if (tensor.shape.empty() || tensor.shape.size() > 2 || tensor.shape.front() != parameters_.members())
          return fail(ErrorCode::format, "[train] {}: tensor {} is not that of {} members", path, name,
                      parameters_.members());
        torch::Tensor seen =
            torch::zeros(tensor.shape, torch::TensorOptions(torch::kFloat32).device(device_));
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
