// Owns the mapping of one shared page that agentd handed over.
//
// A page is checked before it is used: it must be as large as the layout, carry its magic and
// version, and be sealed against shrinking, so that reading it can never fault.
//
// Thread-compatible.
#ifndef CLIENT_ATTACH_PAGE_MAPPING_H_
#define CLIENT_ATTACH_PAGE_MAPPING_H_

#include <cstddef>

#include "client/pages/page_layout.h"
#include "client/platform/error.h"

namespace pipefill::sdk {

enum class PageAccess { kRead, kReadWrite };

struct PageExpectation {
  PageKind kind;
  size_t size_bytes;
  PageAccess access;
};

class PageMapping {
 public:
  PageMapping() = default;
  PageMapping(PageMapping&& other) noexcept;
  PageMapping& operator=(PageMapping&& other) noexcept;
  ~PageMapping();

  // Maps the page behind `descriptor`, which the caller keeps and may close afterwards.
  // PF_BAD_VERSION if it is a page of another version, PF_SYSTEM if it is no such page at all.
  static Error Map(int descriptor, const PageExpectation& expected, PageMapping* mapping);

  // nullptr while nothing is mapped. REQUIRES: mapped with the kind of page that Page is.
  template <typename Page>
  Page* As() const {
    return static_cast<Page*>(data_);
  }

 private:
  void Unmap();

  void* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_ATTACH_PAGE_MAPPING_H_
