#include "server/hub.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "server/testing/fake_engine.h"

namespace mlxforge {
namespace {

namespace asio = boost::asio;

// The request's last event belongs to the choice that has been waiting to be taken for longest.
TEST(Hub, TheLastEventIsTakenAfterThoseOfTheOtherChoices) {
  asio::io_context io;
  Hub hub(io.get_executor(), 100);
  const auto author = [](const Request& request) {
    const size_t n = 5 - request.sampling.choice;
    return Script{.steps = std::vector<std::vector<int32_t>>(n, {'a'})};
  };
  FakeEngine engine(hub.sink(), author, {});
  auto ticket = hub.submit(engine, {{.prompt = {1}, .max_tokens = 9, .n = 3}}, io.get_executor());
  ASSERT_TRUE(ticket.ok());
  while (engine.active() > 0) engine.step();
  io.run();  // all has come; nobody has taken anything yet

  std::vector<Delivery> taken;
  const auto take = [&]() -> asio::awaitable<void> { taken = co_await ticket->take(); };
  asio::co_spawn(io, take, asio::detached);
  io.restart();
  io.run();
  ASSERT_EQ(taken.size(), 3u);
  for (const auto& [request, event] : taken) {
    EXPECT_EQ(event.tokens.size(), 5 - event.choice);
    EXPECT_EQ(event.finish, FinishReason::stop);
    EXPECT_EQ(event.last, &event == &taken.back().event);
  }
  EXPECT_EQ(taken.back().event.choice, 0u);
}

}  // namespace
}  // namespace mlxforge
