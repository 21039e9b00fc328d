#include "app/embedding_config.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"

namespace mlxforge {
namespace {

struct KnownPooling {
  const char* mode;      // in 1_Pooling/config.json, set to true
  int64_t pooling_type;  // in a GGUF
  Pooling pooling;
};
constexpr KnownPooling kKnown[] = {{"pooling_mode_mean_tokens", 1, Pooling::mean},
                                   {"pooling_mode_cls_token", 2, Pooling::first},
                                   {"pooling_mode_lasttoken", 3, Pooling::last}};

// The modes that are on. Exactly one of the known ones can be done.
void read_pooling(const Json& config, EmbeddingModel& out) {
  std::vector<std::string> modes;
  for (const auto& [key, value] : config.items())
    if (key.starts_with("pooling_mode_") && value == true) modes.push_back(key);
  const auto known = std::ranges::find_if(
      kKnown, [&](const KnownPooling& k) { return modes == std::vector<std::string>{k.mode}; });
  if (known != std::end(kKnown)) out.pooling = known->pooling;
  if (known == std::end(kKnown))
    out.unusable = str(
        "this model pools in a way that is not supported: 1_Pooling/config.json has ",
        Json(modes).dump(), "; supported are pooling_mode_mean_tokens, _cls_token and _lasttoken");
}

// A dense layer behind the pooling would have to be computed too.
void read_modules(const Json& modules, EmbeddingModel& out) {
  if (!modules.is_array())
    fail("app", "expected a list in modules.json, got ", modules.type_name());
  for (const Json& module : modules) {
    const std::string type = module.is_object() ? module.value("type", "") : "";
    const bool known = type.ends_with(".Transformer") || type.ends_with(".Pooling") ||
                       type.ends_with(".Normalize");
    if (!known)
      out.unusable = str("modules.json has a module of type '", type, "', which is not supported");
  }
}

void read_gguf(const GgufMetadata& metadata, EmbeddingModel& out) {
  const auto architecture = metadata.get_or<std::string_view>("general.architecture", "");
  const std::string key = str(architecture, ".pooling_type");
  if (!metadata.has(key)) return;
  const auto type = metadata.get_or<int64_t>(key, -1);
  if (type == 0) return;  // none
  out.declared = true;
  const auto known = std::ranges::find(kKnown, type, &KnownPooling::pooling_type);
  if (known == std::end(kKnown))
    out.unusable = str("the GGUF's ", key, " ", type,
                       " is not supported: 1 (mean), 2 (first) or 3 "
                       "(last) is");
  else
    out.pooling = known->pooling;
}

}  // namespace

EmbeddingModel embedding_model(const ModelFiles& files, int d_model) {
  EmbeddingModel out{.dimensions = d_model};
  if (files.gguf) {
    read_gguf(*files.gguf, out);
    return out;
  }
  const auto pooling = files.path / "1_Pooling" / "config.json";
  const auto modules = files.path / "modules.json";
  out.declared = std::filesystem::exists(pooling);
  if (out.declared) read_pooling(parse_json_file(pooling), out);
  if (std::filesystem::exists(modules)) read_modules(parse_json_file(modules), out);
  return out;
}

}  // namespace mlxforge
