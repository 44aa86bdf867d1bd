#include "scheduler/store_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/exit_code.h"
#include "common/status.h"
#include "scheduler/journal/store_tools.h"
#include "scheduler/settings.h"

namespace pipefill::scheduler {
namespace {

void AddFolder(CLI::App* command, std::string* folder) {
  command->add_option("--state-dir", *folder, "the folder that schedulerd has as state_dir")
      ->default_val(Settings().state_dir)
      ->type_name("FOLDER");
}

}  // namespace

bool IsStoreCommand(int argc, char** argv) {
  if (argc < 2) return false;
  const absl::string_view word = argv[1];
  return word == "check" || word == "repair" || word == "restore";
}

int RunStoreCommand(int argc, char** argv) {
  std::string folder;
  std::string file;
  CLI::App app("what is done with a state folder while schedulerd is down", "schedulerd");
  CLI::App* check = app.add_subcommand("check", "read all of it, and change nothing");
  CLI::App* repair =
      app.add_subcommand("repair", "cut off what is damaged, after making a copy of the folder");
  CLI::App* restore =
      app.add_subcommand("restore", "make a new folder out of a backup (pipefill admin backup)");
  for (CLI::App* command : {check, repair, restore}) AddFolder(command, &folder);
  restore->add_option("FILE", file, "the backup")->required()->type_name("");
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::cerr << "schedulerd: " << error.what() << "; see --help" << std::endl;
    return kExitUsage;
  }
  const Clock& clock = SystemClock();
  absl::Status status;
  if (check->parsed()) status = CheckStore(folder, clock, std::cout);
  if (repair->parsed()) status = RepairStore(folder, clock, std::cout);
  if (restore->parsed()) status = RestoreStore(folder, file, clock, std::cout);
  std::cout.flush();
  if (!status.ok()) std::cerr << "schedulerd: " << status.message() << std::endl;
  return ExitCodeFor(status);
}

}  // namespace pipefill::scheduler
