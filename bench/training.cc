// Training throughput: whole steps (instances, forward, backward, AdamW) of a 4-layer model, width 64, 2
// heads, vocabulary 256, loss at every position, in tokens a second over an ensemble.
//
//   bench_training cpu      context 128, ensemble of 2, against the same model written plainly in libtorch
//   bench_training cuda [--members 32] [--type bf16] [--width 64] [--heads 2] [--context 256] [--batch 64] [LINE]...
//                           one recorded step of every mixer, or of the lines named (bench/training_peer.py is PyTorch's)
//   bench_training profile ... one step between the marks of a profiler, the others outside (bench/roofline.py)
//
// The table is Markdown; bench/results/training.md holds it with the machine's description.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#ifdef RUNG_HAS_CUDA
#include <cuda_profiler_api.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bench/figure.h"
#include "rung/learn/answer_loss.h"
#include "rung/learn/device_stream.h"
#include "rung/learn/kernels/task_instances.h"
#include "rung/learn/model.h"
#include "rung/learn/optimiser.h"
#include "rung/learn/quiet_torch.h"

namespace rung::learn {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr std::int64_t kVocabulary = 256;

struct Sizes {
  std::int64_t width = 64, heads = 2, context = 256, batch = 64, members = 32;
};

// Questions name one of the context's entries.
std::int64_t tokens_of(const Sizes& sizes) { return std::max(kVocabulary, sizes.context); }

Model make_model(const std::string& line, const Sizes& sizes) {
  ModelSpec spec;
  auto stack = parse_stack(line);
  RUNG_REQUIRE(stack.ok(), "{}", line);
  spec.architecture.stack = *stack;
  Dimensions& dims = spec.architecture.dimensions;
  dims.width = sizes.width, dims.heads = sizes.heads, dims.context = sizes.context,
  dims.vocabulary = tokens_of(sizes), dims.norm = Norm::rms, dims.state = 32;
  spec.fields = {{"token", tokens_of(sizes), 1, 0}};
  spec.output = {OutputSpec::Kind::logits, kVocabulary, 0};
  auto model = Model::make(spec);
  RUNG_REQUIRE(model.ok(), "{}", model.error().message);
  return std::move(*model);
}

// The whole step of an ensemble: fresh tokens, next-token loss everywhere.
struct Step {
  Step(const Model& model_, const Sizes& sizes, torch::Device device_, torch::ScalarType type)
      : model(model_),
        device(device_),
        length(sizes.context),
        prompts(sizes.batch),
        seeds(make_seeds(sizes.members)),
        parameters(model.layout(), seeds, std::vector<double>(seeds.size(), 1.0), device, type),
        optimiser(plan(), member_plans(sizes.members), model.layout(), parameters) {
    task.kind = kernels::InstanceKind::evaluation;
    task.n = length - 1, task.sigma = kVocabulary;
    tokens =
        torch::zeros({sizes.members, prompts, length}, torch::TensorOptions(torch::kInt32).device(device));
    answers = torch::zeros({sizes.members, prompts, 1}, torch::TensorOptions(torch::kLong).device(device));
    std::vector<std::int64_t> bits(seeds.begin(), seeds.end());
    device_seeds = torch::tensor(bits, torch::kLong).to(device);
    batch.answers = length;
  }
  static TrainingPlan plan() {
    TrainingPlan plan;
    plan.steps = 1 << 20;
    return plan;
  }
  static std::vector<std::uint64_t> make_seeds(std::int64_t members) {
    std::vector<std::uint64_t> out;
    for (std::int64_t i = 0; i < members; ++i) out.push_back(static_cast<std::uint64_t>(i) + 1);
    return out;
  }
  static std::vector<MemberPlan> member_plans(std::int64_t members) {
    std::vector<MemberPlan> out;
    for (std::int64_t i = 0; i < members; ++i)
      out.push_back({i, static_cast<std::uint64_t>(i) + 1, 1e-3, 0.01, 1});
    return out;
  }
  void operator()() {
    kernels::InstanceBatch drawn;
    drawn.members = tokens.size(0), drawn.batch = prompts;
    drawn.seed = reinterpret_cast<const std::uint64_t*>(device_seeds.data_ptr<std::int64_t>());
    drawn.step = optimiser.count.data_ptr<std::int64_t>();
    drawn.tokens = tokens.data_ptr<std::int32_t>();
    drawn.answers = answers.data_ptr<std::int64_t>();
    if (device.is_cuda())
      check_device(kernels::task_instances_cuda(task, drawn, nullptr, current_stream()), "task_instances");
    else
      kernels::task_instances(task, drawn);
    const torch::Tensor wide = tokens.to(torch::kLong);
    batch.inputs.fields = {wide};
    batch.targets = wide.roll(-1, 2).view({tokens.size(0), prompts * length});
    if (length > kVocabulary) batch.targets = batch.targets.remainder(kVocabulary);
    parameters.gradient.zero_();
    ForwardContext pass;
    pass.training = true;
    const torch::Tensor z = model.forward(batch.inputs, parameters.leaves, pass);
    torch::Tensor slope;
    grade(z, batch, 0, &slope);
    z.backward(slope);
    optimiser.step(parameters);
  }

