#include "app/model_path.h"

#include <vector>

#include "base/check.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

namespace mlxforge {
namespace fs = std::filesystem;
namespace {

fs::path default_model(const fs::path& executable) {
  const fs::path folder = executable.parent_path().parent_path() / "models";
  std::vector<fs::path> models;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.path().extension() == ".gguf") models.push_back(entry.path());
  if (models.size() != 1)
    fail("app", "expected one default model in ", folder.string(), ", got ", models.size(),
         "; run `make setup`, or give MODEL: a folder or a .gguf file");
  return models[0];
}

}  // namespace

fs::path find_model(const std::string& model, const fs::path& executable) {
  return model.empty() ? default_model(executable) : fs::path(model);
}

fs::path this_executable() {
#ifdef __APPLE__
  char buffer[4096];
  uint32_t size = sizeof(buffer);
  if (_NSGetExecutablePath(buffer, &size) != 0)
    fail("app", "expected a shorter path to the executable");
  return fs::canonical(buffer);
#else
  return fs::canonical("/proc/self/exe");
#endif
}

}  // namespace mlxforge
