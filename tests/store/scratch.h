// A folder that goes away with the test, and the two back ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rung/store/sqlite.h"
#include "rung/store/store.h"

namespace rung {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rung-store.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_;
};

// Every test of this fixture runs on each back end that the build has.
class BothBackEnds : public testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return scratch.at("runs." + GetParam()); }
  std::unique_ptr<Store> open(Store::Access access = Store::Access::write) const {
    auto store = Store::open(path(), access);
    if (!store) ADD_FAILURE() << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  Scratch scratch;
};

inline std::vector<std::string> back_ends() {
  std::vector<std::string> names = {"jsonl"};
  if (!sqlite_version().empty()) names.push_back("sqlite");
  return names;
}

inline std::string back_end_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace rung
