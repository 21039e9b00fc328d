#include "app/model_path.h"

#include "base/check.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

namespace mlxforge {
namespace fs = std::filesystem;
namespace {

fs::path default_model(const fs::path& executable) {
  const fs::path folder = executable.parent_path().parent_path() / "models";
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.path().extension() == ".gguf") return entry.path();
  fail("app", "expected the default model in ", folder.string(),
       ", got none; run `make setup`, or give MODEL: a folder or a .gguf file");
}

// org/name, the way model hubs write it; not a path that someone mistyped.
bool is_hub_id(const std::string& model) {
  return std::count(model.begin(), model.end(), '/') == 1 && model.front() != '/' &&
         model.front() != '.' && model.front() != '~' && model.back() != '/' &&
         !model.ends_with(".gguf");
}

}  // namespace

fs::path find_model(const std::string& model, const fs::path& executable) {
  if (model.empty()) return default_model(executable);
  std::error_code missing;
  if (fs::exists(model, missing)) return model;
  if (is_hub_id(model))
    fail("app", "expected MODEL to be a folder or a .gguf file, got the hub id ", model,
         "; mlxforge downloads nothing: fetch the model with the hub's own tool and give its "
         "folder");
  fail("app", "expected MODEL to be a folder or a .gguf file, got ", model,
       ", which does not exist");
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