  const Model& model;
  torch::Device device;
  std::int64_t length, prompts;
  std::vector<std::uint64_t> seeds;
  Parameters parameters;
  Optimiser optimiser;
  kernels::InstanceTask task;
  torch::Tensor tokens, answers, device_seeds;
  Batch batch;
};

// The peer: the transformer as a libtorch user writes it, one tensor a parameter, AdamW in tensor operations.
class PlainTransformer {
 public:
  explicit PlainTransformer(std::int64_t context) : context_(context) {
    token_ = add({kVocabulary, 64}), place_ = add({context, 64});
    for (int l = 0; l < 4; ++l)
      for (const auto& shape : std::vector<std::vector<std::int64_t>>{
               {64}, {64, 64}, {64, 64}, {64, 64}, {64, 64}, {64}, {256, 64}, {256}, {64, 256}, {64}})
        layers_.push_back(add(shape));
    norm_ = add({64}), out_ = add({kVocabulary, 64}), bias_ = add({kVocabulary});
    mask_ = torch::full({context, context}, -INFINITY).triu(1);
  }
  void step(const torch::Tensor& tokens) {
    torch::Tensor x = torch::embedding(token_, tokens) + place_;
    const auto norm = [](const torch::Tensor& v, const torch::Tensor& gain) {
      return v * (v.square().mean(-1, true) + 1e-6).rsqrt() * gain;
    };
    for (int l = 0; l < 4; ++l) {
      const torch::Tensor* p = &layers_[static_cast<std::size_t>(10 * l)];
      const torch::Tensor u = norm(x, p[0]);
      const auto heads = [&](const torch::Tensor& w) {
        return torch::matmul(u, w.t()).view({tokens.size(0), context_, 2, 32}).transpose(1, 2);
      };
      const torch::Tensor q = heads(p[1]), k = heads(p[2]), v = heads(p[3]);
      const torch::Tensor weight =
          (torch::matmul(q, k.transpose(-1, -2)) / std::sqrt(32.0) + mask_).softmax(-1);
      x = x + torch::matmul(torch::matmul(weight, v).transpose(1, 2).reshape({tokens.size(0), context_, 64}),
                            p[4].t());
      x = x + torch::linear(torch::linear(norm(x, p[5]), p[6], p[7]).relu(), p[8], p[9]);
    }
    const torch::Tensor z = torch::linear(norm(x, norm_), out_, bias_);
    torch::nll_loss(z.view({-1, kVocabulary}).log_softmax(-1), tokens.roll(-1, 1).flatten()).backward();
    const torch::NoGradGuard no_grad;
    ++count_;
    torch::Tensor squares = torch::zeros({});
    for (const torch::Tensor& p : all_) squares += p.grad().square().sum();
    const double scale = std::min(1.0, 1.0 / (squares.sqrt().item<double>() + 1e-6));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const torch::Tensor g = all_[i].grad() * scale;
      first_[i].mul_(0.9).add_(g, 0.1);
      second_[i].mul_(0.98).addcmul_(g, g, 0.02);
      all_[i]
          .mul_(1 - 1e-3 * 0.01)
          .addcdiv_(first_[i] / (1 - std::pow(0.9, count_)),
                    (second_[i] / (1 - std::pow(0.98, count_))).sqrt_().add_(1e-8), -1e-3);
      all_[i].mutable_grad().zero_();
    }
  }

