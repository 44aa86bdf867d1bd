#include "simulator/traces/table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pipefill::simulator {
namespace {

const std::string kSource = "t.csv";

// "line: field|field"; "!" in front of broken rows; the status at the end, if it is not OK.
std::vector<std::string> RowsOf(const std::string& text, const TableLayout& layout) {
  std::istringstream in(text);
  const auto table = Table::Open(in, kSource, layout);
  if (!table.ok()) return {std::string(table.status().message())};
  std::vector<std::string> rows;
  while ((*table)->Next()) {
    std::vector<std::string> fields;
    for (size_t i = 0; i < (*table)->names().size(); ++i) {
      fields.emplace_back((*table)->field(i));
    }
    rows.push_back(absl::StrCat((*table)->is_broken() ? "!" : "", (*table)->line(), ": ",
                                absl::StrJoin(fields, "|")));
  }
  if (!(*table)->status().ok()) rows.emplace_back((*table)->status().message());
  return rows;
}

using Rows = std::vector<std::string>;

TEST(TableTest, FieldsComeWithoutBlanksQuotesAndEndsOfLines) {
  EXPECT_EQ(RowsOf("\xEF\xBB\xBF"
                   "a,b\r\n 1 ,\"x, \"\"y\"\"\"\r\n\r\n2,\n6,7",
                   {}),
            (Rows{"2: 1|x, \"y\"", "4: 2|", "5: 6|7"}));
}

TEST(TableTest, RowsThatAreTooLongAreBrokenUnlessASeparatorEndsThem) {
  EXPECT_EQ(RowsOf("a,b\n1,2,\n1,2,3\n1,2,,\n1,2\n", {}),
            (Rows{"2: 1|2", "!3: 1|2", "!4: 1|2", "5: 1|2"}));
  const TableLayout layout{.names = {"a", "b"}};
  EXPECT_EQ(RowsOf("1,2,\n3,4,\n", layout), (Rows{"1: 1|2", "2: 3|4"}));
}

TEST(TableTest, RowsThatAreNoUtf8AreBroken) {
  EXPECT_EQ(RowsOf("a,b\n1,M\xFCller\n2,M\xC3\xBCller\n3,\"\xFC\"\n", {}),
            (Rows{"!2: 1|M\xFCller", "3: 2|M\xC3\xBCller", "!4: 3|\xFC"}));
  const TableLayout layout{.names = {"a", "b"}};
  EXPECT_EQ(RowsOf("1,M\xFCller\n3,4\n", layout), (Rows{"!1: 1|M\xFCller", "2: 3|4"}));
}

TEST(TableTest, RowsThatAreTooShortOrOpenAreBroken) {
  EXPECT_EQ(RowsOf("a,b,c\n1,2\n1,\"2,3\n1,2,3\n", {}),
            (Rows{"!2: 1|2|", "!3: 1|2,3|", "4: 1|2|3"}));
}

TEST(TableTest, TitlesSayWhatSeparates) {
  const TableLayout layout{.separator = 0};
  EXPECT_EQ(RowsOf("a|b\n1|x,y\n", layout), Rows{"2: 1|x,y"});
  EXPECT_EQ(RowsOf("a;b\n1;2\n", layout), Rows{"2: 1|2"});
  EXPECT_EQ(RowsOf("a\tb\n1\t2\n", layout), Rows{"2: 1|2"});
  EXPECT_EQ(RowsOf("a,b\n1,2\n", layout), Rows{"2: 1|2"});
}

TEST(TableTest, TitlesMayBeLeftOutWhereNamesAreKnown) {
  const TableLayout layout{.names = {"a", "b"}};
  EXPECT_EQ(RowsOf("1,2\n3,4\n", layout), (Rows{"1: 1|2", "2: 3|4"}));
  EXPECT_EQ(RowsOf("A,B\n3,4\n", layout), Rows{"2: 3|4"});
  EXPECT_EQ(RowsOf("1,2,3\n", layout),
            Rows{"t.csv:1: 3 columns where there are 2 (a, b); give that table, or a line of "
                 "titles"});
}

TEST(TableTest, BlanksSeparateAndCommentsAreLeftOut) {
  const TableLayout layout{.separator = ' ', .comment = ';', .names = {"a", "b"}};
  EXPECT_EQ(RowsOf("; Version: 2.2\n;\n  1   2 \n\t3\t4\n5\n", layout),
            (Rows{"3: 1|2", "4: 3|4", "!5: 5|"}));
}

TEST(TableTest, WhatIsNoTableIsRefusedInOneLine) {
  EXPECT_EQ(RowsOf("", {}), Rows{"t.csv: the file has no rows; give the trace itself"});
  EXPECT_EQ(RowsOf("\n\n", {}), Rows{"t.csv: the file has no rows; give the trace itself"});
  EXPECT_EQ(RowsOf("a,b\n1,2\nx" + std::string(1, '\0') + "y\n", {}),
            (Rows{"2: 1|2",
                  "t.csv:3: a zero byte, so no text; unpack archives first: tar -xzf "
                  "FILE"}));
  EXPECT_EQ(RowsOf("a\n" + std::string(kLineBytesMax + 1, 'x'), {}),
            Rows{"t.csv:2: a line of more than 1 MiB; give a file of text"});
}

TEST(TableTest, LongLinesAndManyOfThemArriveWhole) {
  const std::string longest(kLineBytesMax, 'x');
  EXPECT_EQ(RowsOf("a\n" + longest + "\ny\n", {}), (Rows{"2: " + longest, "3: y"}));
  std::string text = "a,b\n";
  Rows expected;
  for (int i = 0; i < 50'000; ++i) {
    absl::StrAppend(&text, i, ",", i * 7, "\n");
    expected.push_back(absl::StrCat(i + 2, ": ", i, "|", i * 7));
  }
  EXPECT_EQ(RowsOf(text, {}), expected);
}

TEST(TableTest, AColumnThatIsNotThereIsAnsweredWithThoseThatAre) {
  std::istringstream in("a,b\n");
  const auto table = Table::Open(in, kSource, {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->Column("B").value(), 1U);
  EXPECT_EQ((*table)->Column("c").status().message(), "t.csv: there is no column \"c\", only a, b");
}

}  // namespace
}  // namespace pipefill::simulator
