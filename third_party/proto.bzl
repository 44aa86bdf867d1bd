"""Generates C++ from the protos of this tree with Debian's protoc and gRPC plug-in."""

def cc_protos(name, srcs, services = [], **kwargs):
    """One cc_library `name` from `srcs`; those also named in `services` get gRPC stubs."""
    outs = []
    for src in srcs:
        base = src[:-len(".proto")]
        outs += [base + ".pb.h", base + ".pb.cc"]
        if src in services:
            outs += [base + ".grpc.pb.h", base + ".grpc.pb.cc"]
    cmd = "protoc -I. --cpp_out=$(GENDIR) $(SRCS)"
    if services:
        cmd += " && protoc -I. --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=$$(which grpc_cpp_plugin) "
        cmd += " ".join(["$(location %s)" % s for s in services])
    native.genrule(
        name = name + "_generated",
        srcs = srcs,
        outs = outs,
        cmd = cmd,
    )
    native.cc_library(
        name = name,
        srcs = [o for o in outs if o.endswith(".cc")],
        hdrs = [o for o in outs if o.endswith(".h")],
        deps = ["//third_party:grpc" if services else "//third_party:protobuf"],
        **kwargs
    )
