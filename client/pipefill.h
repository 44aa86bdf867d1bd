/* pipefill SDK, C ABI. Link with -lpipefill, or load libpipefill.so.
 *
 * A training loop (main job) reports where its device idles; a fill job asks for time in those
 * bubbles. Rules for both:
 *   - Nothing here throws, and nothing blocks the main job: after pf_attach its calls are a few
 *     stores in shared memory, and at most one futex wake.
 *   - It fails open: without agentd, with a dead agentd, or with one of another version, a main job's
 *     handle is detached and every call returns at once. A fill task without agentd runs as if alone.
 *   - Every function accepts NULL as handle and then does nothing.
 * Threads: the calls on one handle must not overlap each other; any thread may make them. In a child
 * made by fork() the parent's handles are dead: a main job is detached, a task told to stop.
 * Times are nanoseconds of CLOCK_MONOTONIC; sizes are bytes.
 */
#ifndef CLIENT_PIPEFILL_H_
#define CLIENT_PIPEFILL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PF_EXPORT __attribute__((visibility("default")))

/* Result codes. */
#define PF_OK 0
#define PF_NO_AGENT 1      /* nobody listens on the socket */
#define PF_BAD_VERSION 2   /* agentd speaks another page version */
#define PF_BAD_ARGUMENT 3  /* see pf_last_error */
#define PF_REFUSED 4       /* agentd said no; see pf_last_error */
#define PF_SYSTEM 5        /* a system call failed; see pf_last_error */

/* One line for people; static storage. Unknown codes give a text too. */
PF_EXPORT const char* pf_error_text(int code);
/* What exactly went wrong in the last pf_attach or pf_task_attach of this thread; "" if nothing. */
PF_EXPORT const char* pf_last_error(void);
/* Version of this library, "0.1.0", and of the shared pages. */
PF_EXPORT const char* pf_version(void);
PF_EXPORT uint32_t pf_page_version(void);

/* ---- Main job ---------------------------------------------------------------------------- */

typedef struct pf_main_job pf_main_job;

#define PF_MODE_DEFAULT 0
#define PF_MODE_OFF 1
#define PF_MODE_REPORT 2
#define PF_MODE_FILL 3

typedef struct pf_attach_options {
  uint32_t size_bytes;  /* sizeof(pf_attach_options); lets the struct grow */
  const char* main_job; /* name of the training run; the same on all ranks; 1..127 bytes */
  int32_t rank;         /* [0, ranks) */
  int32_t ranks;
  int32_t stage;        /* pipeline stage of this rank, [0, stages) */
  int32_t stages;
  const char* device;   /* device of agentd; NULL = PIPEFILL_DEVICE, else by CPU affinity */
  const char* socket;   /* of agentd; NULL = PIPEFILL_SOCKET, else /run/pipefill/agentd.sock */
  int32_t mode;         /* PF_MODE_*; PF_MODE_DEFAULT = PIPEFILL_MODE, else fill */
  uint32_t budget_ppm;  /* slowdown that filling may cost, in millionths; 0 = as agentd has it (1 %) */
} pf_attach_options;

/* Connects to agentd and maps the pages; at most 200 ms. *job is set in every case and stays usable
 * (detached after an error); NULL only if memory runs out. Give it back with pf_detach. */
PF_EXPORT int pf_attach(const pf_attach_options* options, pf_main_job** job);
/* 1 while agentd reads this handle's page; 0 on a detached handle. */
PF_EXPORT int pf_is_attached(const pf_main_job* job);

/* One training step. Numbers grow by one from any start, equal on all ranks. An open bubble or chunk
 * ends with the iteration, but see PF_CHUNK_OPTIMIZER. */
PF_EXPORT void pf_iteration_begin(pf_main_job* job, uint64_t iteration);
PF_EXPORT void pf_iteration_end(pf_main_job* job);

/* Values of `bubble_class`. */
#define PF_BUBBLE_HEAD 1
#define PF_BUBBLE_MIDDLE 2
#define PF_BUBBLE_SCATTERED 3
#define PF_BUBBLE_TAIL 4
#define PF_BUBBLE_CUSTOM 6

/* The device idles from now on / does main work again. (class, ordinal) must name the same wait in
 * every iteration: learning is per name. ordinal < 2^24; at most 256 names per rank. */
