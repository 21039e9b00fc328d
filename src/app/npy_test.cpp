#include "app/npy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/check.h"

namespace mlxforge {
namespace {

namespace fs = std::filesystem;

// numpy is the oracle, in the environment that set-up prepared.
class Npy : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void numpy(const std::string& code) {
    const char* python = std::getenv("MLXFORGE_PYTHON");
    ASSERT_NE(python, nullptr) << "run through ctest";
    std::ofstream(folder_ / "code.py") << "import numpy as np\n" << code << "\n";
    const std::string command = str("cd ", folder_.string(), " && ", python, " code.py");
    ASSERT_EQ(std::system(command.c_str()), 0) << code;
  }
  std::vector<int32_t> ids(const char* file, int64_t vocab_size = 1000) {
    return read_ids(folder_ / file, vocab_size);
  }
  std::string refusal(const char* file) {
    try {
      ids(file);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }
  void write(const char* file, const std::string& bytes) {
    std::ofstream(folder_ / file, std::ios::binary) << bytes;
  }
  std::string read(const char* file) {
    std::ifstream in(folder_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const fs::path folder_ = fs::temp_directory_path() / "mlxforge_npy_test";
};

TEST_F(Npy, ReadsWhatNumpyWrites) {
  numpy(R"(
a = np.array([0, 5, 999])
np.save('i4', a.astype('<i4'))
np.save('i8', a.astype('<i8'))
np.save('row', a.astype('<i8')[None])
np.save('one', a[:1].astype('<i4'))
for v in [(1, 0), (2, 0), (3, 0)]:
    np.lib.format.write_array(open(f'v{v[0]}.npy', 'wb'), a.astype('<i4'), version=v))");
  const std::vector<int32_t> want = {0, 5, 999};
  for (const char* file : {"i4.npy", "i8.npy", "row.npy", "v1.npy", "v2.npy", "v3.npy"})
    EXPECT_EQ(ids(file), want) << file;
  EXPECT_EQ(ids("one.npy"), std::vector<int32_t>{0});
}

TEST_F(Npy, RefusesOtherArraysByName) {
  numpy(R"(
np.save('float', np.zeros(3))
np.save('u4', np.zeros(3, '<u4'))
np.save('big', np.zeros(3, '>i4'))
np.save('matrix', np.zeros((2, 3), '<i4'))
np.save('cube', np.zeros((1, 1, 3), '<i4'))
np.save('scalar', np.int32(3))
np.save('empty', np.zeros(0, '<i4'))
np.save('fortran', np.asfortranarray(np.zeros((1, 3), '<i4')))
np.save('high', np.array([1, 1000], '<i8'))
np.save('wraps', np.array([2**32 + 1], '<i8'))
np.save('low', np.array([-1], '<i4')))");
  const std::pair<const char*, const char*> cases[] = {
      {"float.npy", "<f8"},        {"u4.npy", "<u4"},
      {"big.npy", ">i4"},          {"matrix.npy", "(2, 3)"},
      {"cube.npy", "(1, 1, 3)"},   {"scalar.npy", "shape"},
      {"empty.npy", "none"},       {"high.npy", "got 1000 at position 1"},
      {"wraps.npy", "4294967297"}, {"low.npy", "got -1"},
      {"absent.npy", "absent.npy"}};
  for (const auto& [file, part] : cases)
    EXPECT_NE(refusal(file).find(part), std::string::npos) << file << ": " << refusal(file);
}

TEST_F(Npy, RefusesBrokenFiles) {
  numpy("np.save('good', np.arange(5, dtype='<i4'))");
  const std::string good = read("good.npy");
  for (size_t n = 1; n < good.size(); ++n) {
    write("cut.npy", good.substr(0, n));
    EXPECT_NE(refusal("cut.npy"), "accepted") << n;
  }
  write("long.npy", good + "x");
  EXPECT_NE(refusal("long.npy"), "accepted");
  write("length.npy", good.substr(0, 8) + "\xff\xff" + good.substr(10));
  EXPECT_NE(refusal("length.npy").find("end of the file"), std::string::npos);
  std::string version = good;
  version[6] = 4;
  write("version.npy", version);
  EXPECT_NE(refusal("version.npy").find("version"), std::string::npos);
}

TEST_F(Npy, NumpyReadsWhatWeWrite) {
  for (int rows : {1, 7}) {
    NpyWriter writer(folder_ / "out.npy", rows, 3);
    for (int row = 0; row < rows; ++row)
      writer.append(std::vector<float>{row + 0.5f, -1.0f, 1e30f * row});
    writer.finish();
    numpy(
        str("a = np.load('out.npy')\nassert a.dtype == np.float32 and a.shape == (", rows,
            ", 3), (a.dtype, a.shape)\n", "r = np.arange(", rows, ", dtype=np.float32)\n",
            "assert (a == np.stack([r + 0.5, -np.ones_like(r), np.float32(1e30) * r], 1)).all()"));
  }
}

TEST_F(Npy, AnUnfinishedFileIsRemoved) {
  {
    NpyWriter writer(folder_ / "half.npy", 2, 3);
  }
  EXPECT_FALSE(fs::exists(folder_ / "half.npy"));
  EXPECT_THROW(NpyWriter(folder_ / "no/such/folder.npy", 1, 1), Error);
}

}  // namespace
}  // namespace mlxforge
