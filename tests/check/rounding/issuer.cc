// issuer model KIND MODEL | issuer collision MODEL CERT | issuer fooling-pair MODEL CERT: what the exact
// machine that this program is linked with says. It is built twice, with the machine and with one whose
// halves are rounded away from zero (RUNG_WRONG_ROUNDING), and rung-check must tell the certificates of the
// two apart.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/check/brute_force.h"
#include "tests/check/model_bytes.h"

int main(int count, char** words) {
  using namespace rung;
  const std::string what = count > 1 ? words[1] : "";
  const auto eva = task_of("eva", {{"n", 4}}), seqcomp = task_of("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}});
  if (what == "model" && count == 4) {
    const bool collision = std::string(words[2]) == "collision";
    const Weights weights =
        collision ? random_model("gdelta(heads=1,dim=1,form=plain)", *eva, 4, 5, 11)
                  : random_model("full(heads=1,dim=2)+gdelta(heads=1,dim=1,form=plain)", *seqcomp, 3, 5, 11);
    std::ofstream(words[3], std::ios::binary) << model_bytes(weights);
    return 0;
  }
  if (count != 4) return 2;
  const auto weights = read_weights(words[2]);
  if (!weights) return std::fprintf(stderr, "%s\n", weights.error().message.c_str()), 2;
  Issued issued = what == "collision" ? brute_force_collision(what, *weights, *eva, 4, {})
                                      : fooling_pair(what, *weights, *seqcomp);
  // The file as it is on disk, not as this program would write it.
  const auto hash = file_sha256(words[2]);
  if (!hash || *hash != sha256(issued.model)) return std::fprintf(stderr, "another model file\n"), 2;
  std::ofstream(words[3]) << issued.certificate;
  return 0;
}
