// logits: teacher-forced logits at every position, through the same step as generation.
#include "app/commands.h"
#include "app/npy.h"
#include "app/session.h"

namespace mlxforge {

int run_logits(const Options& options, Arguments) {
  if (options.ids.empty() || options.out.empty())
    throw UsageError("logits needs --ids IDS.npy and --out LOGITS.npy");
  prepare_device(options);
  const std::unique_ptr<Session> session =
      load_session(options, [](const std::vector<StepEvent>&) {});
  const std::vector<int32_t> ids = read_ids(options.ids, session->vocab_size);
  NpyWriter writer(options.out, static_cast<int64_t>(ids.size()), session->vocab_size);
  session->worker->call([&](Engine& engine) {
    const auto scoring = engine.score(ids, options.engine.prefill_chunk);
    while (!scoring->done()) writer.append(scoring->next());
  });
  writer.finish();
  return 0;
}

}  // namespace mlxforge
