#include "app/commands.h"

namespace mlxforge {

int run_serve(Options, Arguments) { fail("app", "serve waits for the engine"); }

}  // namespace mlxforge
