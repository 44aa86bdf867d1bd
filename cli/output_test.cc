#include "cli/output.h"

#include <gtest/gtest.h>

#include <string>

namespace pipefill {
namespace {

TEST(TableTest, AlignsColumnsAndEndsLinesWithoutBlanks) {
  Table table({{"NAME"}, {"UNITS", Align::kRight}, {"DETAIL"}});
  table.AddRow({"embed", "12,345", "attempt 2"});
  table.AddRow({"a", "1", "b"});

  EXPECT_EQ(table.Text(),
            "NAME    UNITS  DETAIL\n"
            "embed  12,345  attempt 2\n"
            "a           1  b\n");
}

TEST(TableTest, EmptyCellIsADash) {
  Table table({{"A"}, {"B"}});
  table.AddRow({"", ""});

  EXPECT_EQ(table.Text(), "A  B\n-  -\n");
}

TEST(TableTest, ShrinksTheWidestColumnFirst) {
  Table table({{"NAME", Align::kLeft, true}, {"DETAIL", Align::kLeft, true}});
  table.AddRow({std::string(30, 'n'), std::string(70, 'd')});

  EXPECT_EQ(table.Text(), "NAME                            DETAIL\n" + std::string(30, 'n') + "  " +
                              std::string(45, 'd') + "...\n");
}

TEST(TableTest, KeepsWhatMayNotShrink) {
  Table table({{"ID"}, {"NAME", Align::kLeft, true}});
  table.AddRow({std::string(90, '1'), std::string(30, 'n')});

  EXPECT_EQ(table.Text().substr(table.Text().find('\n') + 1),
            std::string(90, '1') + "  nnnnn...\n");
}

TEST(TableTest, CountsCharactersAndNotBytes) {
  Table table({{"NAME", Align::kLeft, true}, {"X"}});
  table.AddRow({"größe", "1"});
  table.AddRow({"ab", "2"});

  EXPECT_EQ(table.Text(), "NAME   X\ngröße  1\nab     2\n");
}

TEST(FactsTest, AlignsValues) {
  Facts facts;
  facts.Add("state", "running");
  facts.Add("memory peak", "1 GiB");

  EXPECT_EQ(facts.Text(), "  state        running\n  memory peak  1 GiB\n");
}

TEST(FactsTest, WrapsProseOnly) {
  const std::string words =
      "one two three four five six seven eight nine ten eleven twelve thirteen";
  Facts facts;
  facts.AddProse("reason", "because " + words + " and more");
  facts.AddProse("nothing", "");
  facts.Add("command", "run " + words);

  EXPECT_EQ(facts.Text(),
            "  reason   because one two three four five six seven eight nine ten eleven\n"
            "           twelve thirteen and more\n"
            "  command  run " +
                words + "\n");
}

TEST(ShortenTest, MarksWhatIsCutOff) {
  EXPECT_EQ(Shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(Shorten("abcdefg", 2), "ab");
  EXPECT_EQ(Shorten("größenwahn", 6), "grö...");
}

TEST(OneLineTest, ReplacesControlCharacters) {
  EXPECT_EQ(OneLine("a\nb\tc\x1b[0m\x7f"), "a?b?c?[0m?");
}

TEST(ShellTextTest, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(ShellText({"python3", "-c", "print(1)", "it's", "", "--a=b/c,d"}),
            "python3 -c 'print(1)' 'it'\\''s' '' --a=b/c,d");
}

TEST(FormatSpanTest, NamesTheTwoLargestUnits) {
  EXPECT_EQ(FormatSpan(absl::Seconds(-5)), "0s");
  EXPECT_EQ(FormatSpan(absl::Milliseconds(59'900)), "59s");
  EXPECT_EQ(FormatSpan(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(FormatSpan(absl::Minutes(125)), "2h5m");
  EXPECT_EQ(FormatSpan(absl::Hours(99)), "4d3h");
}

TEST(FormatAgoTest, NeverIsEmpty) {
  const absl::Time now = absl::FromUnixSeconds(1'000'192);

  EXPECT_EQ(FormatAgo(absl::ToUnixNanos(absl::FromUnixSeconds(1'000'000)), now), "3m12s ago");
  EXPECT_EQ(FormatAgo(0, now), "");
}

TEST(FormatCountTest, GroupsThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(-1'234'567), "-1,234,567");
}

TEST(FormatShareTest, NothingOfNothingIsUnknown) {
  EXPECT_EQ(FormatShare(982, 1000), "98.2 %");
  EXPECT_EQ(FormatShare(0, 5), "0.0 %");
  EXPECT_EQ(FormatShare(0, 0), "");
}

TEST(PluralTest, OneIsSingular) {
  EXPECT_EQ(Plural(1, "job"), "1 job");
  EXPECT_EQ(Plural(1'000, "job"), "1,000 jobs");
}

TEST(FormatShortCountTest, HasThreeDigitsFromTenThousandOn) {
  EXPECT_EQ(FormatShortCount(0), "0");
  EXPECT_EQ(FormatShortCount(9'999), "9999");
  EXPECT_EQ(FormatShortCount(12'345), "12.3k");
  EXPECT_EQ(FormatShortCount(99'949), "99.9k");
  EXPECT_EQ(FormatShortCount(99'950), "100k");
  EXPECT_EQ(FormatShortCount(999'499), "999k");
  EXPECT_EQ(FormatShortCount(999'500), "1.00M");
  EXPECT_EQ(FormatShortCount(12'345'678), "12.3M");
  EXPECT_EQ(FormatShortCount(999'499'999), "999M");
}

TEST(FitToTest, ShortensOrFillsUpToTheWidth) {
  EXPECT_EQ(FitTo("gpt", 5), "gpt  ");
  EXPECT_EQ(FitTo("gpt", 5, Align::kRight), "  gpt");
  EXPECT_EQ(FitTo("vision", 5), "vi...");
  EXPECT_EQ(FitTo("\u00fcber", 5), "\u00fcber ");
}

}  // namespace
}  // namespace pipefill
