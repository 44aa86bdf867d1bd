// A library's own definition of a function that this program defines in its place.
//
// Thread-safe.
#ifndef TESTS_SANITIZERS_ORIGINAL_H_
#define TESTS_SANITIZERS_ORIGINAL_H_

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace pipefill {

// `Function` is the type of the function; that of a method takes the object first.
template <typename Function>
class Original {
 public:
  // As the linker names it.
  explicit constexpr Original(const char* symbol) : symbol_(symbol) {}

  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) {
    return reinterpret_cast<Function*>(Find())(std::forward<Arguments>(arguments)...);
  }

 private:
  // Finding it twice does no harm. A lock would be one that the sanitizer sees: it would order
  // threads that nothing else orders.
  void* Find() {
    void* found = found_.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    found = dlsym(RTLD_NEXT, symbol_);
    if (found == nullptr) {
      std::fprintf(stderr, "sanitizer marks: no library defines %s; which version is it?\n",
                   symbol_);
      std::abort();
    }
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* const symbol_;
  std::atomic<void*> found_ = nullptr;
};

}  // namespace pipefill

#endif  // TESTS_SANITIZERS_ORIGINAL_H_
