// Results of the literature without a constant: listed and quoted in the table of results, never evaluated at
// a size. Where a cut argument gives an explicit count, that count is a theorem of its own
// (recurrent_literature.cc, full_alone.cc).
#include "rung/theory/theorem_groups.h"

namespace rung {

std::vector<Theorem> cited_theorems() {
  constexpr auto file = "rung/theory/cited.cc", test = "tests/theory/theorem_list_test.cc";
  constexpr auto cpw = "Chen, Peng, Wu 2412.02975", sht = "Sanford, Hsu, Telgarsky 2306.02896",
                 bhbk = "Bhattamishra et al. 2406.09347", wdl = "Wen, Dang, Lyu 2402.18510";
  using enum Source;
  using enum Status;
  return {
      {.id = "cited-composition",
       .title = "Depth separation for composition",
       .statement = "An L-layer decoder with H d p <= n^(2^(-4L)) does not solve L-SeqComp.",
       .source = literature,
       .reference = cpw,
       .status = proved,
       .file = file,
       .test = test},
      {.id = "cited-three-sum",
       .title = "3-Sum and one attention layer",
       .statement = "One attention layer on N inputs needs H m p = Ω(N / log log N) for 3-Sum.",
       .source = literature,
       .reference = sht,
       .status = proved,
       .file = file,
       .test = test},
      {.id = "three-sum-layers",
       .title = "3-Sum and several attention layers",
       .statement =
           "Several full layers of small size do not solve 3-Sum either. One layer: full-alone-three-sum.",
       .source = literature,
       .reference = "Sanford, Hsu, Telgarsky 2306.02896; no bound known",
       .status = conjecture,
       .file = file,
       .test = test},
      {.id = "cited-sparse-average",
       .title = "q-sparse averages",
       .statement = "One attention layer needs and has enough with width about q (O(q log N)); recurrent "
                    "networks need Ω(N) bits.",
       .source = literature,
       .reference = sht,
       .status = proved,
       .file = file,
       .test = test},
      {.id = "cited-one-layer",
       .title = "One attention layer",
       .statement = "Dyck-(2,2), equality and disjointness need linear size in one attention layer.",
       .source = literature,
       .reference = bhbk,
       .status = proved,
       .file = file,
       .test = test},
      {.id = "cited-recurrent",
       .title = "Recurrent networks",
       .statement = "Equality, disjointness and nearest neighbour need linear state.",
       .source = literature,
       .reference = bhbk,
       .status = proved,
       .file = file,
       .test = test},
      {.id = "cited-thought",
       .title = "Recurrent networks with chain of thought",
       .statement = "o(n) state bits fail at associative recall, Index and IsTree, and at c-gram retrieval "
                    "and counting over an alphabet of n symbols, with any chain of thought. (Over a fixed "
                    "alphabet c-gram retrieval and counting need O(1) and O(log n) bits.)",
       .source = literature,
       .reference = wdl,
       .status = proved,
       .file = file,
       .test = test},
      {.id = "cited-retrieval",
       .title = "A recurrent network with retrieval or one full layer",
       .statement =
           "Given a chain of thought as long as the computation, and either a retrieval step that finds "
           "places of the context or one full layer, a recurrent network of O(log n) bits simulates "
           "polynomial time.",
       .source = literature,
       .reference = wdl,
       .status = conditional,
       .file = file,
       .test = test},
      {.id = "sparse-as-full",
       .title = "Sparse layers count as full ones",
       .statement = "A sender's message per receiving token is its compression sums and its k best blocks: "
                    "M_part becomes (k+1) M_part + k p; a "
                    "block across a cut adds its content to the state.",
       .source = ours,
       .reference = "straddling blocks not worked out cut by cut",
       .status = sketch,
       .file = "rung/theory/word.cc",
       .test = "tests/theory/pattern_test.cc"},
      {.id = "two-sparse-layers",
       .title = "Two sparse layers may escape the one-layer bound",
       .statement =
           "Tokens of later blocks can re-hash earlier ones (k B² >= n, random data, padding), so that two "
           "sparse layers solve 2-Sum-last below the bound of one; the worst case is open both ways.",
       .source = ours,
       .reference = "open problem of the paper; neither a bound nor a construction",
       .status = conjecture,
       .file = file,
       .test = test},
  };
}

}  // namespace rung
