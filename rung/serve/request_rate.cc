#include "rung/serve/request_rate.h"

#include <algorithm>

namespace rung::serve {
namespace {

constexpr std::size_t kMostAddresses = 4096;

}  // namespace

bool RequestRate::admit(const std::string& address, Clock::time_point now) {
  const std::lock_guard lock(guard_);
  if (buckets_.size() >= kMostAddresses && !buckets_.contains(address)) buckets_.clear();
  const auto [place, fresh] = buckets_.try_emplace(address, Bucket{burst_, now});
  Bucket& bucket = place->second;
  if (!fresh) {
    const double seconds = std::max(0.0, std::chrono::duration<double>(now - bucket.at).count());
    bucket.left = std::min(burst_, bucket.left + seconds * per_second_);
    bucket.at = now;
  }
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

}  // namespace rung::serve
