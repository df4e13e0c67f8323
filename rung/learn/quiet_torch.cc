#include "rung/learn/quiet_torch.h"

#include <c10/util/Exception.h>

#include "rung/learn/torch.h"

namespace rung::learn {
namespace {

class NoWarnings : public c10::WarningHandler {
 public:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning&) override {}
#else
  void process(const c10::SourceLocation&, const std::string&, bool) override {}
#endif
};

}  // namespace

void quiet_torch() {
  static NoWarnings handler;
#if TORCH_VERSION_MAJOR >= 2
  c10::WarningUtils::set_warning_handler(&handler);
#else
  c10::Warning::set_warning_handler(&handler);
#endif
}

std::map<std::string, std::string> torch_libraries() { return {{"libtorch", TORCH_VERSION}}; }

}  // namespace rung::learn
