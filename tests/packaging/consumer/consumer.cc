// A stranger's program on the installed libraries.
#include <cstdio>

#include "rung/spec/random.h"
#include "rung/spec/result.h"

int main() {
  rung::Result<int> three(3);
  const rung::Error error = rung::fail(rung::ErrorCode::range, "[consumer] {} is not {}", *three, 4);
  std::puts(error.message.c_str());
  return error.message == "[consumer] 3 is not 4" ? 0 : 1;
}
