/* Submits jobs to Slurm from one process, one after the other, as a program of a user would: what
 * SubmitJob is to schedulerd. Built by slurm_side.py where Slurm's headers are installed.
 *
 *   slurm_submit COUNT     prints the seconds that it took
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int Submit(void) {
  char* environment[] = {"PATH=/usr/bin:/bin", NULL};
  job_desc_msg_t job;
  submit_response_msg_t* response = NULL;
  slurm_init_job_desc_msg(&job);
  job.name = "embed";
  job.script = "#!/bin/sh\ntrue\n";
  job.work_dir = "/";
  job.std_out = "/dev/null";
  job.environment = environment;
  job.env_size = 1;
  job.min_nodes = 1;
  job.user_id = getuid();
  job.group_id = getgid();
  job.priority = 0; /* held */
  if (slurm_submit_batch_job(&job, &response) != SLURM_SUCCESS) return -1;
  slurm_free_submit_response_response_msg(response);
  return 0;
}

int main(int argc, char** argv) {
  struct timespec start;
  struct timespec end;
  const int count = argc == 2 ? atoi(argv[1]) : 0;
  if (count <= 0) {
    fprintf(stderr, "usage: slurm_submit COUNT\n");
    return 2;
  }
  slurm_init(NULL);
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; ++i) {
    if (Submit() != 0) {
      slurm_perror("slurm_submit");
      return 1;
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.6f\n", (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
  return 0;
}
