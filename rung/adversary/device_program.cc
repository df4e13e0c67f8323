#include "rung/adversary/device_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rung/adversary/lanes/state_machine.h"
#include "rung/base/nearest_word.h"

namespace rung {
namespace {

constexpr double kDeviceBatchSeconds = 0.05;                       // between two looks at what ended
constexpr std::int64_t kFirstSteps = 16;                           // of the first batch
constexpr std::uint32_t kMostEnds = 1 << 22;                       // of a batch, beyond two a chain
constexpr std::uint64_t kMostSuccessors = std::uint64_t{1} << 31;  // between two looks at the clock
constexpr std::size_t kArenaBoundary = 16;

// Arrays side by side in the device's memory. The first pass counts their bytes, the second has a place for them.
class DeviceArena {
 public:
  explicit DeviceArena(std::byte* base) : base_(base) {}
  const std::vector<std::byte>& bytes() const { return bytes_; }

  template <class T>
  lanes::View<T> put(const std::vector<T>& items) {
    if (items.empty()) return {};
    const std::size_t at = (bytes_.size() + kArenaBoundary - 1) / kArenaBoundary * kArenaBoundary;
    bytes_.resize(at + items.size() * sizeof(T));
    std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
    return {reinterpret_cast<const T*>(base_ + at), items.size()};
  }
  lanes::Map<lanes::View> put(const LaneMap& map) {
    return {map.rows,  map.cols, put(map.weight), put(map.bias),    put(map.narrow),
            map.shift, map.bits, map.sum_bits,    put(map.columns), put(map.starts)};
  }
  lanes::Table<lanes::View> put(const LaneTable& table) {
    return {table.low, put(table.values), put(table.narrow)};
  }
  lanes::Layer<lanes::View> put(const LaneLayer& layer) {
    lanes::Layer<lanes::View> view{static_cast<const lanes::LayerRules&>(layer)};
    view.rates = put(layer.rates), view.skip = put(layer.skip);
    view.key = put(layer.key), view.value = put(layer.value), view.query = put(layer.query);
    view.beta = put(layer.beta), view.gate = put(layer.gate), view.output = put(layer.output);
    view.beta_table = put(layer.beta_table), view.gate_table = put(layer.gate_table);
    view.feature_table = put(layer.feature_table), view.cell_table = put(layer.cell_table);
    std::vector<lanes::Map<lanes::View>> mlp;
    std::vector<lanes::Table<lanes::View>> activation;
    for (const auto& map : layer.mlp) mlp.push_back(put(map));
    for (const auto& table : layer.activation) activation.push_back(put(table));
    view.mlp = put(mlp), view.activation = put(activation);
    return view;
  }

