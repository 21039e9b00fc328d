#include "files/model_folder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "files/quote.h"
#include "files/safetensors.h"

namespace mlxforge {
namespace fs = std::filesystem;
namespace {

constexpr char kIndexName[] = "model.safetensors.index.json";

// tensor name -> the shard that the index says it is in
using WeightMap = std::map<std::string, std::string>;

std::string display_name(const fs::path& path) {
  fs::path full = fs::absolute(path).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();  // "dir/" normalises to itself
  const fs::path name = fs::is_directory(full) ? full.filename() : full.stem();
  return name.empty() ? "model" : name.string();
}

bool looks_like_hub_id(const std::string& text) {
  const auto slash = text.find('/');
  return slash != text.npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == text.npos && text[0] != '.' && text[0] != '~' &&
         !text.ends_with(".gguf");
}

[[noreturn]] void fail_missing(const fs::path& path) {
  const std::string text = path.string();
  if (looks_like_hub_id(text))
    fail("files", "expected a folder or a .gguf file, got ", quoted(text),
         ", which is not on this disk; hub ids are not supported yet: download the model and give "
         "its folder or .gguf file");
  fail("files", "expected a model folder or a .gguf file, but ", quoted(text), " does not exist");
}

// The folder's entries with this extension, hidden ones left out (macOS keeps "._x" beside x),
// sorted by name.
std::vector<fs::path> files_with_extension(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == extension && !it->path().filename().string().starts_with('.'))
      out.push_back(it->path());
  if (error) fail("files", "cannot list ", folder.string(), ": ", error.message());
  std::sort(out.begin(), out.end());
  return out;
}

Json read_object(const fs::path& path) {
  Json json = parse_json_file(path);
  if (!json.is_object()) fail("files", path.string(), ": expected a JSON object");
  return json;
}

// Whatever is there counts, a dangling link or an unreadable file too: opening it gives the error.
bool is_present(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

Json read_object_if_present(const fs::path& path) {
  return is_present(path) ? read_object(path) : Json();
}

void check_shard_name(const std::string& shard, const fs::path& index) {
  if (shard.empty() || shard == "." || shard == ".." ||
      shard.find_first_of(std::string_view("/\\\0", 3)) != shard.npos)
    fail("files", index.string(), ": expected plain file names in weight_map, got ", quoted(shard));
}

WeightMap read_index(const fs::path& index) {
  const Json json = read_object(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty())
    fail("files", index.string(), ": expected an object weight_map that names at least one tensor");
  WeightMap out;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string())
      fail("files", index.string(), ": expected a file name for tensor ", quoted(tensor));
    check_shard_name(shard.get_ref<const std::string&>(), index);
    out.emplace(tensor, shard.get<std::string>());
  }
  return out;
}

void add_safetensors(WeightFiles& weights, const fs::path& path) {
  MappedFile file(path);
  auto tensors = parse_safetensors(file.bytes(), path.string());
  weights.add(std::move(file), std::move(tensors));
}

WeightFiles open_shards(const fs::path& folder) {
  const fs::path index = folder / kIndexName;
  const WeightMap map = read_index(index);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map) shards.insert(shard);
  WeightFiles weights;
  for (const std::string& shard : shards) {
    if (!is_present(folder / shard))
      fail("files", index.string(), " names ", quoted(shard),
           ", which is not in the folder; download it");
    add_safetensors(weights, folder / shard);
  }
  for (const auto& [tensor, shard] : map) {
    const TensorView* view = weights.find(tensor);
    if (!view || weights.file_of(*view).path().filename() != shard)
      fail("files", index.string(), ": tensor ", quoted(tensor), " is not in ", quoted(shard));
  }
  return weights;
}

WeightFiles open_safetensors(const fs::path& folder) {
  if (is_present(folder / kIndexName)) return open_shards(folder);
  WeightFiles weights;
  const fs::path single = folder / "model.safetensors";
  const auto files =
      is_present(single) ? std::vector{single} : files_with_extension(folder, ".safetensors");
  for (const fs::path& file : files) add_safetensors(weights, file);
  return weights;
}

