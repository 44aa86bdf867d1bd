// A named thread that is joined when its owner goes. The only place that makes threads.
//
// Thread-compatible.
#ifndef COMMON_OWNER_THREAD_H_
#define COMMON_OWNER_THREAD_H_

#include <functional>
#include <string>
#include <thread>

namespace pipefill {

class OwnerThread {
 public:
  // `name` (at most 15 bytes) shows up in `ps -L`.
  OwnerThread(std::string name, std::function<void()> body);
  // Joins: whoever owns it must make the body return first.
  ~OwnerThread();
  OwnerThread(const OwnerThread&) = delete;
  OwnerThread& operator=(const OwnerThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace pipefill

#endif  // COMMON_OWNER_THREAD_H_
