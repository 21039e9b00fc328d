#include "app/commands.h"

namespace mlxforge {

int run_chat(Options, Arguments) { fail("app", "chat waits for the engine"); }

}  // namespace mlxforge