void read_documents(ModelFiles& model, const fs::path& folder) {
  if (!is_present(folder / "config.json"))
    fail("files", folder.string(), ": expected config.json beside the safetensors, got none");
  model.config = read_object(folder / "config.json");
  model.generation_config = read_object_if_present(folder / "generation_config.json");
  model.tokenizer_config = read_object_if_present(folder / "tokenizer_config.json");
  model.special_tokens_map = read_object_if_present(folder / "special_tokens_map.json");
  if (is_present(folder / "tokenizer.json")) model.tokenizer_json = folder / "tokenizer.json";
  if (is_present(folder / "chat_template.jinja"))
    model.chat_template = MappedFile(folder / "chat_template.jinja").text();
}

void open_gguf(ModelFiles& model, const fs::path& path) {
  MappedFile file(path);
  Gguf gguf = parse_gguf(file.bytes(), path.string());
  if (gguf.metadata.get_or<uint32_t>("split.count", 1) > 1)
    fail("files", path.string(),
         ": expected a whole model, got one part of a split GGUF; merge the parts first");
  model.gguf = std::move(gguf.metadata);
  model.weights.add(std::move(file), std::move(gguf.tensors));
}

void open_folder(ModelFiles& model, const fs::path& folder) {
  if (!files_with_extension(folder, ".safetensors").empty() || is_present(folder / kIndexName)) {
    read_documents(model, folder);
    model.weights = open_safetensors(folder);
    return;
  }
  const auto ggufs = files_with_extension(folder, ".gguf");
  if (ggufs.empty())
    fail("files", folder.string(), ": expected *.safetensors or a .gguf file, got neither");
  if (ggufs.size() > 1)
    fail("files", folder.string(), ": expected one .gguf file, got ", ggufs.size(),
         "; give the path of one, such as ", ggufs[0].string());
  open_gguf(model, ggufs[0]);
}

}  // namespace

void WeightFiles::add(MappedFile file, std::vector<TensorView> tensors) {
  files_.push_back(std::move(file));
  const MappedFile& added = files_.back();
  for (TensorView& tensor : tensors) {
    check(added.contains(tensor.bytes), "tensor ", tensor.name, " is not in ",
          added.path().string());
    const Place place{tensors_.size(), files_.size() - 1};
    if (!by_name_.emplace(tensor.name, place).second)
      fail("files", "tensor ", quoted(tensor.name), " is in both ", file_of(tensor).path().string(),
           " and ", added.path().string());
    tensors_.push_back(std::move(tensor));
  }
}

const TensorView* WeightFiles::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second.tensor];
}

const TensorView& WeightFiles::at(std::string_view name) const {
  const TensorView* tensor = find(name);
  if (!tensor)
    fail("files", "expected a tensor ", quoted(name), ", got no such tensor in ",
         files_.empty() ? "no files" : files_[0].path().parent_path().string());
  return *tensor;
}

const MappedFile& WeightFiles::file_of(const TensorView& tensor) const {
  const auto it = by_name_.find(tensor.name);
  check(it != by_name_.end(), "tensor ", tensor.name, " is in none of the files");
  return files_[it->second.file];
}

uint64_t WeightFiles::total_bytes() const {
  uint64_t total = 0;
  for (const TensorView& tensor : tensors_) total += tensor.bytes.size();
  return total;
}

ModelFiles open_model(const fs::path& path) {
  std::error_code error;
  const auto type = fs::status(path, error).type();
  if (type == fs::file_type::not_found) fail_missing(path);
  if (error) fail("files", "cannot open ", path.string(), ": ", error.message());
  ModelFiles model;
  model.path = path;
  if (type == fs::file_type::directory)
    open_folder(model, path);
  else if (path.extension() == ".gguf")
    open_gguf(model, path);
  else
    fail("files", "expected a model folder or a .gguf file, got ", path.string());
  model.name = display_name(path);
  return model;
}

}  // namespace mlxforge
