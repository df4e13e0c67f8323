#include "rung/base/staged_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

TEST_F(StagedFiles, make_the_folders_of_their_path) {
  const auto below = folder_ / "one" / "two" / "a.txt";
  auto file = StagedFile::open(below.string(), false);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("deep"));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::exists(below));
}

TEST_F(StagedFiles, report_a_folder_that_cannot_be_made) {
  std::ofstream(path()) << "a file";
  const auto file = StagedFile::open(path() + "/below.txt", false);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::io);
}

TEST_F(StagedFiles, refuse_a_folder_and_an_empty_path) {
  EXPECT_FALSE(StagedFile::open(folder_.string(), true));
  EXPECT_FALSE(StagedFile::open("", true));
  EXPECT_FALSE(StagedFile::check(folder_.string(), true));
}

TEST_F(StagedFiles, write_through_a_symbolic_link_and_leave_it) {
  const auto real = folder_ / "real.txt";
  std::ofstream(real) << "old";
  fs::create_symlink(real, path());
  EXPECT_FALSE(StagedFile::open(path(), false));
  auto file = StagedFile::open(path(), true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("new"));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files(), 2);
}

TEST_F(StagedFiles, refuse_a_symbolic_link_to_nothing) {
  fs::create_symlink(folder_ / "none", path());
  EXPECT_FALSE(StagedFile::open(path(), true));
  EXPECT_TRUE(fs::is_symlink(path()));
}

TEST_F(StagedFiles, write_to_a_device_without_replacing_it) {
  for (const bool replace : {false, true}) {
    ASSERT_TRUE(StagedFile::check("/dev/null", replace));
    auto file = StagedFile::open("/dev/null", replace);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("gone"));
    ASSERT_TRUE(file->commit());
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
  }
}

TEST_F(StagedFiles, report_a_device_that_is_full) {
  auto file = StagedFile::open("/dev/full", true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("too much"));
  EXPECT_FALSE(file->commit());
}

TEST_F(StagedFiles, write_to_a_fifo_without_replacing_it) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  ASSERT_TRUE(StagedFile::check(path(), false));  // waits for nobody
  const int reader = ::open(path().c_str(), O_RDONLY | O_NONBLOCK);
  auto file = StagedFile::open(path(), false);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("news"));
  ASSERT_TRUE(file->commit());
  char got[8] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 4);
  EXPECT_STREQ(got, "news");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(path()));
}

TEST_F(StagedFiles, leave_nothing_when_their_writer_is_killed) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto file = StagedFile::open(path(), false);
    if (!file || !file->write(std::string(1 << 20, 'x'))) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto next = StagedFile::open(path(), false);  // cleans up where the file system keeps names
  ASSERT_TRUE(next);
  ASSERT_TRUE(next->commit());
  EXPECT_EQ(files(), 1);
}

TEST_F(StagedFiles, remove_abandoned_parts_of_their_own_name_alone) {
  std::ofstream(path() + ".part-1-00000000") << "a killed writer's";
  std::ofstream((folder_ / "b.txt.part-1-00000000").string()) << "of another file";
  const std::string held = path() + ".part-2-00000000";
  const int living = ::open(held.c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(::flock(living, LOCK_EX), 0);
  ASSERT_TRUE(StagedFile::check(path(), false));
  EXPECT_FALSE(fs::exists(path() + ".part-1-00000000"));
  EXPECT_TRUE(fs::exists(folder_ / "b.txt.part-1-00000000"));
  EXPECT_TRUE(fs::exists(held));
  ::close(living);
}

TEST_F(StagedFiles, know_one_file_by_two_names) {
  const auto other = folder_ / "none" / ".." / "a.txt";
  EXPECT_TRUE(same_file(path(), other.string()));
  EXPECT_FALSE(same_file(path(), (folder_ / "b.txt").string()));
  std::ofstream(path()) << "x";
  fs::create_symlink(path(), folder_ / "link");
  fs::create_hard_link(path(), folder_ / "hard");
  EXPECT_TRUE(same_file(path(), (folder_ / "link").string()));
  EXPECT_TRUE(same_file(path(), (folder_ / "hard").string()));
}

}  // namespace
}  // namespace rung
