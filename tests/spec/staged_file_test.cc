#include "rung/spec/staged_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace rung {
namespace {

namespace fs = std::filesystem;

class StagedFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("staged_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return (folder_ / "a.txt").string(); }
  std::string content() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  long files() const { return std::distance(fs::directory_iterator(folder_), {}); }

  fs::path folder_;
};

TEST_F(StagedFiles, leave_nothing_behind_without_commit) {
  {
    auto file = StagedFile::open(path(), false);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
    EXPECT_FALSE(fs::exists(path()));
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(StagedFiles, appear_whole_on_commit) {
  auto file = StagedFile::open(path(), false);
  ASSERT_TRUE(file->write("one "));
  ASSERT_TRUE(file->write("two"));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(), "one two");
  EXPECT_EQ(files(), 1);
}

TEST_F(StagedFiles, do_not_replace_a_file_unless_told_to) {
  std::ofstream(path()) << "old";
  EXPECT_FALSE(StagedFile::open(path(), false));
  auto file = StagedFile::open(path(), true);
  ASSERT_TRUE(file->write("new"));
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(), "new");
}

TEST_F(StagedFiles, do_not_replace_a_file_that_came_in_between) {
  auto file = StagedFile::open(path(), false);
  std::ofstream(path()) << "somebody else's";
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(content(), "somebody else's");
}

TEST_F(StagedFiles, report_a_missing_folder) {
  const auto file = StagedFile::open((folder_ / "none" / "a.txt").string(), false);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace rung
