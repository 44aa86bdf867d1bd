#include "planner/packing.h"

#include <glpk.h>
#include <gtest/gtest.h>

#include <random>

namespace pipefill {
namespace {

// The same problem as a mixed integer program, for an exact solver. `resident` of a candidate is 0
// or 1; `time` of a candidate in a window is at most what it can use, and 0 if it is not resident.
class ExactSolver {
 public:
  ExactSolver(const std::vector<ResidentCandidate>& candidates, const SeatLimits& limits)
      : candidates_(candidates), limits_(limits), problem_(glp_create_prob()) {
    glp_set_obj_dir(problem_, GLP_MAX);
    AddColumns();
    std::vector<int> columns(1);
    std::vector<double> memory(1), seats(1);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      columns.push_back(ResidentColumn(i));
      memory.push_back(static_cast<double>(candidates_[i].memory_bytes));
      seats.push_back(1);
    }
    AddRow(columns, memory, static_cast<double>(limits.memory_bytes));
    AddRow(columns, seats, static_cast<double>(limits.seats));
    for (size_t window = 0; window < limits.window_ns.size(); ++window) AddWindow(window);
  }
  ~ExactSolver() { glp_delete_prob(problem_); }
  ExactSolver(const ExactSolver&) = delete;
  ExactSolver& operator=(const ExactSolver&) = delete;

  double BestValue() {
    glp_iocp parameters;
    glp_init_iocp(&parameters);
    parameters.presolve = GLP_ON;
    parameters.msg_lev = GLP_MSG_OFF;
    EXPECT_EQ(glp_intopt(problem_, &parameters), 0);
    EXPECT_EQ(glp_mip_status(problem_), GLP_OPT);
    return glp_mip_obj_val(problem_);
  }

 private:
  int ResidentColumn(size_t candidate) const { return static_cast<int>(candidate) + 1; }
  int TimeColumn(size_t candidate, size_t window) const {
    return static_cast<int>(candidates_.size() + candidate * limits_.window_ns.size() + window) + 1;
  }

  void AddColumns() {
    const size_t windows = limits_.window_ns.size();
    glp_add_cols(problem_, static_cast<int>(candidates_.size() * (1 + windows)));
    for (size_t i = 0; i < candidates_.size(); ++i) {
      glp_set_col_kind(problem_, ResidentColumn(i), GLP_BV);
      for (size_t window = 0; window < windows; ++window) {
        glp_set_col_bnds(problem_, TimeColumn(i, window), GLP_LO, 0, 0);
        glp_set_obj_coef(problem_, TimeColumn(i, window), candidates_[i].weight);
      }
    }
  }

  // sum of coefficient * column <= bound. Entry 0 is not used, as GLPK has it.
  void AddRow(const std::vector<int>& columns, const std::vector<double>& coefficients,
              double bound) {
    const int row = glp_add_rows(problem_, 1);
    glp_set_row_bnds(problem_, row, GLP_UP, 0, bound);
    glp_set_mat_row(problem_, row, static_cast<int>(columns.size()) - 1, columns.data(),
                    coefficients.data());
  }

  void AddWindow(size_t window) {
    std::vector<int> columns(1);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      columns.push_back(TimeColumn(i, window));
      AddRow({0, TimeColumn(i, window), ResidentColumn(i)},
             {0, 1, -static_cast<double>(candidates_[i].usable_ns[window])}, 0);
    }
    AddRow(columns, std::vector<double>(columns.size(), 1),
           static_cast<double>(limits_.window_ns[window]));
  }

  const std::vector<ResidentCandidate>& candidates_;
  const SeatLimits& limits_;
  glp_prob* problem_;
};

int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

TEST(PackingTest, IsWorthWhatAnExactSolverFinds) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    SeatLimits limits{.memory_bytes = Draw(random, 0, 40),
                      .seats = static_cast<size_t>(Draw(random, 0, 4)),
                      .window_ns = {}};
    const int64_t windows = Draw(random, 1, 4);
    for (int64_t w = 0; w < windows; ++w) limits.window_ns.push_back(Draw(random, 0, 50));
    std::vector<ResidentCandidate> candidates(static_cast<size_t>(Draw(random, 1, 9)));
    for (ResidentCandidate& candidate : candidates) {
      candidate.memory_bytes = Draw(random, 0, 20);
      candidate.weight = static_cast<double>(Draw(random, 0, 5));
      for (int64_t w = 0; w < windows; ++w) candidate.usable_ns.push_back(Draw(random, 0, 60));
    }
    const ResidentSet chosen = ChooseResidents(candidates, limits);
    ASSERT_TRUE(chosen.is_exact);
    ASSERT_NEAR(chosen.value, ExactSolver(candidates, limits).BestValue(), 1e-6) << "set " << i;
  }
}

TEST(PackingTest, KeepsToMemoryAndSeats) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const SeatLimits limits{.memory_bytes = Draw(random, 0, 40),
                            .seats = static_cast<size_t>(Draw(random, 0, 4)),
                            .window_ns = {100}};
    std::vector<ResidentCandidate> candidates(20);
    for (ResidentCandidate& candidate : candidates) {
      candidate.memory_bytes = Draw(random, 0, 20);
      candidate.usable_ns = {Draw(random, 0, 60)};
    }
    const ResidentSet chosen = ChooseResidents(candidates, limits);
    ASSERT_LE(chosen.candidates.size(), limits.seats);
    int64_t memory_bytes = 0;
    for (size_t j : chosen.candidates) memory_bytes += candidates[j].memory_bytes;
    ASSERT_LE(memory_bytes, limits.memory_bytes);
  }
}

TEST(PackingTest, PrefersTwoThatCompleteEachOtherToTheTwoBest) {
  const std::vector<ResidentCandidate> candidates = {
      {.usable_ns = {10, 0}}, {.usable_ns = {9, 0}}, {.usable_ns = {0, 4}}};
  const ResidentSet chosen =
      ChooseResidents(candidates, {.memory_bytes = 0, .seats = 2, .window_ns = {10, 10}});
  EXPECT_EQ(chosen.candidates, (std::vector<size_t>{0, 2}));
  EXPECT_DOUBLE_EQ(chosen.value, 14);
}

TEST(PackingTest, SaysWhenItHasNotSeenAll) {
  std::vector<ResidentCandidate> candidates(60);
  std::mt19937 random(3);
  for (ResidentCandidate& candidate : candidates) {
    candidate.memory_bytes = Draw(random, 50, 60);
    candidate.usable_ns = {Draw(random, 20, 22), Draw(random, 20, 22)};
  }
  const SeatLimits limits{
      .memory_bytes = 300, .seats = 6, .window_ns = {100, 100}, .steps_max = 20};
  const ResidentSet chosen = ChooseResidents(candidates, limits);
  EXPECT_FALSE(chosen.is_exact);
  EXPECT_GT(chosen.value, 0);
}

}  // namespace
}  // namespace pipefill
