// Answers that were given before, the least recently used forgotten first, bounded in bytes. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rung::serve {

class ResponseCache {
 public:
  using Text = std::shared_ptr<const std::string>;

  // Keys and texts together take at most `bytes`, bookkeeping aside; one that takes more than a quarter is
  // not kept.
  explicit ResponseCache(std::size_t bytes) : limit_(bytes) {}

  Text find(std::string_view key);  // null where it is not known
  void keep(const std::string& key, Text text);
  std::size_t bytes() const;
  std::size_t size() const;

 private:
  struct Entry {
    std::string key;
    Text text;
    std::size_t bytes() const { return key.size() + text->size(); }
  };
  mutable std::mutex guard_;
  const std::size_t limit_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;                                                 // the most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;  // keys live in entries_
};

}  // namespace rung::serve
