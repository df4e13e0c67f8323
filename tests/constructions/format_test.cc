// The same weights in the float formats of hardware: mode Q.
#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

std::optional<std::int64_t> reach(const std::string& line, const std::string& size, std::int64_t to,
                                  NumberFormat format) {
  const auto found = search_format(request_of_line(line), {.budget = 5000, .samples = 20}, size, 2, to,
                                   Precision{format, 16, 0});
  EXPECT_TRUE(found) << found.error().message;
  return found->works_up_to;
}

TEST(FloatFormats, are_enough_for_lookups_and_what_stands_on_them) {
  for (const auto format :
       {NumberFormat::bf16, NumberFormat::fp16, NumberFormat::fp8_e4m3, NumberFormat::fp8_e5m2}) {
    EXPECT_EQ(reach("eva", "n", 256, format), 256);
    EXPECT_EQ(reach("seqcomp --L 2 --n1 2", "m", 8, format), 8);
    EXPECT_EQ(reach("equality", "n", 16, format), 16);
  }
}

// A counter needs whole numbers to n: 8 bits of bf16 hold 256, 4 of e4m3 hold 16, 3 of e5m2 hold 8.
TEST(FloatFormats, end_where_a_counter_outgrows_their_significand) {
  EXPECT_EQ(reach("index", "n", 64, NumberFormat::bf16), 64);
  EXPECT_EQ(reach("index", "n", 64, NumberFormat::fp8_e4m3), 16);
  EXPECT_EQ(reach("index", "n", 64, NumberFormat::fp8_e5m2), 8);
}

// The blank of 2-Sum is driven into saturation, which a float without saturation has not.
TEST(FloatFormats, without_saturation_lose_the_blank) {
  EXPECT_EQ(reach("two-sum --by binary", "n", 16, NumberFormat::fp16), std::nullopt);
  EXPECT_EQ(reach("two-sum --by binary", "n", 16, NumberFormat::fp8_e4m3), 16);
}

}  // namespace
}  // namespace rung