PF_EXPORT void pf_bubble_begin(pf_main_job* job, int bubble_class, uint32_t ordinal);
PF_EXPORT void pf_bubble_end(pf_main_job* job);

/* Instead of bubbles: report compute chunks; every gap inside an iteration is a bubble, named from
 * the order of chunks in the iteration before (head, middle, scattered, tail). Do not mix with
 * pf_bubble_* on one handle.
 * Chunks must cover all that the main job does on its device: what runs outside of them, an optimizer
 * step, the loading of data, shares the device with fill jobs. An iteration in which all is done, the
 * optimizer as PF_CHUNK_OPTIMIZER, leaves nothing to do until the next one: the gap behind its last
 * chunk goes on over the iteration's end, up to the first chunk of the next, as one bubble. Without
 * that chunk it ends with the iteration. */
#define PF_CHUNK_FORWARD 1
#define PF_CHUNK_BACKWARD 2
#define PF_CHUNK_OPTIMIZER 3
#define PF_CHUNK_OTHER 4
PF_EXPORT void pf_chunk_begin(pf_main_job* job, int chunk_kind);
PF_EXPORT void pf_chunk_end(pf_main_job* job);

/* Device memory that the main job will not touch until the end of the current bubble. */
PF_EXPORT void pf_memory_hint(pf_main_job* job, uint64_t free_bytes);

PF_EXPORT void pf_detach(pf_main_job* job);

/* ---- Fill task --------------------------------------------------------------------------- */

typedef struct pf_task pf_task;

typedef struct pf_task_options {
  uint32_t size_bytes;  /* sizeof(pf_task_options) */
  const char* socket;   /* NULL = PIPEFILL_SOCKET; neither set = runs alone, ungated */
  uint64_t unit_hint_ns; /* how long a unit takes before any was measured; 0 = 5 ms */
} pf_task_options;

/* Connects this process to its device; may take seconds on a busy device, and waits up to a minute for
 * an agentd that is being replaced. *task is set in every case (NULL only if memory runs out); give it
 * back with pf_task_detach. It is one of
 *   gated    after PF_OK: units are held to bubbles;
 *   alone    no socket is named (PF_OK), or agentd did not start this process (PF_BAD_ARGUMENT;
 *            PIPEFILL_JOB is not set): units start at once;
 *   refused  agentd started this process and attaching failed, or the options make no sense:
 *            pf_task_next_unit returns 0 at once, for ungated units would slow the main job. Leave
 *            with an error.
 * One task per process. */
PF_EXPORT int pf_task_attach(const pf_task_options* options, pf_task** task);
/* 1 if units are held to bubbles; 0 when alone or refused. */
PF_EXPORT int pf_task_is_gated(const pf_task* task);
/* 1 if no unit will ever start. */
PF_EXPORT int pf_task_is_refused(const pf_task* task);

/* Ends the unit in progress, if any, waits until the next one may start, and starts it. Returns 1,
 * or 0 when the task should stop: save and leave. Blocks as long as no bubble comes. `label` names a
 * kind of unit, [0, 16): kinds of different length have estimates of their own. */
PF_EXPORT int pf_task_next_unit(pf_task* task, uint32_t label);
/* The same with an end to the waiting: returns 2 when no unit could start within `timeout_ns`, or when
 * a signal handler ran meanwhile; call it again, or do something else. */
PF_EXPORT int pf_task_wait_unit(pf_task* task, uint32_t label, uint64_t timeout_ns);
/* Elastic units: the task can do any number of pieces in [n_min, n_max] in one unit. Learns how long n
 * pieces take, and starts the largest unit that fits the rest of the bubble; *n is its size. Where
 * units are not held to bubbles, *n is n_max. Returns as the two above do; *n counts after 1 only.
 * Elastic units of a label are estimated apart from others. n_min 0 counts as 1, and n_max below n_min
 * as n_min; n must not be NULL (0 is returned). */
PF_EXPORT int pf_task_next_elastic(pf_task* task, uint32_t label, uint32_t n_min, uint32_t n_max,
                                   uint32_t* n);
PF_EXPORT int pf_task_wait_elastic(pf_task* task, uint32_t label, uint32_t n_min, uint32_t n_max,
                                   uint64_t timeout_ns, uint32_t* n);
/* Ends the unit in progress; needed before work that is no unit, and at the end. */
PF_EXPORT void pf_task_end_unit(pf_task* task);

