// Claim: two beginnings after which all layers of a recurrent stack hold the same numbers. s bits of state
// collide after about 2^(s/2) evaluations, fewer when rounding and saturation waste bits: 2 lg(evaluations)
// is the effective size of the state.
//
// A walk x -> choices drawn from x -> state -> key is a function on 64-bit numbers. Walks run until a
// distinguished point (lg θ leading zeros); equal end points of different starts mean that the walks met, and
// re-walking finds where. What met are the choices, not the numbers they were drawn from: equal choices are
// no collision.
//
// Several ranks: each walks from starts of its own and hands in the ends that it reached, a slice of time a
// item; rank 0 keeps the table and finds the pair.
//
// Invariant: the table holds for every distinguished end one start and its distance; both are replayable at
// any time.
#include "rung/adversary/distinguished_points.h"

#include <array>
#include <cmath>
#include <unordered_map>

#include "rung/adversary/checkpoint.h"
#include "rung/adversary/device_program.h"
#include "rung/adversary/method_list.h"
#include "rung/adversary/search_clock.h"
#include "rung/adversary/state_collision.h"
#include "rung/base/parallel.h"
#include "rung/base/plural.h"
#include "rung/base/random.h"
#include "rung/ranks/task_queue.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

constexpr std::int64_t kDistinguishedPointsBatch = 256;  // walks side by side in one worker
constexpr int kTableBits = 18;  // about 2^18 end points are stored by the time of the first collision
constexpr std::uint64_t kPatience = 20;  // a walk 20 times longer than expected runs in a cycle
constexpr int kDistinguishedPointsSpareBits =
    2;  // choices beyond the state's bits, so that collisions are of states
constexpr std::uint64_t kDistinguishedPointsEntryBytes = 64;  // of the table, with its overhead
constexpr std::int64_t kMostWalkBits = 96;  // no search takes 2^48 steps: choices beyond are not needed
constexpr double kSecondsBetweenSaves = 3;
constexpr double kShareOfSaving = 20;                      // and that many times as long as a save took
constexpr std::size_t kDistinguishedPointsMostRows = 256;  // rows a slot that are varied
constexpr double kSliceSeconds = 0.1;         // of walking, by a rank that helps, before it hands in
constexpr std::size_t kSliceBytes = 1 << 18;  // of ends, after which it hands in earlier
constexpr const char* kWalks = "/walks";
constexpr int kSlicesARank = 2;  // one in hand, one on its way: what waits here finds nothing

using WalkCode = std::array<std::uint64_t, lanes::kMostWords>;

// A walk begins at the code of one word, and ends at a code that is told by its first.
struct Trail {
  std::uint64_t start = 0, length = 0;
};

// The first slots whose choices outnumber the states.
std::int64_t slots_for(const BeginningSpace& space, double bits) {
  double have = 0;
  std::int64_t count = 0;
  for (const auto& slot : space.slots) {
    if (have >= bits + kDistinguishedPointsSpareBits) break;
    have += std::log2(static_cast<double>(slot.rows.size()));
    ++count;
  }
  return count;
}

class DistinguishedPointsSearch {
 public:
  DistinguishedPointsSearch(const Target& target, const SearchOptions& options,
                            std::unique_ptr<StateKernel> kernel, std::unique_ptr<DeviceProgram> device)
      : target_(target),
        options_(options),
        clock_(options),
        kernel_(std::move(kernel)),
        device_(std::move(device)) {
    const std::int64_t depth = kernel_->layers(), bits = kernel_->bits(depth);
    walk_ = {.salt = spread(options.seed),
             .depth = depth,
             .first = 0,
             .length = slots_for(kernel_->space(), static_cast<double>(std::min(bits, kMostWalkBits))),
             .words = kernel_->code_words(depth)};
    zeros_ = std::clamp<int>(static_cast<int>(std::min<std::int64_t>(bits, 64)) / 2 - kTableBits, 0, 40);
    fingerprint_ = search_fingerprint(
        target, "distinguished-points", options.seed,
        fmt::format("{} {} {}{}", walk_.length, zeros_, depth, walk_.words > 1 ? " two words" : ""));
  }

