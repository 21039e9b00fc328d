#include "app/commands.h"

namespace mlxforge {

int run_bench(Options, Arguments) { fail("app", "bench waits for the engine"); }

}  // namespace mlxforge
