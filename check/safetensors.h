// The container of docs/weights.md: 8 bytes of header length, a JSON header, the data. A claimed size is
// believed only after the file has been seen to hold it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "check/verdict.h"

namespace rung_check {

struct Tensor {
  std::string dtype;
  Row shape;
  std::int64_t count = 0;  // numbers
  const char* bytes = nullptr;
};

class TensorFile {
 public:
  explicit TensorFile(const std::string& bytes);  // keeps a reference
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  // The integers of a tensor, each at most 2^46 in absolute value. Marks it as read.
  Row integers(const std::string& name, const Row& shape, Budget& budget);
  // The numbers of a tensor as doubles, exactly. Malformed: infinities, integers beyond 2^46.
  std::vector<double> reals(const std::string& name, const Row& shape, Budget& budget);
  const Tensor& take(const std::string& name);
  // Malformed when some tensor has not been read.
  void all_taken() const;

 private:
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> taken_;
};

// Where one part of the network finds its tensors: names below a prefix, with the defaults of the page.
struct Source {
  TensorFile& file;
  std::string prefix;
  std::int64_t precision;  // p: the default of every width
  Budget& budget;

  Source under(const std::string& part) const { return {file, prefix + part + ".", precision, budget}; }
  bool has(const std::string& name) const { return file.has(prefix + name); }
  Row numbers(const std::string& name, const Row& shape) const {
    return file.integers(prefix + name, shape, budget);
  }
  std::int64_t scalar(const std::string& name, std::int64_t otherwise, std::int64_t low,
                      std::int64_t high) const;
  std::int64_t shift(const std::string& name) const { return scalar(name + ".shift", 0, -40, 100); }
  std::int64_t bits(const std::string& name) const { return scalar(name + ".bits", precision, 1, 48); }
  std::int64_t fraction(const std::string& name, std::int64_t high) const { return scalar(name, 0, 0, high); }
};

}  // namespace rung_check