 private:
  torch::Tensor add(const std::vector<std::int64_t>& shape) {
    torch::Tensor p = shape.size() == 1 ? torch::ones(shape)
                                        : torch::randn(shape) / std::sqrt(static_cast<double>(shape.back()));
    p.requires_grad_(true);
    all_.push_back(p), first_.push_back(torch::zeros(shape)), second_.push_back(torch::zeros(shape));
    return p;
  }
  std::int64_t context_;
  int count_ = 0;
  std::vector<torch::Tensor> all_, first_, second_, layers_;
  torch::Tensor token_, place_, norm_, out_, bias_, mask_;
};

// The form of the theorems first, then the released layer of the same name.
const std::vector<std::pair<const char*, const char*>> kLines{
    {"full", "full*4"},
    {"delta, plain", "delta(form=plain)*4"},
    {"delta", "delta*4"},
    {"3 delta : 1 full, plain", "delta(form=plain)*3+full"},
    {"3 delta : 1 full", "delta*3+full"},
    {"gdelta, plain", "gdelta(form=plain)*4"},
    {"gdelta", "gdelta*4"},
    {"mamba, plain", "mamba(form=plain)*4"},
    {"mamba", "mamba*4"},
    {"mamba2, plain", "mamba2(form=plain)*4"},
    {"mamba2", "mamba2*4"},
    {"loglinear", "loglinear*4"},
    {"loglinear of mamba2, plain", "loglinear(base=mamba2,form=plain)*4"},
    {"loglinear of mamba2", "loglinear(base=mamba2)*4"},
    {"linear", "linear*4"},
    {"gla", "gla*4"},
    {"kda", "kda*4"},
    {"rwkv7", "rwkv7*4"},
    {"sparse, plain", "sparse(form=plain,B=16,k=4)*4"},
    {"sparse", "sparse(B=16,k=4)*4"},
    {"topk, plain", "topk(form=plain,k=32)*4"},
    {"topk", "topk(k=32)*4"}};

void on_cpu() {
  const Sizes sizes{.context = 128, .members = 1};
  const double tokens = static_cast<double>(sizes.batch * sizes.context);
  fmt::print(
      "| model | members | tokens/s | to the plain peer | to full attention |\n| --- | --- | --- | --- | --- "
      "|\n");
  const auto peer = [&] {
    at::set_num_threads(2);
    PlainTransformer plain(sizes.context);
    torch::manual_seed(1);
    const torch::Tensor drawn = torch::randint(kVocabulary, {sizes.batch, sizes.context}, torch::kLong);
    for (int i = 0; i < 3; ++i) plain.step(drawn);
    const auto start = Clock::now();
    for (int i = 0; i < 12; ++i)
      plain.step(torch::randint(kVocabulary, {sizes.batch, sizes.context}, torch::kLong));
    return 12 * tokens / seconds_since(start);
  };
  const auto ours = [&](const char* line) {
    const Model model = make_model(line, sizes);
    std::vector<std::thread> workers;
    std::vector<double> rates(2);
    for (int w = 0; w < 2; ++w)
      workers.emplace_back([&, w] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(w), &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        at::set_num_threads(1);
        Step step(model, sizes, torch::kCPU, torch::kFloat32);
        for (int i = 0; i < 3; ++i) step();
        const auto start = Clock::now();
        for (int i = 0; i < 12; ++i) step();
        rates[static_cast<std::size_t>(w)] = 12 * tokens / seconds_since(start);
      });
    for (std::thread& worker : workers) worker.join();
    return rates[0] + rates[1];
  };
  // The peer is measured before and after: the machine is shared.
  const double before = peer(), full = ours("full*4"), after = peer(), plain = (before + after) / 2;
  fmt::print("| plain libtorch, one process of two threads, full | 1 | {:.0f} | 1 | {:.2f} |\n", plain,
             plain / full);
  fmt::print("| full | 2 | {:.0f} | {:.2f} | 1 |\n", full, full / plain);
  add_figure({"training", "full*4, two members", full, "tokens/s", "plain libtorch", plain});
  for (const auto& [name, line] : kLines) {
    if (std::string_view(line).find("full") != std::string_view::npos) continue;
    const double again = ours("full*4"), rate = ours(line);
    fmt::print("| {} | 2 | {:.0f} | {:.2f} | {:.2f} |\n", name, rate, rate / plain, rate / again);
    add_figure({"training", fmt::format("{}, two members", line), rate, "tokens/s", "full*4", again});
    std::fflush(stdout);
  }
}

