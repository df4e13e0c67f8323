#include "rung/serve/response_cache.h"

namespace rung::serve {

ResponseCache::Text ResponseCache::find(std::string_view key) {
  const std::lock_guard lock(guard_);
  const auto place = places_.find(key);
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->text;
}

void ResponseCache::keep(const std::string& key, Text text) {
  const std::lock_guard lock(guard_);
  if (places_.contains(key) || key.size() + text->size() > limit_ / 4) return;
  entries_.push_front({key, std::move(text)});
  places_.emplace(entries_.front().key, entries_.begin());
  bytes_ += entries_.front().bytes();
  while (bytes_ > limit_) {
    bytes_ -= entries_.back().bytes();
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::size_t ResponseCache::bytes() const {
  const std::lock_guard lock(guard_);
  return bytes_;
}

std::size_t ResponseCache::size() const {
  const std::lock_guard lock(guard_);
  return entries_.size();
}

}  // namespace rung::serve