/* ---- Checkpoints of a fill task ---------------------------------------------------------------
 * A task that registers hooks is asked for its state between two units, and gets it back in the
 * next attempt of its job, on whatever device: after a crash of the task or its node, after
 * `pipefill job move`, or because its device was needed. Saved is: every so much useful time, which
 * follows from what a save costs; when agentd asks for it; before the task is told to stop. The save
 * hook runs inside a unit of its own, from within the calls that start units, on their thread.
 * Checkpoints lie in PIPEFILL_CHECKPOINT_DIR, set by agentd. A program that runs alone saves nothing
 * unless that is set. */

typedef struct pf_checkpoint pf_checkpoint;
/* For the save hook: appends to the state. PF_SYSTEM if memory runs out. */
PF_EXPORT int pf_checkpoint_write(pf_checkpoint* checkpoint, const void* data, uint64_t size_bytes);

typedef struct pf_checkpoint_hooks {
  uint32_t size_bytes;  /* sizeof(pf_checkpoint_hooks) */
  void* context;        /* handed to both */
  /* Hands over the whole state; 0 = done, else this save fails and the task goes on. */
  int (*save)(void* context, pf_checkpoint* checkpoint);
  /* Gets back what one save has handed over; 0 = done, else the state is of no use. */
  int (*load)(void* context, const void* data, uint64_t size_bytes);
  /* May be NULL. Called after `save`, outside of any unit: makes durable what the state refers to, such
   * as files that the task appends to; 0 = done, else this save fails. */
  int (*sync)(void* context);
} pf_checkpoint_hooks;

/* Registers the hooks, and calls `load` before it returns if there is a checkpoint to go on from: the
 * newest that is whole. Once, after attaching and before the first unit. PF_OK also when there is none
 * yet. PF_BAD_ARGUMENT: a hook is missing, or `load` has refused. PF_REFUSED: a later attempt of the
 * job is at work; no unit will start. PF_SYSTEM: the disk, see pf_last_error; the task runs from the
 * beginning and saves nothing. */
PF_EXPORT int pf_task_set_checkpoint(pf_task* task, const pf_checkpoint_hooks* hooks);
/* Ends the unit in progress and saves now, if anything is new; for programs about to leave for
 * reasons of their own. PF_OK also without hooks. */
PF_EXPORT int pf_task_save(pf_task* task);
/* While `held` is not 0 nothing is saved, not even before the task is told to stop: the program is in the
 * middle of several units that its state knows as one, such as the layers of a training step. Begins
 * with 0. */
PF_EXPORT void pf_task_hold_saves(pf_task* task, int held);

typedef struct pf_checkpoint_stats {
  uint64_t saves;
  uint64_t saves_failed;
  uint64_t save_ns;           /* what the last one cost */
  uint64_t unsaved_ns;        /* CPU time of units since the last one */
  uint64_t resumed;           /* 1 if the task went on from a checkpoint */
  uint64_t resumed_useful_ns; /* CPU time of units that was in it, over all attempts */
} pf_checkpoint_stats;
PF_EXPORT void pf_task_get_checkpoint_stats(const pf_task* task, pf_checkpoint_stats* stats);

/* ---- Counters of a fill task ---------------------------------------------------------------- */

typedef struct pf_task_stats {
  uint64_t units;
  uint64_t unit_cpu_ns;  /* CPU time of this process inside units */
  uint64_t unit_wall_ns;
  uint64_t bubbles_denied;
  uint64_t unit_estimate_ns;  /* of label 0; of its smallest unit if elastic */
} pf_task_stats;
PF_EXPORT void pf_task_get_stats(const pf_task* task, pf_task_stats* stats);

PF_EXPORT void pf_task_detach(pf_task* task);

/* What schedulerd has chosen for this task out of the job's profile, as one flat JSON object:
 *   {"name":"batch8","batch_size":8,"memory_saving":"plain"}     plain, checkpointing or offload
 * "" if nothing was chosen, as when the task runs alone: then the program's own defaults hold. Stays
 * valid and the same until the process ends. */
PF_EXPORT const char* pf_task_config(void);
/* Its batch_size; `otherwise` if there is none. */
PF_EXPORT uint64_t pf_task_batch_size(uint64_t otherwise);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CLIENT_PIPEFILL_H_ */