  Result<AttackOutcome> run() {
    if (options_.ranks && !options_.ranks->leads()) return help();
    RUNG_CHECK(resume());
    if (options_.ranks) {
      slices_.emplace(*options_.ranks, options_.queue + kWalks);
      for (int i = kSlicesARank * options_.ranks->count(); i > 0; --i)
        slices_->post(std::to_string(resumed_from_));
    }
    const auto worked = device_ ? work_on_device() : work_on_processor();
    if (slices_) slices_->close();
    if (!worked) return worked.error();
    if (!certificate_) RUNG_CHECK(save());
    AttackOutcome outcome{.method = "distinguished-points", .nominal_bits = target_.nominal_bits};
    outcome.evaluations = evaluations_;
    outcome.seconds = clock_.seconds();
    outcome.memory_bytes = table_.size() * kDistinguishedPointsEntryBytes;
    outcome.details["kernel"] = kernel_->name();
    if (device_) outcome.details["device"] = lanes::device_name();
    outcome.details["tokens_per_evaluation"] = std::to_string(walk_.length);
    outcome.details["distinguished_points"] = std::to_string(table_.size());
    if (certificate_) {
      outcome.verdict = Evidence::refuted;
      outcome.effective_bits = 2 * std::log2(static_cast<double>(first_collision_));
      outcome.reason = fmt::format("two beginnings leave the same state, found after 2^{:.1f} evaluations",
                                   std::log2(static_cast<double>(first_collision_)));
      outcome.certificate = std::move(certificate_);
    } else {
      outcome.reason = fmt::format("no collision in 2^{:.1f} evaluations",
                                   std::log2(static_cast<double>(std::max<std::uint64_t>(1, evaluations_))));
      if (evaluations_ > 0)
        outcome.details["effective_bits_at_least"] =
            fmt::format("{:.1f}", 2 * std::log2(static_cast<double>(evaluations_)) - 2);
    }
    return outcome;
  }

 private:
  // Walks side by side, each from a start of its own to a distinguished point and then from a new one.
  class Walkers {
   public:
    Walkers(const DistinguishedPointsSearch& search, Random random)
        : search_(search),
          random_(random),
          words_(static_cast<std::size_t>(search.walk_.words)),
          x_(kDistinguishedPointsBatch * words_),
          next_(x_.size()),
          trails_(kDistinguishedPointsBatch) {
      for (std::size_t i = 0; i < trails_.size(); ++i) restart(i);
    }
    // One step of all; arrive(end, trail) for those that end.
    template <class Arrive>
    Result<void> step(const Arrive& arrive) {
      search_.kernel_->keys(search_.walk_, x_.data(), kDistinguishedPointsBatch, next_.data());
      const std::uint64_t patience = kPatience << search_.zeros_;
      std::swap(x_, next_);
      for (std::size_t i = 0; i < trails_.size(); ++i) {
        Trail& trail = trails_[i];
        ++trail.length;
        if (lanes::distinguished(x_[i * words_], search_.zeros_)) {
          RUNG_CHECK(arrive(x_[i * words_], trail));
          restart(i);
        } else if (trail.length > patience) {
          restart(i);
        }
      }
      return {};
    }

   private:
    void restart(std::size_t i) {
      trails_[i] = {random_.next(), 0};
      std::fill_n(x_.begin() + static_cast<std::ptrdiff_t>(i * words_), words_, 0);
      x_[i * words_] = trails_[i].start;
    }
    const DistinguishedPointsSearch& search_;
    Random random_;
    std::size_t words_;
    std::vector<std::uint64_t> x_, next_;
    std::vector<Trail> trails_;
  };

