"""One fuzz target: for libFuzzer, and its kept corpus as an ordinary test."""

def fuzz_target(name, deps = []):
    """NAME_fuzz (built by `./run fuzz` alone) and NAME_replay_test, from NAME_fuzz.cc."""
    all_deps = deps + [
        ":fuzz_input",
        "//common",
        "//common:vocabulary",
        "//third_party:absl",
    ]
    native.cc_binary(
        name = name + "_fuzz",
        testonly = True,
        srcs = [name + "_fuzz.cc"],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = all_deps + [":libfuzzer_entry"],
    )
    native.cc_test(
        name = name + "_replay_test",
        size = "small",
        srcs = [name + "_fuzz.cc"],
        data = native.glob(["corpus/%s/*" % name]),
        env = {"PIPEFILL_CORPUS": "tests/fuzz/corpus/" + name},
        deps = all_deps + [":replay"],
    )
