// schedulerd in one object: the only place where its parts are put together.
//
// Thread-compatible.
#ifndef SCHEDULER_SERVER_H_
#define SCHEDULER_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "proto/config.pb.h"

namespace pipefill {

struct ServerDependencies {
  const Clock& clock;  // outlives the server
};

class Server {
 public:
  // Whether Create could use `config`, as far as that can be said without the network and the disk.
  static absl::Status CheckConfig(const v1::SchedulerConfig& config);

  // Recovers the state, starts the loop, and serves once it returns; then `address_file` is
  // written. InvalidArgument: the configuration, the field named. FailedPrecondition: the address
  // or the state folder is in use, or the folder is of a newer version. PermissionDenied: the
  // folder is not writable. DataLoss: the journal is damaged.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const v1::SchedulerConfig& config,
                                                        const ServerDependencies& dependencies);

  // Shuts down.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // host:port that it serves on.
  std::string address() const;

  // Ends all calls and streams, then the loop. Does nothing the second time.
  void Shutdown();

 private:
  struct Parts;

  explicit Server(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace pipefill

#endif  // SCHEDULER_SERVER_H_
