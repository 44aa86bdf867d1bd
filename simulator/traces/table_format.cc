#include "simulator/traces/table_format.h"

namespace pipefill::simulator {
namespace {

TableFormat AlibabaTasks() {
  return {.layout = {.names = {"job_name", "task_name", "inst_num", "status", "start_time",
                               "end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"}},
          .columns = {.start = "start_time",
                      .end = "end_time",
                      .gpus = "plan_gpu",
                      .instances = "inst_num",
                      .status = "status"},
          .per_gpu = 100,
          .is_zero_no_time = true};
}

TableFormat AlibabaPods() {
  return {.layout = {},
          .columns = {.submit = "creation_time",
                      .start = "scheduled_time",
                      .end = "deletion_time",
                      .gpus = "gpu_milli",
                      .instances = "num_gpu",
                      .status = "pod_phase"},
          .per_gpu = 1000};
}

TableFormat StandardWorkload() {
  return {.layout = {.separator = ' ',
                     .comment = ';',
                     .names = {"job_number", "submit_time", "wait_time", "run_time",
                               "allocated_processors", "average_cpu_time", "used_memory",
                               "requested_processors", "requested_time", "requested_memory",
                               "status", "user_id", "group_id", "executable", "queue", "partition",
                               "preceding_job", "think_time"}},
          .columns = {.submit = "submit_time",
                      .duration = "run_time",
                      .gpus = "allocated_processors|requested_processors",
                      .user = "user_id",
                      .status = "status"},
          .part_statuses = {"2", "3", "4"}};
}

TableFormat AnyTable() {
  return {.layout = {.separator = 0},
          .columns = {.submit = "submit_time|submit",
                      .start = "start_time|start",
                      .end = "end_time|end",
                      .gpus = "gpu_num|gpus",
                      .user = "user",
                      .status = "state|status"}};
}

}  // namespace

const TableFormat* FindTableFormat(absl::string_view name) {
  static const auto* const tasks = new TableFormat(AlibabaTasks());
  static const auto* const pods = new TableFormat(AlibabaPods());
  static const auto* const standard = new TableFormat(StandardWorkload());
  static const auto* const any = new TableFormat(AnyTable());
  if (name == "alibaba-v2020") return tasks;
  if (name == "alibaba-v2023") return pods;
  if (name == "swf") return standard;
  if (name == "csv") return any;
  return nullptr;
}

const TableLayout& AlibabaJobLayout() {
  static const auto* const layout =
      new TableLayout{.names = {"job_name", "inst_id", "user", "status", "start_time", "end_time"}};
  return *layout;
}

const TableLayout& AlibabaInstanceLayout() {
  static const auto* const layout =
      new TableLayout{.names = {"job_name", "task_name", "inst_name", "worker_name", "inst_id",
                                "status", "start_time", "end_time", "machine"}};
  return *layout;
}

}  // namespace pipefill::simulator
