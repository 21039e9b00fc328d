#include "base/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace mlxforge {
namespace {

const OptionField& find(std::string_view name) {
  for (const OptionField& field : option_fields())
    if (field.name == name) return field;
  throw std::out_of_range(std::string(name));
}

Options with(std::string_view name, std::string_view text) {
  Options options;
  set_option(options, find(name), text, "test");
  return options;
}

void expect_refused(std::string_view name, std::string_view text) {
  try {
    with(name, text);
    FAIL() << name << " took " << text;
  } catch (const UsageError& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("test: expected "), std::string::npos) << message;
    EXPECT_NE(message.find(std::string(text)), std::string::npos) << message;
  }
}

TEST(Options, NamesAreUniqueAndEveryDefaultParsesToItself) {
  std::set<std::string_view> names;
  for (const OptionField& field : option_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.doc.empty()) << field.name;
    const std::string shown = field.show(Options{});
    if (shown.empty()) continue;
    Options options;
    set_option(options, field, shown, "test");
    EXPECT_EQ(field.show(options), shown) << field.name;
  }
}

TEST(Options, Numbers) {
  EXPECT_EQ(with("port", "0").serve.port, 0);
  EXPECT_EQ(with("port", "65535").serve.port, 65535);
  for (const char* bad : {"65536", "-1", "80x", "", " 80", "8e1", "99999999999999999999"})
    expect_refused("port", bad);
  expect_refused("prefill-chunk", "0");
  EXPECT_EQ(with("seed", "18446744073709551615").sampling.seed, UINT64_MAX);
  expect_refused("seed", "-1");
}

TEST(Options, Reals) {
  EXPECT_FLOAT_EQ(with("temperature", "1.5").sampling.temperature, 1.5f);
  EXPECT_FLOAT_EQ(with("top-p", "1").sampling.top_p, 1);
  for (const char* bad : {"-0.1", "1e999", "nan", "inf", "0x1", "1,5", ""})
    expect_refused("temperature", bad);
  expect_refused("top-p", "1.01");
}

TEST(Options, Bytes) {
  EXPECT_EQ(with("unix-socket-mode", "660").serve.unix_socket_mode, 0660);
  for (const char* bad : {"", "8", "1000", "-1", "rw"}) expect_refused("unix-socket-mode", bad);
  EXPECT_EQ(with("max-body-bytes", "8M").serve.http.max_body_bytes, 8 << 20);
  for (const char* bad : {"auto", "1023", "2GiB", "8 MiB", "-1", "1e4"})
    expect_refused("max-body-bytes", bad);
  EXPECT_EQ(with("kv-budget", "auto").engine.kv_budget, 0);
  EXPECT_EQ(with("kv-budget", "12345").engine.kv_budget, 12345);
  EXPECT_EQ(with("kv-budget", "512MiB").engine.kv_budget, 512ll << 20);
  EXPECT_EQ(with("kv-budget", "2G").engine.kv_budget, 2ll << 30);
  EXPECT_EQ(with("kv-budget", "1.5K").engine.kv_budget, 1536);
  EXPECT_EQ(with("kv-budget", "2GB").engine.kv_budget, 2'000'000'000);
  for (const char* bad : {"0", "-1", "G", "2X", "2Gi", "2 G", "1e30T", ""})
    expect_refused("kv-budget", bad);
}

TEST(Options, EmptyValuesAreRefused) {
  for (const OptionField& field : option_fields()) expect_refused(field.name, "");
}

TEST(Options, ChoicesListsAndSwitches) {
  EXPECT_EQ(with("device", "cuda").engine.device, Device::cuda);
  EXPECT_EQ(with("activations", "float").engine.activations, Activations::float32);
  EXPECT_EQ(with("kv-dtype", "bf16").engine.kv_dtype, KvDtype::bf16);
  EXPECT_EQ(with("against", "float").perplexity.against, Against::float32);
  expect_refused("device", "CPU");
  expect_refused("kv-dtype", "int8");
  EXPECT_EQ(with("alias", "a,b").serve.alias, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(with("batch", "1,8,64").bench.batch, (std::vector<int>{1, 8, 64}));
  EXPECT_THROW(with("batch", "1,x"), UsageError);
  EXPECT_TRUE(with("raw", "1").raw);
  EXPECT_FALSE(with("raw", "false").raw);
  expect_refused("raw", "yes");
}

TEST(Options, EnvironmentIsReadAndNamedInErrors) {
  setenv("MLXFORGE_MAX_CTX", "8192", 1);
  Options options;
  set_options_from_environment(options);
  EXPECT_EQ(options.engine.max_ctx, 8192);
  setenv("MLXFORGE_MAX_CTX", "many", 1);
  try {
    set_options_from_environment(options);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("MLXFORGE_MAX_CTX: expected a whole number"),
              std::string::npos);
  }
  unsetenv("MLXFORGE_MAX_CTX");
}

TEST(Options, EmptyVariablesCountAsNotSet) {
  for (const OptionField& field : option_fields()) setenv(field.environment().c_str(), "", 1);
  Options options;
  set_options_from_environment(options);
  for (const OptionField& field : option_fields()) {
    EXPECT_EQ(field.show(options), field.show(Options{})) << field.name;
    unsetenv(field.environment().c_str());
  }
}

TEST(Options, ScopesByCommand) {
  EXPECT_TRUE(find("threads").applies_to("bench"));
  EXPECT_TRUE(find("port").applies_to("serve"));
  EXPECT_FALSE(find("port").applies_to("generate"));
  EXPECT_TRUE(find("json").applies_to("bench"));
}

// ctest runs in the source folder, where MLXFORGE_RENEW=1 makes this test write the page.
// --gtest_filter=Options.Docs*
TEST(Options, DocsPageIsCurrent) {
  const char* path = "docs/options.md";
  if (std::getenv("MLXFORGE_RENEW") != nullptr) std::ofstream(path) << options_markdown();
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_EQ(page.str(), options_markdown()) << "MLXFORGE_RENEW=1 renews it";
}

}  // namespace
}  // namespace mlxforge
