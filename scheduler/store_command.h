// `schedulerd check | repair | restore`: what is done with a state folder while schedulerd is down.
//
// Thread-compatible: called once, by main.
#ifndef SCHEDULER_STORE_COMMAND_H_
#define SCHEDULER_STORE_COMMAND_H_

namespace pipefill::scheduler {

// Whether the first argument is one of these commands.
bool IsStoreCommand(int argc, char** argv);

// Returns the exit code of the process: 0 good, or done; 1 damaged; 2 usage; 3 no store, or no such
// file; 4 denied; 5 in use, of a newer version, or there is a store already.
int RunStoreCommand(int argc, char** argv);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_STORE_COMMAND_H_
