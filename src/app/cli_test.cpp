#include "app/cli.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mlxforge {
namespace {

Invocation parse(std::vector<std::string> words, const char* program = "mlxforge") {
  words.insert(words.begin(), program);
  return std::get<Invocation>(parse_command_line(words));
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(CommandLine, NoCommandServes) {
  EXPECT_EQ(parse({}).command->name, "serve");
  const Invocation call =
      parse({"DIR", "--port", "8081", "--max-ctx", "8192", "--max-waiting", "4"});
  EXPECT_EQ(call.command->name, "serve");
  EXPECT_EQ(call.options.model, "DIR");
  EXPECT_EQ(call.options.serve.port, 8081);
  EXPECT_EQ(call.options.engine.max_ctx, 8192);
  EXPECT_EQ(call.options.engine.max_waiting, 4);
  EXPECT_EQ(parse({"serve", "DIR"}).options.model, "DIR");
}

TEST(CommandLine, OlderNameGenerates) {
  const Invocation old = parse({"--model", "DIR", "a prompt"}, "/x/build/mlxforge-cli");
  EXPECT_EQ(old.command->name, "generate");
  EXPECT_EQ(old.options.model, "DIR");
  EXPECT_EQ(old.arguments, std::vector<std::string>{"a prompt"});
  const Invocation full = parse({"generate", "DIR", "a prompt", "64"}, "mlxforge-cli");
  EXPECT_EQ(full.arguments, (std::vector<std::string>{"a prompt", "64"}));
  EXPECT_EQ(parse({"dump-weights", "DIR"}, "mlxforge-cli").command->name, "dump-weights");
}

TEST(CommandLine, ModelIsTheFirstArgumentUnlessNamed) {
  EXPECT_EQ(parse({"generate", "hello"}).options.model, "");
  EXPECT_EQ(parse({"generate", "--model", "M", "hello", "9"}).arguments.size(), 2u);
  EXPECT_EQ(parse({"generate", "M", "--", "-5 + 3"}).arguments[0], "-5 + 3");
  EXPECT_NE(refusal({"generate", "/tmp"}), "accepted");  // a folder is no prompt
  EXPECT_NE(refusal({"generate"}), "accepted");
  EXPECT_NE(refusal({"serve", "a", "b"}), "accepted");
  EXPECT_NE(refusal({"serve", "--model", "a", "b"}), "accepted");
}

// Flag over environment over file, each named; and no key on the screen.
TEST(CommandLine, PrintsTheOptionsInEffectAndTheirSources) {
  const std::string file = testing::TempDir() + "mlxforge_config.json";
  std::ofstream(file) << R"({"port": 1, "host": "h", "max-ctx": 5})";
  setenv("MLXFORGE_HOST", "environment", 1);
  setenv("MLXFORGE_PORT", "2", 1);
  const auto parsed = parse_command_line({"mlxforge", "serve", "--config", file, "--port", "3",
                                          "--api-key", "sk-secret", "--print-config"});
  unsetenv("MLXFORGE_HOST");
  unsetenv("MLXFORGE_PORT");
  const std::string text = std::get<Message>(parsed).text;
  for (const std::string& line :
       {std::string("port = 3  # --port\n"), std::string("host = environment  # MLXFORGE_HOST\n"),
        "max-ctx = 5  # " + file + ", \"max-ctx\"\n", std::string("threads = 0  # default\n"),
        std::string("api-key = (hidden)  # --api-key\n")})
    EXPECT_NE(text.find("\n" + line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("sk-secret"), std::string::npos);
  EXPECT_EQ(text.find("top-k"), std::string::npos) << "another command's";
}

TEST(CommandLine, RefusesWhatACommandDoesNotTake) {
  EXPECT_NE(refusal({"generate", "hello", "--port", "1"}).find("--port"), std::string::npos);
  EXPECT_NE(refusal({"--nope"}).find("--nope"), std::string::npos);
  EXPECT_NE(refusal({"DIR", "serve"}).find("the command comes first"), std::string::npos);
  EXPECT_NE(refusal({"--port"}), "accepted");
  EXPECT_NE(refusal({"--port", ""}), "accepted");
}

TEST(CommandLine, ListsRepeatAndTheLastScalarWins) {
  EXPECT_EQ(parse({"--alias", "a", "--alias", "b,c"}).options.serve.alias,
            (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parse({"--port", "1", "--port", "2"}).options.serve.port, 2);
}

TEST(CommandLine, FlagOverEnvironmentOverConfigFile) {
  const auto file = std::filesystem::temp_directory_path() / "mlxforge_cli_test.json";
  std::ofstream(file)
      << R"({"port": 1, "threads": 1, "max-ctx": 1, "alias": ["a", "b"], "raw": true})";
  setenv("MLXFORGE_CONFIG", file.c_str(), 1);
  setenv("MLXFORGE_THREADS", "2", 1);
  setenv("MLXFORGE_MAX_CTX", "2", 1);
  const Options options = parse({"--max-ctx", "3"}).options;
  EXPECT_EQ(options.serve.port, 1);
  EXPECT_EQ(options.engine.threads, 2);
  EXPECT_EQ(options.engine.max_ctx, 3);
  EXPECT_EQ(options.serve.alias, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(options.raw);
  unsetenv("MLXFORGE_CONFIG");
  unsetenv("MLXFORGE_THREADS");
  unsetenv("MLXFORGE_MAX_CTX");

  for (const char* bad : {"{", "[1]", R"({"prot": 1})", R"({"port": null})", R"({"port": "x"})",
                          R"({"host": ""})", R"({"alias": []})", R"({"alias": [[1]]})"}) {
    std::ofstream(file) << bad;
    const std::string message = refusal({"--config", file.string()});
    EXPECT_NE(message.find(file.filename().string()), std::string::npos) << bad << ": " << message;
  }
  std::filesystem::remove(file);
  EXPECT_NE(refusal({"--config", file.string()}), "accepted");
}

TEST(CommandLine, HelpAndVersionComeAsText) {
  const auto text = [](std::vector<std::string> words) {
    return std::get<Message>(parse_command_line(words)).text;
  };
  for (const Command& command : commands()) {
    EXPECT_NE(text({"mlxforge", "--help"}).find(command.name), std::string::npos);
    const std::string help = text({"mlxforge", std::string(command.name), "-h"});
    EXPECT_NE(help.find(command.about), std::string::npos);
    for (const OptionField& field : option_fields())
      if (field.applies_to(command.name)) {
        EXPECT_NE(help.find(field.flag()), std::string::npos) << field.name;
      }
  }
  EXPECT_EQ(text({"mlxforge", "--version"}).substr(0, 9), "mlxforge ");
}

}  // namespace
}  // namespace mlxforge
