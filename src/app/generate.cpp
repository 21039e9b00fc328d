#include "app/commands.h"

namespace mlxforge {

int run_generate(Options, Arguments) { fail("app", "generate waits for the engine"); }

}  // namespace mlxforge