  Result<void> work_on_processor() {
    std::optional<Error> first_error;
    parallel_for(worker_count(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t worker = begin; worker < end; ++worker)
        if (auto result = work(static_cast<std::uint64_t>(worker)); !result) {
          const std::lock_guard lock(guard_);
          first_error = result.error();
          done_ = true;
        }
    });
    if (first_error) return *first_error;
    return {};
  }
  Result<void> work(std::uint64_t worker) {
    Walkers walkers(*this, Random(options_.seed, (worker + 1) + (resumed_from_ << 16)));
    // A walk takes 2^zeros steps on average; the clock is asked every few of them.
    while (!done_) {
      for (int step = 0; step < 64 && !done_; ++step) {
        evaluations_ += kDistinguishedPointsBatch;
        RUNG_CHECK(walkers.step([&](std::uint64_t end, const Trail& trail) { return meet(end, trail); }));
      }
      RUNG_CHECK(look_up());
    }
    return {};
  }
  // The walks of the device; the ends that it reached are looked up while it walks on.
  Result<void> work_on_device() {
    RUNG_TRY(auto walks, device_walks(0, resumed_from_));
    while (!done_) {
      RUNG_TRY(const auto batch, walks.advance());
      evaluations_ += batch.evaluations;
      for (const auto& end : batch.ends) {
        if (done_) break;
        RUNG_CHECK(meet(end.end, {end.start, end.length}));
      }
      RUNG_CHECK(look_up());
    }
    return {};
  }
  // Starts that no other rank and no earlier run has: by rank, and by how far the search was when it was resumed.
  Result<DeviceWalks> device_walks(std::uint64_t rank, std::uint64_t resumed_from) {
    RUNG_TRY(const auto evaluation, device_->evaluation(walk_, kernel_->key_is_injective(walk_.depth)));
    return DeviceWalks::start(evaluation, zeros_, kPatience << zeros_,
                              spread(spread(options_.seed + rank * kGoldenGamma) + resumed_from));
  }
  // From the walks: what others found, how far it is, whether it is over, and whether it is time to save.
  Result<void> look_up() {
    RUNG_CHECK(take_slices());
    const double expected =
        std::sqrt(1.57) *
        std::exp2(static_cast<double>(std::min<std::int64_t>(kernel_->bits(walk_.depth), 128)) / 2);
    clock_.report({evaluations_, expected, table_size_ * kDistinguishedPointsEntryBytes,
                   fmt::format("{} end points", table_size_.load())});
    if (clock_.over()) done_ = true;
    return save_now_and_then();
  }

  // What other ranks walked since the last look: a number of evaluations, then ends and trails.
  Result<void> take_slices() {
    const std::unique_lock lock(taking_, std::try_to_lock);
    if (!slices_ || !lock) return {};
    // A look takes in what was there when it began: others may walk faster than this rank can look up.
    for (std::size_t left = slices_->open(); left > 0 && !done_ && !clock_.over(); --left) {
      const auto event = slices_->collect(0);
      if (!event) break;
      slices_->post(std::to_string(resumed_from_));
      CheckpointReader reader(event->text);
      std::uint64_t evaluations = 0, end = 0;
      Trail trail;
      reader.take(evaluations);
      evaluations_ += evaluations;
      while (!done_ && reader.take(end) && reader.take(trail.start) && reader.take(trail.length))
        RUNG_CHECK(meet(end, trail));
    }
    return {};
  }

  // On the other ranks: slices of walking, each a number of evaluations, then ends and trails.
  Result<AttackOutcome> help() {
    QueueWorker worker(*options_.ranks, options_.queue + kWalks);
    const auto rank = static_cast<std::uint64_t>(options_.ranks->rank());
    std::vector<Walkers> hands;  // a thread each
    std::optional<DeviceWalks> walks;
    while (const auto slice = worker.draw()) {
      const std::uint64_t resumed_from = std::stoull(slice->order);
      const double until = clock_.seconds() + kSliceSeconds;
      std::atomic<std::uint64_t> evaluations{0};
      std::vector<CheckpointWriter> ends;
      const auto hand_in = [](CheckpointWriter& to, std::uint64_t end, const Trail& trail) {
        to.put(end), to.put(trail.start), to.put(trail.length);
      };
      if (device_) {
        if (!walks) {
          RUNG_TRY(walks, device_walks(rank, resumed_from));
        }
        ends.resize(1);
        while (clock_.seconds() < until && ends[0].bytes().size() < kSliceBytes && !worker.closed()) {
          RUNG_TRY(const auto batch, walks->advance());
          evaluations += batch.evaluations;
          for (const auto& end : batch.ends) hand_in(ends[0], end.end, {end.start, end.length});
        }
      } else {
        // Starts that no other rank and no earlier run has, as on a device.
        for (const auto count = static_cast<std::size_t>(worker_count()); hands.size() < count;)
          hands.emplace_back(*this, Random(spread(options_.seed + rank * kGoldenGamma),
                                           (hands.size() + 1) + (resumed_from << 16)));
        ends.resize(hands.size());
        parallel_for(static_cast<std::int64_t>(hands.size()), 1, [&](std::int64_t begin, std::int64_t) {
          const auto hand = static_cast<std::size_t>(begin);
          for (; clock_.seconds() < until && ends[hand].bytes().size() < kSliceBytes && !worker.closed();
               evaluations += kDistinguishedPointsBatch) {
            const auto walked = hands[hand].step([&](std::uint64_t end, const Trail& trail) -> Result<void> {
              hand_in(ends[hand], end, trail);
              return {};
            });
            RUNG_REQUIRE(walked.ok(), "a step on {}", kernel_->name());
          }
        });
      }
      CheckpointWriter whole;
      whole.put(evaluations);
      std::string text = whole.bytes();
      for (const CheckpointWriter& part : ends) text += part.bytes();
      worker.hand_in(*slice, std::move(text));
    }
    return AttackOutcome{.method = "distinguished-points"};
  }

  // A walk ended: another one may have ended here before.
  Result<void> meet(std::uint64_t end, const Trail& trail) {
    Trail other;
    {
      const std::lock_guard lock(guard_);
      const auto [place, fresh] = table_.try_emplace(end, trail);
      if (fresh && table_.size() * kDistinguishedPointsEntryBytes > options_.memory_bytes)
        table_.erase(place);  // full: old end points still catch new walks
      table_size_ = table_.size();
      if (fresh || place->second.start == trail.start || done_) return {};
      other = place->second;
    }
    WalkCode a{trail.start}, b{other.start};
    std::uint64_t left = trail.length, right = other.length;
    for (; left > right; --left) a = step(a);
    for (; right > left; --right) b = step(b);
    if (a == b) return {};  // one start lies on the other's walk
    for (WalkCode next_a = step(a), next_b = step(b); next_a != next_b; next_a = step(a), next_b = step(b)) {
      if (--left == 0) return {};  // ends alike in their first word alone
      a = next_a;
      b = next_b;
    }
    std::vector<std::uint16_t> one(static_cast<std::size_t>(walk_.length)), two(one.size());
    kernel_->draw(walk_, a.data(), one.data());
    kernel_->draw(walk_, b.data(), two.data());
    if (one == two) return {};  // the same choices, drawn from two numbers
    const std::uint64_t spent = evaluations_;
    RUNG_TRY(auto certificate,
             certify_beginnings(target_, kernel_->space().prefix(one), kernel_->space().prefix(two)));
    if (!certificate) return {};  // equal keys of different states (more than 64 bits), or an equivalent pair
    const std::lock_guard lock(guard_);
    if (!certificate_) {
      certificate_ = std::move(certificate);
      first_collision_ = spent;
    }
    done_ = true;
    return {};
  }
  WalkCode step(const WalkCode& x) const {
    WalkCode next{};
    kernel_->keys(walk_, x.data(), 1, next.data());
    return next;
  }

  Result<void> resume() {
    if (options_.checkpoint.empty()) return {};
    RUNG_TRY(const auto bytes, load_checkpoint(options_.checkpoint, fingerprint_));
    if (!bytes) return {};
    CheckpointReader reader(*bytes);
    std::uint64_t evaluations = 0, end = 0;
    Trail trail;
    if (!reader.take(evaluations))
      return fail(ErrorCode::format, "[break] the checkpoint {} is cut short", options_.checkpoint);
    while (!reader.done()) {
      if (!reader.take(end) || !reader.take(trail.start) || !reader.take(trail.length))
        return fail(ErrorCode::format, "[break] the checkpoint {} is cut short", options_.checkpoint);
      // A pair that meets is walked again, step by step.
      if (trail.length < 1 || trail.length > kPatience << zeros_)
        return fail(ErrorCode::format, "[break] the checkpoint {} has a walk of {} steps; 1 to {} expected",
                    options_.checkpoint, trail.length, kPatience << zeros_);
      table_.emplace(end, trail);
    }
    evaluations_ = resumed_from_ = evaluations;
    table_size_ = table_.size();
    return {};
  }
  Result<void> save_now_and_then() {
    if (options_.checkpoint.empty() || clock_.seconds() < save_at_) return {};
    const std::unique_lock lock(saving_, std::try_to_lock);  // one worker saves, the others go on
    if (!lock || clock_.seconds() < save_at_) return {};
    const double begun = clock_.seconds();
    auto saved = save();
    save_at_ = clock_.seconds() + std::max(kSecondsBetweenSaves, kShareOfSaving * (clock_.seconds() - begun));
    return saved;
  }
  Result<void> save() {
    if (options_.checkpoint.empty()) return {};
    CheckpointWriter writer;
    {
      const std::lock_guard lock(guard_);
      writer.put(evaluations_);
      for (const auto& [end, trail] : table_) {
        writer.put(end);
        writer.put(trail.start);
        writer.put(trail.length);
      }
    }
    return save_checkpoint(options_.checkpoint, fingerprint_, writer.bytes());
  }

  const Target& target_;
  const SearchOptions& options_;
  SearchClock clock_;
  std::unique_ptr<StateKernel> kernel_;
  std::unique_ptr<DeviceProgram> device_;  // null: walks are the processor's
  Walk walk_;
  int zeros_ = 0;
  std::string fingerprint_;
  std::atomic<std::uint64_t> evaluations_{0}, table_size_{0};
  std::atomic<bool> done_{false};
  std::atomic<double> save_at_{kSecondsBetweenSaves};
  std::mutex guard_, saving_, taking_;
  std::optional<TaskQueue> slices_;  // of other ranks
  std::unordered_map<std::uint64_t, Trail> table_;
  std::optional<Certificate> certificate_;
  std::uint64_t first_collision_ = 0, resumed_from_ = 0;
};

