// The container against a hostile world: nothing that a file claims is believed before it is checked, and
// every refusal is one line.
#include "rung/spec/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rung {
namespace {

class Safetensors : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("rung-safetensors-{}", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "file.safetensors") const { return (folder_ / name).string(); }
  static std::string container(const std::string& header, const std::string& data) {
    const std::uint64_t size = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &size, 8);
    return bytes + header + data;
  }
  Result<TensorFile> read(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return read_safetensors(path());
  }
  // Refused with one line that names the operation and contains `word`.
  void refused(const std::string& bytes, const std::string& word = "") const {
    const auto file = read(bytes);
    ASSERT_FALSE(file) << bytes.substr(0, 200);
    const std::string& message = file.error().message;
    EXPECT_TRUE(message.starts_with("[safetensors] ")) << message;
    EXPECT_EQ(message.find_first_of("\n\r\t"), std::string::npos) << message;
    EXPECT_LT(message.size(), 1000u);
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
  void refused_header(const std::string& header, const std::string& word = "",
                      const std::string& data = "01234567") const {
    refused(container(header, data), word);
  }
  static std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  }

  std::filesystem::path folder_;
};

TEST_F(Safetensors, truncated_anywhere_it_is_refused) {
  TensorFile file;
  file.metadata["format"] = "x";
  file.tensors["a"] = integer_tensor({2, 3}, std::vector<std::int64_t>{1, -2, 3, 4, 5, 1000});
  const double reals[] = {1.5, -2};
  file.tensors["b"] = real_tensor({2}, reals, DType::f64);
  ASSERT_TRUE(write_safetensors(path("good"), file));
  std::ifstream in(path("good"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_TRUE(read(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) refused(bytes.substr(0, size));
  refused(bytes + "x", "belong to no tensor");
}

TEST_F(Safetensors, comes_back_as_it_was_written) {
  TensorFile file;
  file.metadata["note"] = "line\nbreak \" and \xc3\xa9";
  const std::vector<std::vector<std::int64_t>> rows{
      {0, 127, -128}, {128, 0, -129}, {1 << 20, 0, 1}, {std::int64_t{1} << 40, -1, 0}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    file.tensors["t" + std::to_string(i)] = integer_tensor({3}, rows[i]);
  const double reals[] = {0.1, -1e300, 0};
  file.tensors["real"] = real_tensor({3}, reals, DType::f64);
  file.tensors["scalar"] = integer_scalar(-7);
  file.tensors["empty"] = integer_tensor({0, 5}, {});
  ASSERT_TRUE(write_safetensors(path(), file));
  const auto again = read_safetensors(path());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->metadata, file.metadata);
  ASSERT_EQ(again->tensors.size(), file.tensors.size());
  const DType expected[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Tensor& tensor = again->tensors.at("t" + std::to_string(i));
    EXPECT_EQ(tensor.dtype, expected[i]);
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_EQ(tensor.integer(j), rows[i][static_cast<std::size_t>(j)]);
  }
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_EQ(again->tensors.at("real").real(j), reals[j]);
  EXPECT_EQ(again->tensors.at("scalar").integer(0), -7);
  EXPECT_EQ(again->tensors.at("empty").shape, (std::vector<std::int64_t>{0, 5}));
}

TEST_F(Safetensors, every_dtype_is_decoded) {
  // 16 bytes each, one tensor a file.
  const std::string data("\x01\x80\xff\x3f\x00\x00\x80\xbf\x00\x3c\x80\x3f\x00\x7c\x01\x00", 16);
  const auto tensor = [&](const std::string& dtype, int count) {
    auto file =
        read(container("{\"t\":" + entry(dtype, "[" + std::to_string(count) + "]", "[0,16]") + "}", data));
    EXPECT_TRUE(file) << file.error().message;
    return file->tensors.at("t");
  };
  EXPECT_EQ(tensor("U8", 16).integer(1), 128);
  EXPECT_EQ(tensor("I8", 16).integer(1), -128);
  EXPECT_EQ(tensor("I16", 8).integer(0), -32767);
  EXPECT_EQ(tensor("I32", 4).integer(1), -1082130432);  // 0xbf800000
  EXPECT_EQ(tensor("I64", 2).integer(1), 0x00017c003f803c00);
  EXPECT_EQ(tensor("F32", 4).real(1), -1.0);
  EXPECT_EQ(tensor("F16", 8).real(4), 1.0);                   // 0x3c00
  EXPECT_TRUE(std::isinf(tensor("F16", 8).real(6)));          // 0x7c00
  EXPECT_EQ(tensor("F16", 8).real(7), std::ldexp(1.0, -24));  // 0x0001, subnormal
  EXPECT_EQ(tensor("BF16", 8).real(5), 1.0);                  // 0x3f80
}

TEST_F(Safetensors, offsets_must_tile_the_data) {
  refused_header("{\"a\":" + entry("I8", "[4]", "[0,4]") + ",\"b\":" + entry("I8", "[4]", "[2,6]") + "}",
                 "overlap", "012345");
  refused_header("{\"a\":" + entry("I8", "[4]", "[0,4]") + ",\"b\":" + entry("I8", "[4]", "[0,4]") + "}",
                 "overlap", "0123");
  refused_header("{\"a\":" + entry("I8", "[2]", "[0,2]") + ",\"b\":" + entry("I8", "[2]", "[4,6]") + "}",
                 "hole", "012345");
  refused_header("{\"a\":" + entry("I8", "[4]", "[4,8]") + "}", "hole");
  refused_header("{\"a\":" + entry("I8", "[4]", "[0,4]") + "}", "no tensor");
  refused_header("{\"a\":" + entry("I8", "[8]", "[8,0]") + "}", "data_offsets");
  refused_header("{\"a\":" + entry("I8", "[16]", "[0,16]") + "}");
  refused_header("{\"a\":" + entry("I32", "[3]", "[0,8]") + "}", "data_offsets");
  refused_header("{\"a\":" + entry("I8", "[8]", "[0]") + "}");
  refused_header("{\"a\":" + entry("I8", "[8]", "[0,8,8]") + "}");
  refused_header("{\"a\":" + entry("I8", "[8]", "[-8,0]") + "}");
  refused_header("{\"a\":" + entry("I8", "[8]", "[0,8.0]") + "}");
  refused_header("{\"a\":" + entry("I8", "[8]", "[\"0\",\"8\"]") + "}");
  refused_header("{\"a\":" + entry("I8", "[8]", "[18446744073709551608,18446744073709551616]") + "}");
}

TEST_F(Safetensors, shapes_must_be_small_whole_numbers) {
  for (const char* shape :
       {"[-8]", "[8.0]", "[\"8\"]", "[null]", "[[8]]", "8", "null", "[1152921504606846976]",
        "[4294967296,4294967296]", "[0,1152921504606846976]", "[1152921504606846976,0]",
        "[18446744073709551615]", "[18446744073709551616]", "[1e3]", "[2,2,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"})
    refused_header(std::string("{\"a\":") + entry("I8", shape, "[0,8]") + "}");
  EXPECT_TRUE(read(container("{\"a\":" + entry("I8", "[2,2,2]", "[0,8]") + "}", "01234567")));
  EXPECT_TRUE(read(
      container("{\"a\":" + entry("I8", "[8]", "[0,8]") + ",\"none\":" + entry("I8", "[0]", "[8,8]") + "}",
                "01234567")));
}

TEST_F(Safetensors, dtypes_must_be_known) {
  for (const char* dtype : {"F8_E4M3", "U64", "i8", "", "C64"})
    refused_header(std::string("{\"a\":") + entry(dtype, "[8]", "[0,8]") + "}", "dtype");
  refused_header(R"({"a":{"dtype":8,"shape":[8],"data_offsets":[0,8]}})");
  refused_header(R"({"a":{"shape":[8],"data_offsets":[0,8]}})");
  refused_header(R"({"a":[1]})");
  refused_header(R"({"a":null})");
}

TEST_F(Safetensors, the_header_length_is_not_believed) {
  const std::string good = container("{\"a\":" + entry("I8", "[8]", "[0,8]") + "}", "01234567");
  ASSERT_TRUE(read(good));
  for (const std::uint64_t claim :
       {std::uint64_t{1} << 60, ~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1},
        std::uint64_t{good.size()}, std::uint64_t{good.size() - 7}, std::uint64_t{1} << 63,
        std::uint64_t{100'000'001}}) {
    std::string bytes = good;
    std::memcpy(bytes.data(), &claim, 8);
    refused(bytes);
  }
}

TEST_F(Safetensors, names_may_stand_once) {
  const std::string a = entry("I8", "[4]", "[0,4]"), b = entry("I8", "[4]", "[4,8]");
  refused_header("{\"a\":" + a + ",\"a\":" + b + "}", "duplicate");
  refused_header("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":" + entry("I8", "[8]", "[0,8]") + "}",
                 "duplicate");
  refused_header(R"({"a":{"dtype":"I8","shape":[8],"shape":[8],"data_offsets":[0,8]}})", "duplicate");
  refused_header("{\"a\\u0061\":" + a + ",\"aa\":" + b + "}", "duplicate");  // two spellings of one name
}

TEST_F(Safetensors, nesting_bombs_are_defused) {
  refused_header(std::string(1'000'000, '['));
  refused_header("{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}", "nested");
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  refused_header(objects + "1" + std::string(200'000, '}'), "nested");
  refused_header(objects);
}

TEST_F(Safetensors, metadata_hold_strings_alone) {
  const std::string tensor = ",\"a\":" + entry("I8", "[8]", "[0,8]") + "}";
  for (const char* metadata : {"[]", "\"text\"", "1", "null", "{\"k\":1}", "{\"k\":null}", "{\"k\":[\"v\"]}",
                               "{\"k\":{\"v\":\"w\"}}"})
    refused_header(std::string("{\"__metadata__\":") + metadata + tensor, "metadata");
  EXPECT_TRUE(read(container("{\"__metadata__\":{}" + tensor, "01234567")));
}

TEST_F(Safetensors, the_header_must_be_one_json_object) {
  for (const std::string header :
       {"", " ", "[]", "\"a\"", "1", "null", "{", "{}x", "{} {}", "{\"a\":NaN}", "{'a':1}", "{\"a\":1e999}",
        "\xff\xfe", "{\"\xff\":1}", "{\"a\":1,}", "{\"\\ud800\":1}"})
    refused_header(header);
  refused_header(std::string("{\"a\0b\":1}", 9));
  EXPECT_TRUE(read(container("{}", "")));
}

TEST_F(Safetensors, a_hostile_name_stays_on_one_short_line) {
  refused_header("{\"a\\nb\\u0007\":" + entry("X", "[8]", "[0,8]") + "}");
  refused_header("{\"" + std::string(100'000, 'n') + "\":" + entry("X", "[8]", "[0,8]") + "}");
  refused_header("{\"a\":" + entry(std::string(100'000, 'X'), "[8]", "[0,8]") + "}");
  refused_header("{\"a\":{},\"" + std::string(5'000, 'n') + "\":{}}");
  refused_header("{\"__metadata__\":{\"" + std::string(5'000, 'k') + "\":1}}");
  refused_header("{\"d\\n\":1,\"d\\n\":2}", "duplicate");
}

TEST_F(Safetensors, what_is_no_file_is_refused) {
  EXPECT_FALSE(read_safetensors(path("absent")));
  EXPECT_FALSE(read_safetensors(folder_.string()));
  EXPECT_FALSE(read_safetensors("/dev/null"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_safetensors(path("pipe")));  // and does not wait for a writer
  std::ofstream(path("empty"), std::ios::binary).flush();
  EXPECT_FALSE(read_safetensors(path("empty")));
}

TEST_F(Safetensors, a_failed_write_leaves_nothing) {
  TensorFile file;
  file.tensors["a"] = integer_scalar(1);
  EXPECT_FALSE(write_safetensors(folder_.string(), file));  // a folder stands there
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  ASSERT_TRUE(write_safetensors(path("here"), file));
  EXPECT_FALSE(write_safetensors(path("here/below"), file));  // a file stands in the way
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace rung
