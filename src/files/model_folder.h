// A model as it lies on disk: a folder of safetensors with its JSON files, or one .gguf file.
// open_model finds, maps and checks the files; it reads no weight and runs nothing (config.json's
// model_file and auto_map are plain, unused keys).
//
// Threads: const methods may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/gguf.h"
#include "files/json.h"
#include "files/mmap.h"
#include "files/tensor.h"

namespace mlxforge {

// The tensors of one or more mapped files, which it owns. Pointers and views stay valid from the
// last add until it dies, also when it is moved.
class WeightFiles {
 public:
  // Takes the tensors of `file`. Throws Error, naming both files, when one's name is already here.
  void add(MappedFile file, std::vector<TensorView> tensors);

  // File by file, in the order of their bytes.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;  // null when absent
  const TensorView& at(std::string_view name) const;    // Error naming the tensor when absent
  // The file that holds this tensor, which must be one of tensors().
  const MappedFile& file_of(const TensorView& tensor) const;
  uint64_t total_bytes() const;  // of all tensors

  // The caller has consumed this tensor: its pages leave our RSS (MappedFile::release).
  void release(const TensorView& tensor) const { file_of(tensor).release(tensor.bytes); }

 private:
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  struct Place {
    size_t tensor;
    size_t file;
  };
  std::map<std::string, Place, std::less<>> by_name_;
};

struct ModelFiles {
  std::string name;            // the folder's name, or the .gguf file's stem
  std::filesystem::path path;  // as given
  WeightFiles weights;

  // Of safetensors: the folder's JSON files, each an object, null when absent (never config).
  Json config;
  Json generation_config;
  Json tokenizer_config;
  Json special_tokens_map;
  std::filesystem::path tokenizer_json;      // empty when absent; large, so map it when needed
  std::optional<std::string> chat_template;  // the text of chat_template.jinja

  // Of a GGUF, and only there: views into weights' mapping.
  std::optional<GgufMetadata> gguf;

  bool has_tokenizer() const {
    return gguf ? gguf->has("tokenizer.ggml.model") : !tokenizer_json.empty();
  }
};

// `path` is one of these, and everything else an Error:
//   a folder with config.json and safetensors: the shards that model.safetensors.index.json names,
//     else model.safetensors alone, else every *.safetensors;
//   a .gguf file, or a folder with exactly one .gguf file and no safetensors.
ModelFiles open_model(const std::filesystem::path& path);

}  // namespace mlxforge
