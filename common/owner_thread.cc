#include "common/owner_thread.h"

#include <pthread.h>

#include <utility>

#include "common/check.h"

namespace pipefill {

OwnerThread::OwnerThread(std::string name, std::function<void()> body)
    : thread_([name = std::move(name), body = std::move(body)] {
        const int error = pthread_setname_np(pthread_self(), name.c_str());
        CHECK(error == 0);  // the name is too long
        body();
      }) {}

OwnerThread::~OwnerThread() { thread_.join(); }

}  // namespace pipefill
