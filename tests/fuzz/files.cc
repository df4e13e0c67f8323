// Files that are opened by name: experiments, stores of others, the folder of a released model, a search's checkpoint.
#include <filesystem>
#include <fstream>

#include "rung/adversary/product_proof.h"
#include "rung/adversary/random_weights.h"
#include "rung/lab/experiment.h"
#include "rung/released/layer_import.h"
#include "rung/store/store.h"
#include "tests/fuzz/targets.h"

namespace rung {
extern const std::string_view kExperiments;
const std::string_view kExperiments = "[]";  // the laboratory's own are not looked for
}  // namespace rung

namespace rung::fuzz {
namespace {

// A folder of this process's own, removed at its end.
class OwnFolder {
 public:
  OwnFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rung-fuzz.XXXXXX").string();
    promise(mkdtemp(pattern.data()) != nullptr, "a folder");
    path_ = pattern;
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string write(const char* name, std::string_view bytes) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string path(const char* name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

const OwnFolder& own_folder() {
  static const OwnFolder folder;
  return folder;
}

// A search of a small model for all words of parity, and the first bytes of its checkpoints: which search it is.
struct Search {
  rung::Target target;
  ProductTask task;
  std::string path = own_folder().path("checkpoint"), head;

  Search() {
    const std::shared_ptr<const Task> parity = std::move(make_task("parity", {{"n", 4}}).value());
    auto weights = random_weights_for(
        *parity, {.architecture = "gru(size=2)", .width = 4, .precision = {NumberFormat::fixed, 4, 0}});
    promise(weights.ok(), "weights of the search");
    std::vector<std::int64_t> bias(static_cast<std::size_t>(weights->output.size), 0);
    bias[0] = 1 << 20;  // the answer is always 0
    weights->tensors["out.bias"] = integer_tensor({weights->output.size}, bias);
    auto made = make_target(std::move(*weights), parity);
    promise(made.ok(), made ? "" : made.error().message);
    target = std::move(*made);
    target.model_sha256 = sha256("");
    task = product_task(*parity);
    for (auto& answer : task.answers) answer = 0;  // and right, so that the whole graph is searched
    promise(run(1).ok(), "the search runs");
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::size_t digest = sha256("").size();
    head = bytes.substr(0, bytes.find('\n') + 1 + digest);
    promise(head.size() > digest, "a checkpoint was written");
  }
  Result<ProductOutcome> run(std::optional<std::int64_t> depth) const {
    return search_product(target, task,
                          {.seconds = 2, .memory_bytes = std::uint64_t{1} << 24, .checkpoint = path}, depth);
  }
};

}  // namespace

void experiment_file(std::string_view bytes) {
  if (bytes.empty()) return;
  const char* name = bytes.front() % 2 == 0 ? "experiment.toml" : "experiment.json";
  const std::string path = own_folder().write(name, bytes.substr(1));
  for (const char* size : {"small", "gpu"}) one_line(lab::read_experiment(path, size, 0));
}

void store_file(std::string_view bytes) {
  one_line(read_foreign_records(own_folder().write("store", bytes)));
}

void imported_layer(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  own_folder().write("config.json", bytes.substr(0, end));
  own_folder().write("model.safetensors", bytes.substr(std::min(end + 1, bytes.size())));
  for (const auto naming : {TensorNaming::transformers, TensorNaming::fla})
    one_line(import_layer({.directory = own_folder().path(), .from = naming}));
}

void search_checkpoint(std::string_view bytes) {
  static const Search search;
  own_folder().write("checkpoint", search.head + sha256(bytes) + std::string(bytes));
  one_line(search.run({}));
}

}  // namespace rung::fuzz
