#include "client/attach/page_mapping.h"

#include <string>
#include <utility>

#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr PageExpectation kReadableSignal = {
    .kind = PageKind::kSignal, .size_bytes = sizeof(SignalPage), .access = PageAccess::kRead};

TEST(PageMappingTest, ShowsWhatTheOwnerWrites) {
  TestSignalPage page;
  PageMapping mapping;
  ASSERT_TRUE(PageMapping::Map(page.descriptor(), kReadableSignal, &mapping).ok());

  page->seq.store(41);
  EXPECT_EQ(mapping.As<const SignalPage>()->seq.load(), 41u);
}

TEST(PageMappingTest, WritesThroughAWritableMapping) {
  TestSignalPage page;
  PageExpectation writable = kReadableSignal;
  writable.access = PageAccess::kReadWrite;
  PageMapping mapping;
  ASSERT_TRUE(PageMapping::Map(page.descriptor(), writable, &mapping).ok());

  mapping.As<SignalPage>()->seq.store(43);
  EXPECT_EQ(page->seq.load(), 43u);
}

TEST(PageMappingTest, MovesItsPageAlong) {
  TestSignalPage page;
  PageMapping first;
  ASSERT_TRUE(PageMapping::Map(page.descriptor(), kReadableSignal, &first).ok());
  PageMapping second = std::move(first);
  first = PageMapping();

  EXPECT_NE(second.As<const SignalPage>(), nullptr);
}

TEST(PageMappingTest, RefusesAPageOfAnotherKind) {
  TestTaskPage page;
  PageExpectation small = kReadableSignal;
  small.size_bytes = sizeof(PageHeader);
  PageMapping mapping;

  EXPECT_EQ(PageMapping::Map(page.descriptor(), small, &mapping).code, PF_SYSTEM);
  EXPECT_EQ(mapping.As<void>(), nullptr);
}

TEST(PageMappingTest, RefusesAPageOfAnotherVersionOrSizeAndSaysSo) {
  TestSignalPage page;
  PageMapping mapping;
  page->header.version = kPageVersion + 1;
  const std::string versions =
      "agentd=" + std::to_string(kPageVersion + 1) + " sdk=" + std::to_string(kPageVersion);
  const Error version = PageMapping::Map(page.descriptor(), kReadableSignal, &mapping);
  EXPECT_EQ(version.code, PF_BAD_VERSION);
  EXPECT_NE(version.text.find(versions), std::string::npos) << version.text;

  page->header.version = kPageVersion;
  page->header.size_bytes = 4096;
  EXPECT_EQ(PageMapping::Map(page.descriptor(), kReadableSignal, &mapping).code, PF_BAD_VERSION);
  EXPECT_EQ(mapping.As<void>(), nullptr);
}

TEST(PageMappingTest, RefusesAFileThatIsTooSmallToMap) {
  Descriptor file(memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), 100), 0);
  PageMapping mapping;
  EXPECT_EQ(PageMapping::Map(file.get(), kReadableSignal, &mapping).code, PF_BAD_VERSION);
}

// Otherwise its owner could cut it short, and the next read would kill this process.
TEST(PageMappingTest, RefusesAPageThatMayShrink) {
  TestSignalPage page(/*is_sealed=*/false);
  PageMapping mapping;
  EXPECT_EQ(PageMapping::Map(page.descriptor(), kReadableSignal, &mapping).code, PF_SYSTEM);
}

TEST(PageMappingTest, RefusesWhatIsNoFileToMap) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  PageMapping mapping;
  EXPECT_EQ(PageMapping::Map(in.get(), kReadableSignal, &mapping).code, PF_SYSTEM);
  EXPECT_EQ(PageMapping::Map(-1, kReadableSignal, &mapping).code, PF_SYSTEM);
}

}  // namespace
}  // namespace pipefill::sdk
