// Formats of traces that are tables: which column holds what.
//
//   alibaba-v2020   pai_task_table of github.com/alibaba/clusterdata, cluster-trace-gpu-v2020:
//   names
//                   as in data/*.header, meanings as in its README. Times are seconds; 0 = none.
//                   plan_gpu is in percent of a GPU, for each of inst_num instances.
//   alibaba-v2023   openb_pod_list_*.csv of cluster-trace-gpu-v2023 there. gpu_milli is in
//                   thousandths, for each of num_gpu GPUs.
//   swf             Standard Workload Format 2.2 of the Parallel Workloads Archive
//                   (www.cs.huji.ac.il/labs/parallel/workload/swf.html): 18 fields, comments with
//                   ';'. Processors count as GPUs. Statuses 2 to 4 are parts of a job that a row of
//                   its own tells as a whole.
//   csv             any other table with a line of titles; columns as in the traces of SenseTime's
//                   Helios (github.com/S-Lab-System-Group/HeliosData) and Shanghai AI Lab's Acme
//                   (github.com/InternLM/AcmeTrace), and as sacct calls them
//
// Pure.
#ifndef SIMULATOR_TRACES_TABLE_FORMAT_H_
#define SIMULATOR_TRACES_TABLE_FORMAT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/traces/table.h"

namespace pipefill::simulator {

// Names of columns. Several, joined by '|': the first of them that has something in a row.
struct TraceColumns {
  std::string submit = {};     // a time; where it has nothing, `start`
  std::string start = {};      // of the run, a time
  std::string end = {};        // a time
  std::string duration = {};   // of the run in seconds, instead of start and end
  std::string gpus = {};       // of one instance, in TableFormat::per_gpu
  std::string instances = {};  // default: one
  std::string user = {};
  std::string status = {};

  bool operator==(const TraceColumns&) const = default;
};

struct TableFormat {
  TableLayout layout;
  TraceColumns columns;
  double per_gpu = 1;  // so many in the column `gpus` are one GPU
  bool is_zero_no_time = false;
  std::vector<std::string> part_statuses = {};
};

// nullptr if there is no such format.
const TableFormat* FindTableFormat(absl::string_view name);
// Of the tables of alibaba-v2020 that add to pai_task_table.
const TableLayout& AlibabaJobLayout();
const TableLayout& AlibabaInstanceLayout();

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_TABLE_FORMAT_H_
