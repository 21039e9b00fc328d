#include "app/commands.h"

namespace mlxforge {

int run_logits(Options, Arguments) { fail("app", "logits waits for the engine"); }

}  // namespace mlxforge
