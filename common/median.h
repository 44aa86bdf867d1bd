// The value in the middle.
//
// Pure.
#ifndef COMMON_MEDIAN_H_
#define COMMON_MEDIAN_H_

#include <vector>

namespace pipefill {

// Of an even number the mean of the two in the middle. REQUIRES: not empty.
double Median(std::vector<double> values);

}  // namespace pipefill

#endif  // COMMON_MEDIAN_H_
