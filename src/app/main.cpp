#include "app/cli.h"
#include "app/console.h"

namespace mlxforge {
namespace {

int run(const std::vector<std::string>& words) {
  const auto parsed = parse_command_line(words);
  if (const auto* message = std::get_if<Message>(&parsed)) return print(message->text);
  const auto& call = std::get<Invocation>(parsed);
  log_to_stderr(call.options.log_level, call.options.log_format);
  return call.command->run(call.options, call.arguments);
}

}  // namespace
}  // namespace mlxforge

int main(int argc, char** argv) {
  using namespace mlxforge;
  try {
    return run({argv, argv + argc});
  } catch (const UsageError& e) {
    return report_error(e.what(), 2);
  } catch (const std::exception& e) {
    return report_error(e.what(), 1);
  } catch (...) {
    return report_error("an unknown exception; please report it", 1);
  }
}