// What the named sizes add to a figure's name: nothing where they are the table's.
std::string beside(const Sizes& sizes) {
  const Sizes usual;
  std::string out;
  if (sizes.width != usual.width || sizes.heads != usual.heads)
    out += fmt::format(", width {}, {} heads", sizes.width, sizes.heads);
  if (sizes.context != usual.context) out += fmt::format(", context {}", sizes.context);
  if (sizes.batch != usual.batch) out += fmt::format(", batch {}", sizes.batch);
  return out;
}

int on_cuda(const Sizes& sizes, torch::ScalarType type, const std::vector<std::string>& lines) {
  if (auto ready = cuda_ready(); !ready) {
    fmt::print(stderr, "{}\n", ready.error().message);
    return 2;
  }
  fmt::print(
      "{}, {} members, {}{}\n\n| model | ms a step | million tokens/s | peak GB | seconds before the first "
      "step "
      "|\n| --- | --- | --- | --- | --- |\n",
      cuda_name(), sizes.members, type == torch::kBFloat16 ? "bf16" : "tf32", beside(sizes));
  std::fflush(stdout);
  at::globalContext().setAllowTF32CuBLAS(true);
  for (const std::string& line : lines) {
    const auto begin = Clock::now();
    const Model model = make_model(line, sizes);
    Step step(model, sizes, torch::Device(torch::kCUDA, 0), type);
    const std::int64_t peak = peak_of([&] { step(); });
    RecordedStep recorded([&] { step(); });
    recorded.replay();
    synchronise();
    const double first = seconds_since(begin);
    for (int i = 0; i < 3; ++i) recorded.replay();
    synchronise();
    const auto start = Clock::now();
    const int steps = 20;
    for (int i = 0; i < steps; ++i) recorded.replay();
    synchronise();
    const double each = seconds_since(start) / steps;
    const double rate = static_cast<double>(sizes.members * sizes.batch * sizes.context) / each / 1e6;
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} |\n", line, 1e3 * each, rate,
               static_cast<double>(peak) / 1e9, first);
    add_figure({"training", fmt::format("{}, {} members{}", line, sizes.members, beside(sizes)), rate,
                "million tokens/s", "", 0, cuda_name()});
    std::fflush(stdout);
  }
  return 0;
}

// Kernels by name are what a profiler sees of a step that is not recorded.
int profiled(const Sizes& sizes, torch::ScalarType type, const std::string& line) {
  if (auto ready = cuda_ready(); !ready) {
    fmt::print(stderr, "{}\n", ready.error().message);
    return 2;
  }
  at::globalContext().setAllowTF32CuBLAS(true);
  const Model model = make_model(line, sizes);
  Step step(model, sizes, torch::Device(torch::kCUDA, 0), type);
  for (int i = 0; i < 3; ++i) step();
  synchronise();
#ifdef RUNG_HAS_CUDA
  cudaProfilerStart();
#endif
  step();
  synchronise();
#ifdef RUNG_HAS_CUDA
  cudaProfilerStop();
#endif
  return 0;
}

int told(int argc, char** argv) {
  Sizes sizes;
  torch::ScalarType type = torch::kBFloat16;
  std::vector<std::string> lines;
  const std::map<std::string, std::int64_t Sizes::*> numbers{{"--members", &Sizes::members},
                                                             {"--width", &Sizes::width},
                                                             {"--heads", &Sizes::heads},
                                                             {"--context", &Sizes::context},
                                                             {"--batch", &Sizes::batch}};
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      lines.push_back(word);
      continue;
    }
    const auto number = numbers.find(word);
    if ((number == numbers.end() && word != "--type") || i + 1 == argc) {
      fmt::print(stderr,
                 "{}: a number expected behind one of --members, --width, --heads, --context, --batch, or "
                 "bf16 or tf32 behind --type\n",
                 word);
      return 2;
    }
    ++i;
    if (number != numbers.end())
      sizes.*(number->second) = std::atoll(argv[i]);
    else
      type = argv[i] == std::string("tf32") ? torch::kFloat32 : torch::kBFloat16;
  }
  if (lines.empty())
    for (const auto& [name, line] : kLines) lines.push_back(line);
  return argv[1] == std::string("profile") ? profiled(sizes, type, lines.front())
                                           : on_cuda(sizes, type, lines);
}

}  // namespace
}  // namespace rung::learn

int main(int argc, char** argv) {
  rung::learn::quiet_torch();
  if (argc < 2 || argv[1] == std::string("cpu")) return rung::learn::on_cpu(), 0;
  return rung::learn::told(argc, argv);
}
