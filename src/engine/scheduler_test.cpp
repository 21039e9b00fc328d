#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace mlxforge {
namespace {

constexpr SchedulerLimits kLimits{.max_batch = 4, .prefill_chunk = 64, .mixed_chunk = 16};

std::unique_ptr<Sequence> sequence(RequestId id, int n_prompt, int priority = 0) {
  auto seq = std::make_unique<Sequence>();
  seq->id = id;
  seq->request.prompt.assign(n_prompt, 1);
  seq->request.max_tokens = 1000;
  seq->request.priority = priority;
  seq->tokens = seq->request.prompt;
  return seq;
}

// As the engine would: tokens are computed, and a sampled row gains one.
void commit(const Batch& batch) {
  for (const auto& row : batch) {
    const bool samples = row.samples();
    row.seq->n_computed += row.n;
    if (samples) row.seq->tokens.push_back(2);
  }
}

int tokens_of(const Batch& batch, RequestId id) {
  for (const auto& row : batch) {
    if (row.seq->id == id) return row.n;
  }
  return 0;
}

TEST(Scheduler, AdmitsInOrderWhilePromptAndOneBlockFit) {
  BlockManager blocks({{.block_bytes = 1}}, 6);
  Scheduler scheduler(kLimits, blocks);
  scheduler.add(sequence(1, 64));
  scheduler.add(sequence(2, 100));  // 4 blocks and one more: does not fit beside 1
  scheduler.add(sequence(3, 1));    // would fit, but waits its turn
  const Batch batch = scheduler.schedule();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(tokens_of(batch, 1), 64);
  EXPECT_EQ(scheduler.n_waiting(), 2);
  EXPECT_EQ(scheduler.remove(1, 0)->id, 1u);
  const Batch next = scheduler.schedule();
  EXPECT_EQ(tokens_of(next, 2), 63);
  EXPECT_EQ(tokens_of(next, 3), 1);
}

std::unique_ptr<Sequence> sequence_of(uint32_t client, RequestId id) {
  auto seq = sequence(id, 1);
  seq->request.client = client;
  return seq;
}

// One at a time, in which order they run.
std::vector<RequestId> served(Scheduler& scheduler, size_t n) {
  std::vector<RequestId> order;
  for (size_t i = 0; i < n; ++i) {
    const RequestId id = scheduler.schedule().at(0).seq->id;
    scheduler.remove(id, 0);
    order.push_back(id);
  }
  return order;
}

TEST(Scheduler, ClientsTakeTurns) {
  BlockManager blocks({{.block_bytes = 1}}, 100);
  Scheduler scheduler({.max_batch = 1, .prefill_chunk = 64, .mixed_chunk = 16}, blocks);
  for (const RequestId id : {10, 11, 12, 13, 14}) scheduler.add(sequence_of(1, id));
  EXPECT_EQ(served(scheduler, 2), (std::vector<RequestId>{10, 11}));
  for (const RequestId id : {20, 21}) scheduler.add(sequence_of(2, id));
  scheduler.add(sequence_of(3, 30));
  // Those who come late are behind one request of the first client, not behind all of them.
  EXPECT_EQ(served(scheduler, 6), (std::vector<RequestId>{20, 30, 12, 21, 13, 14}));
  // Nobody saves turns up, and nobody pays for a queue that was empty.
  for (const RequestId id : {40, 41}) scheduler.add(sequence_of(1, id));
  for (const RequestId id : {50, 51}) scheduler.add(sequence_of(9, id));
  EXPECT_EQ(served(scheduler, 4), (std::vector<RequestId>{50, 40, 51, 41}));
}

TEST(Scheduler, PriorityGoesBeforeTheTurn) {
  BlockManager blocks({{.block_bytes = 1}}, 100);
  Scheduler scheduler({.max_batch = 1, .prefill_chunk = 64, .mixed_chunk = 16}, blocks);
  for (const RequestId id : {10, 11}) scheduler.add(sequence_of(1, id));
  scheduler.add(sequence_of(2, 20));
  auto urgent = sequence_of(1, 12);
  urgent->request.priority = -1;
  scheduler.add(std::move(urgent));
  EXPECT_EQ(served(scheduler, 4), (std::vector<RequestId>{12, 10, 20, 11}));
}

TEST(Scheduler, OfOneClientTheFirstToComeIsTheFirstServed) {
  BlockManager blocks({{.block_bytes = 1}}, 100);
  Scheduler scheduler({.max_batch = 1, .prefill_chunk = 64, .mixed_chunk = 16}, blocks);
  for (RequestId id = 1; id <= 20; ++id) scheduler.add(sequence(id, 1));
  const std::vector<RequestId> order = served(scheduler, 20);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

// Case 41: a stream's token is in every step, and prompts beside it come in small chunks.
TEST(Scheduler, DecodingSequencesAreInEveryStepBesideSmallChunks) {
  BlockManager blocks({{.block_bytes = 1}}, 1000);
  Scheduler scheduler(kLimits, blocks);
  scheduler.add(sequence(1, 10));
  commit(scheduler.schedule());
  for (const RequestId id : {2, 3, 4}) scheduler.add(sequence(id, 8000));
  for (int step = 0; step < 20; ++step) {
    const Batch batch = scheduler.schedule();
    EXPECT_EQ(tokens_of(batch, 1), 1);
    int prefill = -1;
    for (const auto& row : batch) prefill += row.n;
    EXPECT_LE(prefill, kLimits.mixed_chunk);
    EXPECT_GT(prefill, 0);
    commit(batch);
  }
}

TEST(Scheduler, AShortPromptDoesNotWaitForLongOnesBeforeIt) {
  BlockManager blocks({{.block_bytes = 1}}, 1000);
  Scheduler scheduler(kLimits, blocks);
  for (const RequestId id : {1, 2, 3}) scheduler.add(sequence(id, 8000));
  scheduler.add(sequence(4, 30));
  bool first_token = false;
  for (int step = 0; step < 3 && !first_token; ++step) {
    const Batch batch = scheduler.schedule();
    for (const auto& row : batch) first_token |= row.seq->id == 4 && row.samples();
    EXPECT_GT(tokens_of(batch, 1), 0);  // the oldest goes on
    commit(batch);
  }
  EXPECT_TRUE(first_token);
}

TEST(Scheduler, APromptThatCouldNeverFitIsABug) {
  BlockManager blocks({{.block_bytes = 1}}, 4);
  Scheduler scheduler(kLimits, blocks);
  scheduler.add(sequence(1, 4 * kBlockTokens - 1));
  EXPECT_THROW(scheduler.add(sequence(2, 4 * kBlockTokens)), CheckFailure);
}

TEST(Scheduler, TheYoungestIsPreemptedWhenBlocksRunOut) {
  BlockManager blocks({{.block_bytes = 1}}, 4);
  Scheduler scheduler(kLimits, blocks);
  scheduler.add(sequence(1, 31));
  scheduler.add(sequence(2, 31));
  commit(scheduler.schedule());  // both have 32 tokens now
  ASSERT_EQ(scheduler.n_running(), 2);
  for (int step = 0; step < 33; ++step) commit(scheduler.schedule());
  EXPECT_EQ(scheduler.n_running(), 2);  // 64 positions each: all four blocks
  const Batch batch = scheduler.schedule();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].seq->id, 1u);
  EXPECT_EQ(scheduler.n_waiting(), 1);
  EXPECT_EQ(blocks.blocks_used(), 3);
  scheduler.remove(1, 0);
  const Batch resumed = scheduler.schedule();
  EXPECT_EQ(tokens_of(resumed, 2), 64);  // prompt and answer again, as one prompt
}

