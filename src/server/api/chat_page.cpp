#include "server/api/handlers.h"
#include "server/page/page.h"

namespace mlxforge {

ApiResult chat_page(const ApiCall&) {
  return HttpReply{.body = std::string(kPage),
                   .content_type = "text/html; charset=utf-8",
                   .headers = {{"Content-Security-Policy", std::string(kPagePolicy)},
                               {"X-Content-Type-Options", "nosniff"},
                               {"Referrer-Policy", "no-referrer"},
                               {"Cross-Origin-Opener-Policy", "same-origin"},
                               {"Cache-Control", "no-cache"}}};
}

}  // namespace mlxforge
