#include "server/http/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <fstream>

#include "base/check.h"

namespace mlxforge {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

std::array<unsigned char, SHA256_DIGEST_LENGTH> digest_of(std::string_view key) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> out;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), out.data());
  return out;
}

}  // namespace

void ApiKeys::add(std::string_view key, std::string_view name) {
  key = trimmed(key);
  if (key.empty()) throw Error("expected an API key, got nothing");
  Entry entry{.name = std::string(trimmed(name)),
              .digest = digest_of(key),
              .number = static_cast<uint32_t>(entries_.size() + 1)};
  if (entry.name.empty()) entry.name = str("key", entry.number);
  for (const Entry& other : entries_)
    if (other.name == entry.name || other.digest == entry.digest)
      throw Error(str("expected API keys with different names, got the name or the key of '",
                      other.name, "' twice"));
  entries_.push_back(std::move(entry));
}

void ApiKeys::add_file(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw Error(str("cannot read the API keys in ", file.string()));
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) try {
      const std::string_view line = trimmed(text);
      if (line.empty() || line.starts_with('#')) continue;
      const size_t colon = line.find(':');
      if (colon == line.npos)
        add(line);
      else
        add(line.substr(colon + 1), line.substr(0, colon));
    } catch (const Error& e) {
      throw Error(str(file.string(), ", line ", number, ": ", e.what()));
    }
}

const ApiKeys::Entry* ApiKeys::find(std::string_view key) const {
  const auto given = digest_of(key);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_)
    if (CRYPTO_memcmp(entry.digest.data(), given.data(), given.size()) == 0) found = &entry;
  return found;
}

}  // namespace mlxforge