Fitness distinguished_points_fitness(const Target& target) {
  if (const auto reason = not_purely_recurrent(target)) return {false, *reason, 0};
  const double bits = static_cast<double>(target.nominal_bits);
  return {true, fmt::format("a recurrent state of {}, as a black box", counted(target.nominal_bits, "bit")),
          bits / 2};
}

Result<AttackOutcome> run_distinguished_points(const Target& target, const SearchOptions& options) {
  RUNG_TRY(auto kernel, make_state_kernel(target, *beginnings(*target.task, kDistinguishedPointsMostRows)));
  RUNG_TRY(auto device, program_for(*kernel, options));
  return DistinguishedPointsSearch(target, options, std::move(kernel), std::move(device)).run();
}

}  // namespace

std::optional<std::string> not_purely_recurrent(const Target& target) {
  if (auto reason = unbounded_state(target)) return reason;
  for (const auto& layer : target.layers)  // their states depend on where the cut falls: big-bucket, states
    if (layer.mixer.kind == MixerKind::loglinear || layer.mixer.kind == MixerKind::heads)
      return fmt::format("a layer is {}; another method takes it", mixer_descriptor(layer.mixer.kind).name);
  if (!beginnings(*target.task, 2))
    return fmt::format("{} has no family of beginnings that must be kept apart", target.task->name());
  return std::nullopt;
}

AttackMethod distinguished_points_method() {
  return {"distinguished-points",
          "two beginnings with the same state, by walks to distinguished points",
          &distinguished_points_fitness,
          &run_distinguished_points,
          /*seeks_collision=*/true,
          /*spreads=*/true,
          /*on_device=*/true};
}

}  // namespace rung
