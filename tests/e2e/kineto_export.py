"""Traces as the PyTorch profiler exports them on GPUs, with pauses that are known: for tests without a GPU.

Keys, order and number formats are those of a real export (torch 2.x, with_flops, record_shapes); the events of GPUs,
which an export without one lacks, are those of libkineto's output_json.cpp and CuptiActivity.cpp: kernels, copies and
sets on the streams of the device, NCCL's kernels on a stream of their own, the host's calls that launch them, and the
arrows in between. One file per rank.
"""
import gzip
import json

BASE_NS = 1_790_857_026_000_000_000
HOST = 4242  # pid and tid of the training script
COMPUTE_STREAM = 7
NCCL_STREAM = 20


class Rank:
    """What one rank does in each step of `step_us`.

    Kernels for `first_us`; a receive of NCCL, `wait_us` long, in which nothing computes; kernels until `tail_us` are
    left of the step; nothing.
    """

    def __init__(self, rank, ranks, first_us, wait_us, tail_us):
        self.rank, self.ranks = rank, ranks
        self.first_us, self.wait_us, self.tail_us = first_us, wait_us, tail_us


def _event(**fields):
    return fields


class _Steps:
    """The events of some steps of one rank, in the order of their making."""

    def __init__(self, rank, step_us, kernel_us):
        self.rank = rank
        self.device = rank.rank % 8
        self.step_us, self.kernel_us = step_us, kernel_us
        self.correlation = 0

    def names(self):
        for pid, name, label in ((HOST, "python3", "CPU"), (self.device, "python3", f"GPU {self.device}")):
            for kind, args in (("process_name", {"name": name}), ("process_labels", {"labels": label}),
                               ("process_sort_index", {"sort_index": pid})):
                yield _event(ph="M", name=kind, ts=0.0, pid=pid, tid=0, args=args)
        for stream in (COMPUTE_STREAM, NCCL_STREAM):
            yield _event(ph="M", name="thread_name", ts=0.0, pid=self.device, tid=stream,
                         args={"name": f"stream {stream} "})

    def step(self, number, begin_us):
        rank = self.rank
        yield _event(ph="X", cat="user_annotation", name=f"ProfilerStep#{number}", pid=HOST, tid=HOST,
                     ts=round(begin_us - 900, 3), dur=self.step_us - 50.0, args=self.host_args())
        # As libkineto has it: from just before the first work of the device to the end of the last.
        yield _event(ph="X", cat="gpu_user_annotation", name=f"ProfilerStep#{number}", pid=self.device,
                     tid=COMPUTE_STREAM, ts=round(begin_us - 0.001, 3),
                     dur=round(self.step_us - rank.tail_us + 0.001, 3), args={"External id": number})
        yield from self.work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", begin_us, 20.0, self.copy_args(1 << 20))
        yield from self.work("gpu_memset", "Memset (Device)", begin_us + 20, 5.0, self.copy_args(4096))
        yield from self.kernels(begin_us + 25, begin_us + rank.first_us)
        wait_begin_us = begin_us + rank.first_us
        yield from self.work("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", wait_begin_us,
                             rank.wait_us, self.nccl_args(), NCCL_STREAM)
        yield from self.kernels(wait_begin_us + rank.wait_us, begin_us + self.step_us - rank.tail_us)

    def kernels(self, begin_us, end_us):
        at_us = begin_us
        while at_us < end_us:
            length_us = round(min(self.kernel_us - 2, end_us - at_us), 3)
            yield from self.work("kernel", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(Params)", at_us,
                                 length_us, self.kernel_args())
            at_us = round(at_us + self.kernel_us, 3)

    def work(self, category, name, ts, dur, args, stream=COMPUTE_STREAM):
        """Work of the device, the operation and the call that launched it, and the arrow between them."""
        self.correlation += 1
        number, host_us = self.correlation, round(ts - 800, 3)
        yield _event(ph="X", cat="cpu_op", name="aten::mm", pid=HOST, tid=HOST, ts=host_us, dur=9.5,
                     args=dict(self.host_args(), **{"Input Dims": [[4096, 4096], [4096, 4096]],
                                                    "Input type": ["c10::BFloat16", "c10::BFloat16"]}))
        yield _event(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=HOST, tid=HOST, ts=host_us + 3, dur=4.2,
                     args={"External id": number, "cbid": 211, "correlation": number})
        yield _event(ph="s", id=number, pid=HOST, tid=HOST, ts=host_us + 3, cat="ac2g", name="ac2g")
        yield _event(ph="X", cat=category, name=name, pid=self.device, tid=stream, ts=round(ts, 3), dur=round(dur, 3),
                     args={"External id": number, "device": self.device, "context": 1, "stream": stream,
                           "correlation": number, **args})
        yield _event(ph="f", id=number, pid=self.device, tid=stream, ts=round(ts, 3), cat="ac2g", name="ac2g", bp="e")

    def host_args(self):
        return {"External id": self.correlation, "Record function id": 0, "Ev Idx": self.correlation}

    @staticmethod
    def copy_args(size):
        return {"bytes": size, "memory bandwidth (GB/s)": 52.42}

    @staticmethod
    def kernel_args():
        return {"queued": 0, "registers per thread": 230, "shared memory": 98304, "blocks per SM": 9.481482,
                "warps per SM": 37.925926, "grid": [32, 32, 1], "block": [128, 1, 1], "est. achieved occupancy %": 12}

    def nccl_args(self):
        return dict(self.kernel_args(), **{"Collective name": "recv", "In msg nelems": 4194304,
                                           "Out msg nelems": 4194304, "Group size": self.rank.ranks,
                                           "dtype": "BFloat16", "Process Group Name": "0",
                                           "Process Group Description": "default_pg"})