TEST(Scheduler, LowerPrioritiesGoFirstAndEqualOnesInOrderOfArrival) {
  BlockManager blocks({{.block_bytes = 1}}, 1000);
  Scheduler scheduler({.max_batch = 1, .prefill_chunk = 64, .mixed_chunk = 16}, blocks);
  scheduler.add(sequence(1, 5));
  commit(scheduler.schedule());  // it runs, and gives way to nobody
  const int priorities[] = {0, 3, -1, 0, 3, -1, std::numeric_limits<int>::min()};
  for (RequestId id = 2; id < 9; ++id) scheduler.add(sequence(id, 5, priorities[id - 2]));
  for (const RequestId id : {1, 8, 4, 7, 2, 5, 3, 6}) {
    const Batch batch = scheduler.schedule();
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].seq->id, id);
    scheduler.remove(id, 0);
  }
}

TEST(Scheduler, TheLeastUrgentIsPreemptedAndComesBackBeforeItsEquals) {
  BlockManager blocks({{.block_bytes = 1}}, 4);
  Scheduler scheduler(kLimits, blocks);
  scheduler.add(sequence(1, 32, 1));
  commit(scheduler.schedule());
  scheduler.add(sequence(2, 64, 0));  // admitted later, but served first
  scheduler.add(sequence(3, 32, 1));
  commit(scheduler.schedule());
  EXPECT_EQ(scheduler.n_running(), 2);
  EXPECT_EQ(scheduler.running()[0]->id, 2u);
  while (scheduler.n_waiting() == 1) commit(scheduler.schedule());
  ASSERT_EQ(scheduler.n_running(), 1);
  EXPECT_EQ(scheduler.running()[0]->id, 2u);
  scheduler.remove(2, 0);
  scheduler.schedule();
  EXPECT_EQ(scheduler.running()[0]->id, 1u);
}

}  // namespace
}  // namespace mlxforge
