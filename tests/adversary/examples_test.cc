// The certificates of attacks under tests/certificates, made again: the same model and the same attack give
// the same bytes. With RUNG_WRITE_EXAMPLES set the files are written instead.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/adversary/targets.h"

namespace rung {
namespace {

struct Example {
  std::string name;
  RandomTarget model;
  std::string task;
  TaskSizes sizes;
  std::string method;
  ClaimLabel label;
};
void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

const std::vector<Example>& examples() {
  // clang-format off
  static const std::vector<Example> all = {
      {"loglinear", {.architecture = "loglinear(base=linear,heads=1,dim=2)", .width = 4, .precision = 6}, "eva", {{"n", 9}}, "big-bucket", ClaimLabel::forced},
      {"sparse", {.architecture = "sparse(B=8,k=2,heads=1,dim=2,form=plain)", .width = 4, .precision = 6, .position = PositionCode::none}, "two-sum", {{"n", 64}}, "sparse-blocks", ClaimLabel::forced},
      {"sparse-positions", {.architecture = "sparse(B=8,k=2,groups=2,heads=2,dim=2,form=plain)", .width = 4, .precision = 4}, "two-sum", {{"n", 64}}, "sparse-blocks", ClaimLabel::forced},
      {"hybrid-fr", {.architecture = "full(heads=1,dim=2)+linear(heads=1,dim=2)", .width = 4, .precision = 4}, "seqcomp", {{"L", 2}, {"m", 27}, {"n1", 5}}, "additive", ClaimLabel::forced},
      {"hybrid-rfr", {.architecture = "linear(heads=1,dim=1)+full(heads=1,dim=1)+linear(heads=1,dim=1)", .width = 2, .precision = 3}, "seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, "decomposition", ClaimLabel::found},
      {"full-and-a-hundred-linear", {.architecture = "full(heads=1,dim=2)+linear(heads=1,dim=2)*100", .width = 4, .precision = 4}, "seqcomp", {{"L", 2}, {"m", 25}, {"n1", 31}}, "flip", ClaimLabel::forced},
  };
  // clang-format on
  return all;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// As rung 0.1.0 wrote it, whose files these are: it left out plain forms.
Result<void> write_first_version(const std::string& path, const Weights& weights) {
  TensorFile file = tensors_from_weights(weights);
  file.metadata["format"] = kFirstWeightsFormat;
  std::string& line = file.metadata["architecture"];
  const std::string said = ",form=plain";
  if (const std::size_t at = line.find(said); at != std::string::npos) line.erase(at, said.size());
  return write_safetensors(path, file);
}

EndAlike& pair_of(Certificate& certificate) {
  return std::visit(
      [](auto& claim) -> EndAlike& {
        if constexpr (requires { claim.pair; }) return claim.pair;
        RUNG_REQUIRE(false, "no pair");
      },
      certificate.claim);
}

class attack_example : public testing::TestWithParam<Example> {};

TEST_P(attack_example, is_what_the_attack_finds) {
  const Example& example = GetParam();
  const std::string folder = std::string(RUNG_SOURCE_DIR) + "/tests/certificates/";
  const std::string model = std::string(RUNG_BINARY_DIR) + "/example-" + example.name + ".safetensors";
  const auto task = task_of(example.task, example.sizes);
  ASSERT_TRUE(write_first_version(model, random_target(example.model, task).weights));
  const auto target = open_target(model, task);
  ASSERT_TRUE(target) << target.error().message;
  const auto outcome = attack(*target, example.method, {.seconds = 60});
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  Certificate certificate = *outcome->certificate;
  certificate.notes["method"] = example.method;
  EXPECT_EQ(pair_of(certificate).label, example.label);
  Certificate twin =
      certificate;  // one token of the second prompt is another one, still an instance of the task
  EndAlike& pair = pair_of(twin);
  auto& tokens = pair.second.fields[0];
  tokens[0] = tokens[0] == 1 ? 2 : 1;
  ASSERT_TRUE(task->validate(pair.second));
  if (std::getenv("RUNG_WRITE_EXAMPLES")) {
    std::filesystem::copy_file(model, folder + "valid/" + example.name + ".safetensors",
                               std::filesystem::copy_options::overwrite_existing);
    ASSERT_TRUE(write_certificate(folder + "valid/" + example.name + ".json", certificate));
    ASSERT_TRUE(write_certificate(folder + "invalid/" + example.name + ".rejected.json", twin));
  }
  EXPECT_EQ(bytes_of(folder + "valid/" + example.name + ".safetensors"), bytes_of(model));
  EXPECT_EQ(bytes_of(folder + "valid/" + example.name + ".json"), certificate_text(certificate));
  EXPECT_EQ(bytes_of(folder + "invalid/" + example.name + ".rejected.json"), certificate_text(twin));
}

INSTANTIATE_TEST_SUITE_P(, attack_example, testing::ValuesIn(examples()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace rung
