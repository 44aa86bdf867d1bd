// What the sanitizers must not hold against libraries that are not built with them; it lies in the
// test programs, so that it holds wherever they are started from. Each line has its reason.
//
// Never one of our own functions: what is found there is mended.

// Libraries that hand memory from thread to thread by counting references without locks, which the
// sanitizer cannot see: what one thread frees, moves or reads would seem to race with the thread
// that made it. That is gRPC itself, what it lies on, and abseil's statuses and cords, with the
// functions that gRPC makes texts and times of them with. Only what the libraries themselves do is
// left out: what our callbacks and methods do on gRPC's threads is looked at all the same.
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizer asks by this name
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgrpc++.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libupb.so\n"
         "called_from_lib:libabsl_status.so\n"
         "called_from_lib:libabsl_cord.so\n"
         "called_from_lib:libabsl_strings.so\n"
         "called_from_lib:libabsl_time.so\n"
         // The graph of locks that abseil's mutexes keep under a lock of their own.
         "called_from_lib:libabsl_graphcycles_internal.so\n";
}
// NOLINTEND(bugprone-reserved-identifier)