def header(rank):
    group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo,cuda:nccl", "pg_size": rank.ranks,
             "ranks": list(range(rank.ranks))}
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": rank.rank % 8, "name": "a GPU", "totalGlobalMem": 84974239744, "computeMajor": 8,
                              "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
                              "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 108,
                              "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 166912,
                              "sharedMemPerMultiprocessor": 167936}],
        "trace_id": "6D57903908C54A3991D3C90E8DB6D3C2", "profile_memory": 1, "record_shapes": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank.rank, "world_size": rank.ranks, "pg_count": 1,
                            "pg_config": [group]},
        "with_flops": 1, "host_name": "node", "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS}


def events(rank, steps, step_us, kernel_us):
    begin_us = 5_282_936_198_000.0
    made = _Steps(rank, step_us, kernel_us)
    yield from made.names()
    for number in range(steps):
        yield from made.step(number + 5, begin_us + number * step_us)
    end_us = begin_us + steps * step_us
    yield _event(ph="X", cat="Trace", name="PyTorch Profiler (0)", pid="Spans", tid="PyTorch Profiler",
                 ts=begin_us - 1000, dur=steps * step_us + 1000, args={"Op count": 0})
    yield _event(ph="i", s="g", name="Iteration Start: PyTorch Profiler", pid="Traces",
                 tid="Trace PyTorch Profiler", ts=begin_us - 1000)
    yield _event(ph="i", s="g", name="Record Window End", pid="", tid="", ts=end_us)


def write(path, rank, steps, step_us=100_000.0, kernel_us=60.0):
    """A compressed file, however long. Returns its length when it is not."""
    length = 0
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        def put(text):
            nonlocal length
            length += len(text)
            file.write(text)

        put(json.dumps(header(rank))[:-1] + ', "traceEvents": [')
        for place, event in enumerate(events(rank, steps, step_us, kernel_us)):
            put((",\n  " if place else "\n  ") + json.dumps(event))
        put(f'\n  ], "traceName": {json.dumps(path)}\n}}')
    return length