 private:
  std::byte* base_;
  std::vector<std::byte> bytes_;
};

lanes::Evaluation lay_out(const LaneRows& rows, DeviceArena& arena) {
  lanes::Evaluation whole;
  std::vector<lanes::Layer<lanes::View>> layers;
  for (const auto& layer : rows.plan->layers) layers.push_back(arena.put(layer));
  const auto stack = [&](auto& to, const auto& from) {
    to.layers = arena.put(layers).data();
    to.rows = arena.put(from).data();
    to.stride = rows.stride;
    to.width = rows.plan->width;
    to.numbers = rows.numbers.back();
    to.scratch = rows.scratch;
    to.stream_bits = rows.plan->stream_bits;
  };
  if (!rows.rows32.empty()) {
    whole.form = lanes::Evaluation::Form::stack32;
    stack(whole.stack32, rows.rows32);
  } else {
    whole.form = lanes::Evaluation::Form::stack64;
    stack(whole.stack64, rows.rows64);
  }
  whole.entries = rows.entries;
  whole.entries.rows = arena.put(rows.entry_rows).data();
  whole.route.steps = arena.put(rows.steps).data();
  whole.widths = arena.put(rows.widths).data();
  return whole;
}

}  // namespace

Result<void> device_result(int status) {
  if (status == 0) return {};
  return fail(ErrorCode::resource, "[break] CUDA: {}", lanes::device_error(status));
}

Result<DeviceMemory> DeviceMemory::allocate(std::size_t bytes) {
  DeviceMemory memory;
  RUNG_CHECK(device_result(lanes::device_allocate(bytes, &memory.memory_)));
  return memory;
}

Result<std::unique_ptr<DeviceProgram>> DeviceProgram::make(const LaneRows& rows) {
  DeviceArena counted(nullptr);
  if (!lanes::fits_thread(lay_out(rows, counted)))
    return fail(ErrorCode::unsupported, "the stack is too large for the threads of a device");
  auto program = std::make_unique<DeviceProgram>();
  RUNG_TRY(program->arena_, DeviceMemory::allocate(counted.bytes().size()));
  RUNG_TRY(program->start_, DeviceMemory::allocate(static_cast<std::size_t>(rows.numbers.back()) * 8));
  DeviceArena arena(program->arena_.as<std::byte>());
  program->whole_ = lay_out(rows, arena);
  RUNG_CHECK(device_result(
      lanes::copy_to_device(program->arena_.as<void>(), arena.bytes().data(), arena.bytes().size())));
  program->steps_ = rows.steps;
  program->begins_ = rows.begins;
  program->numbers_ = rows.numbers;
  program->entrywise_ = !rows.entry_rows.empty();
  return program;
}

Result<lanes::Evaluation> DeviceProgram::evaluation(const Walk& walk, bool packs) {
  lanes::Evaluation evaluation = whole_;
  if (walk.depth == 1 && entrywise_) evaluation.form = lanes::Evaluation::Form::entries;
  evaluation.depth = walk.depth;
  evaluation.numbers = static_cast<std::int32_t>(numbers_[static_cast<std::size_t>(walk.depth)]);
  evaluation.packs = packs;
  evaluation.words = walk.words;
  evaluation.salt = walk.salt;
  const std::size_t varying = begins_[static_cast<std::size_t>(walk.first)], begin = walk.start ? varying : 0,
                    end = begins_[static_cast<std::size_t>(walk.first + walk.length)];
  evaluation.route.begin = static_cast<std::int32_t>(begin);
  evaluation.route.varying = static_cast<std::int32_t>(varying);
  evaluation.route.end = static_cast<std::int32_t>(end);
  evaluation.route_first = steps_[begin].row;
  evaluation.route_rows =
      steps_[end - 1].row + std::max<std::uint32_t>(1, steps_[end - 1].rows) - steps_[begin].row;
  if (walk.start) {
    evaluation.start = start_.as<std::int64_t>();
    RUNG_CHECK(device_result(lanes::copy_to_device(start_.as<void>(), walk.start,
                                                   static_cast<std::size_t>(evaluation.numbers) * 8)));
  }
  return evaluation;
}

std::vector<std::uint32_t> DeviceProgram::rows(std::int64_t first,
                                               std::span<const std::uint16_t> choices) const {
  std::vector<std::uint32_t> rows;
  std::size_t slot = 0;
  for (std::size_t p = begins_[static_cast<std::size_t>(first)];
       p < begins_[static_cast<std::size_t>(first) + choices.size()]; ++p)
    rows.push_back(steps_[p].row + (steps_[p].rows > 0 ? choices[slot++] : 0));
  return rows;
}

Result<DeviceWalks> DeviceWalks::start(const lanes::Evaluation& evaluation, int zeros, std::uint64_t patience,
                                       std::uint64_t seed) {
  DeviceWalks walks;
  walks.evaluation_ = evaluation;
  walks.zeros_ = zeros;
  walks.patience_ = patience;
  lanes::Chains& chains = walks.chains_;
  RUNG_CHECK(device_result(lanes::walk_width(evaluation, &chains.count)));
  chains.seed = seed;
  RUNG_TRY(walks.memory_, DeviceMemory::allocate(5 * chains.count * sizeof(std::uint64_t)));
  auto* const memory = walks.memory_.as<std::uint64_t>();
  chains.code[0] = memory;
  chains.code[1] = memory + chains.count;
  chains.start = memory + 2 * chains.count;
  chains.length = memory + 3 * chains.count;
  chains.drawn = memory + 4 * chains.count;
  walks.ends_.capacity = static_cast<std::uint32_t>(2 * chains.count) + kMostEnds;
  RUNG_TRY(walks.ends_memory_,
           DeviceMemory::allocate(walks.ends_.capacity * sizeof(lanes::TrailEnd) + sizeof(std::uint32_t)));
  walks.ends_.ends = walks.ends_memory_.as<lanes::TrailEnd>();
  walks.ends_.count = reinterpret_cast<std::uint32_t*>(walks.ends_.ends + walks.ends_.capacity);
  RUNG_CHECK(device_result(lanes::start_walks(chains, evaluation.words)));
  walks.steps_ = kFirstSteps;
  RUNG_CHECK(walks.launch());
  return walks;
}

Result<void> DeviceWalks::launch() {
  // Twice as many ends as are expected have room.
  const double room = static_cast<double>(ends_.capacity) / 2 * std::exp2(zeros_);
  steps_ = std::clamp<std::int64_t>(steps_, 1,
                                    static_cast<std::int64_t>(room / static_cast<double>(chains_.count)));
  launched_ = Clock::now();
  RUNG_CHECK(device_result(lanes::clear_on_device(ends_.count, sizeof *ends_.count)));
  return device_result(lanes::walk(evaluation_, chains_, steps_, zeros_, patience_, ends_));
}

Result<DeviceWalks::Batch> DeviceWalks::advance() {
  std::uint32_t count = 0;
  RUNG_CHECK(device_result(lanes::copy_from_device(&count, ends_.count, sizeof count)));
  const double seconds = std::chrono::duration<double>(Clock::now() - launched_).count();
  Batch batch{.evaluations = chains_.count * static_cast<std::uint64_t>(steps_), .ends = {}};
  batch.ends.resize(std::min(count, ends_.capacity));
  RUNG_CHECK(device_result(
      lanes::copy_from_device(batch.ends.data(), ends_.ends, batch.ends.size() * sizeof(lanes::TrailEnd))));
  steps_ = static_cast<std::int64_t>(static_cast<double>(steps_) *
                                     std::clamp(kDeviceBatchSeconds / seconds, 0.5, 2.0));
  RUNG_CHECK(launch());
  return batch;
}

Result<DeviceStates> DeviceStates::make(int bits) {
  DeviceStates states;
  states.words_ = std::max<std::uint64_t>(2, std::uint64_t{1} << bits >> 5);
  std::size_t free = 0;
  RUNG_CHECK(device_result(lanes::device_memory(&free)));
  if (2 * states.words_ * sizeof(std::uint32_t) > free)
    return fail(ErrorCode::resource,
                "[break] two sets of states of {} bits need {} bytes on the device; {} are free", bits,
                2 * states.words_ * sizeof(std::uint32_t), free);
  RUNG_TRY(states.now_, DeviceMemory::allocate(states.words_ * sizeof(std::uint32_t)));
  RUNG_TRY(states.next_, DeviceMemory::allocate(states.words_ * sizeof(std::uint32_t)));
  RUNG_TRY(states.fresh_, DeviceMemory::allocate(sizeof(std::uint64_t)));
  return states;
}

Result<std::optional<std::uint64_t>> DeviceStates::advance(DeviceProgram& program, const StateKernel& kernel,
                                                           std::int64_t slot,
                                                           const std::function<void()>& step,
                                                           const std::function<bool()>& over) {
  const std::int64_t depth = kernel.layers();
  const auto rows =
      static_cast<std::uint32_t>(kernel.space().slots[static_cast<std::size_t>(slot)].rows.size());
  const std::vector<std::int64_t> empty(static_cast<std::size_t>(kernel.numbers(depth)));  // codes are given
  RUNG_TRY(const auto evaluation,
           program.evaluation({.depth = depth, .first = slot, .length = 1, .start = empty.data()}, true));
  lanes::StateSets sets{.now = now_.as<std::uint32_t>(),
                        .next = next_.as<std::uint32_t>(),
                        .first = 0,
                        .count = 0,
                        .fresh = fresh_.as<unsigned long long>()};
  RUNG_CHECK(device_result(lanes::clear_on_device(sets.next, words_ * sizeof(std::uint32_t))));
  RUNG_CHECK(device_result(lanes::clear_on_device(sets.fresh, sizeof *sets.fresh)));
  const std::uint64_t part = std::max<std::uint64_t>(1, kMostSuccessors / (32 * std::uint64_t{rows}));
  unsigned long long fresh = 0;
  for (; sets.first < words_; sets.first += part) {
    sets.count = std::min(part, words_ - sets.first);
    RUNG_CHECK(device_result(lanes::reach_states(evaluation, rows, sets)));
    RUNG_CHECK(device_result(lanes::copy_from_device(&fresh, sets.fresh, sizeof fresh)));
    step();
    if (over()) return std::optional<std::uint64_t>{};
  }
  std::swap(now_, next_);
  return std::optional<std::uint64_t>(fresh);
}

Result<void> DeviceStates::read(std::uint64_t first, std::span<std::uint64_t> words) const {
  return device_result(
      lanes::copy_from_device(words.data(), now_.as<std::uint64_t>() + first, words.size_bytes()));
}
Result<void> DeviceStates::write(std::uint64_t first, std::span<const std::uint64_t> words) {
  return device_result(
      lanes::copy_to_device(now_.as<std::uint64_t>() + first, words.data(), words.size_bytes()));
}

Result<SearchDevice> parse_search_device(std::string_view word) {
  if (word == "cpu") return SearchDevice::cpu;
  if (word == "auto") return SearchDevice::automatic;
  if (word != "cuda")
    return fail(ErrorCode::parse, "[break] device {}; auto, cpu or cuda expected", quoted(word));
  if (lanes::device_count() == 0)
    return fail(ErrorCode::unsupported, "[break] device cuda: {}", lanes::device_error(lanes::kNoDevice));
  return SearchDevice::cuda;
}

Result<std::unique_ptr<DeviceProgram>> program_for(const StateKernel& kernel, const SearchOptions& options) {
  if (options.device == SearchDevice::cpu ||
      (options.device == SearchDevice::automatic && lanes::device_count() == 0))
    return std::unique_ptr<DeviceProgram>{};
  if (options.ranks) RUNG_CHECK(device_result(lanes::choose_device(options.ranks->rank())));
  auto program = kernel.on_device();
  if (program) return program;
  if (options.device == SearchDevice::automatic) return std::unique_ptr<DeviceProgram>{};
  return fail(program.error().code, "[break] device cuda: {}", program.error().message);
}

}  // namespace rung
