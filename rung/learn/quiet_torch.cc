#include "rung/learn/quiet_torch.h"

#include <c10/util/Exception.h>
#include <c10/util/Flags.h>
#include <c10/util/Logging.h>

#include <cstdlib>

#include "rung/learn/torch.h"

#if TORCH_VERSION_MAJOR >= 2
C10_DECLARE_int(caffe2_log_level);
#endif

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
  // A virtual machine may show AMX and trap on it; what a user sets stands.
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
  ::setenv("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
  static NoWarnings handler;
#if TORCH_VERSION_MAJOR >= 2
  c10::WarningUtils::set_warning_handler(&handler);
  // The handler is a thread's own; libtorch's threads log instead.
  FLAGS_caffe2_log_level = c10::GLOG_ERROR;
#else
  c10::Warning::set_warning_handler(&handler);
#endif
}

std::map<std::string, std::string> torch_libraries() { return {{"libtorch", TORCH_VERSION}}; }

}  // namespace rung::learn
