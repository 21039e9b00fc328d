// One answer of the model, for commands that talk to it alone.
#pragma once

#include <functional>
#include <string>

#include "app/session.h"
#include "text/detokenizer.h"

namespace mlxforge {

// The request's sampling from the options; where they sample without a seed, a random one is taken
// and logged.
SamplingParams sampling_params(const SamplingOptions& options);

// Submits the request and hands each step's event to `take` until the last, which has a finish
// reason; take returns false to cancel. Returns the last event. Throws Error when the request is
// refused or fails.
StepEvent run_request(EngineService& engine, StepQueue& queue, Request request,
                      const std::function<bool(const StepEvent&)>& take);

// The text that the event's tokens complete; with the last event, all that is left.
std::string text_of(const StepEvent& event, Detokenizer& detokenizer);

}  // namespace mlxforge
