#include "planner/policies/lua.h"

#include <cmath>
#include <cstdlib>
#include <lua5.4/lua.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace pipefill {
namespace {

constexpr int kResultsMax = 4;

// What the state may still allocate: Lua's own base, then what each call may add.
struct Memory {
  size_t left_bytes = size_t{4} << 20;
};

// lua_Alloc. What is given back does not count: a call's work is bounded by all that it allocates.
void* Allocate(void* user, void* block, size_t old_bytes, size_t new_bytes) {
  if (new_bytes == 0) {
    std::free(block);
    return nullptr;
  }
  auto* memory = static_cast<Memory*>(user);
  const size_t more_bytes = block == nullptr || new_bytes <= old_bytes
                                ? (block == nullptr ? new_bytes : 0)
                                : new_bytes - old_bytes;
  if (more_bytes > memory->left_bytes) return nullptr;
  memory->left_bytes -= more_bytes;
  return std::realloc(block, new_bytes);
}

void StopAtLimit(lua_State* lua, lua_Debug* where) {
  lua_getinfo(lua, "Sl", where);
  luaL_error(lua, "%s:%d: more than %d steps in one call", where->short_src, where->currentline,
             LuaPolicy::kStepsMax);
}

// Leaves in the library on top of the stack what is named, and takes it off.
void KeepOnly(lua_State* lua, std::initializer_list<const char*> names) {
  lua_newtable(lua);
  for (const char* name : names) {
    lua_getfield(lua, -2, name);
    lua_setfield(lua, -2, name);
  }
  lua_remove(lua, -2);
}

// Makes the globals; runs protected, so that a lack of memory comes back as an error. Without
// pcall, which could catch the end of the steps; load, io, os, debug; pairs and next, whose order
// is another in each process; and functions whose loops in C no hook ends, as string.rep.
int MakeGlobals(lua_State* lua) {
  luaL_requiref(lua, LUA_GNAME, luaopen_base, 0);
  KeepOnly(lua, {"assert", "error", "ipairs", "select", "tonumber", "type"});
  luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 0);
  KeepOnly(lua,
           {"abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
            "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
            "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult"});
  lua_setfield(lua, -2, LUA_MATHLIBNAME);
  luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 0);
  KeepOnly(lua, {"byte", "len", "lower", "sub", "upper"});
  // Of strings themselves, as in name:sub(1, 3): the whole library was set by luaopen_string.
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 2);
  lua_setfield(lua, -2, LUA_STRLIBNAME);
  luaL_requiref(lua, LUA_TABLIBNAME, luaopen_table, 0);
  // Not insert and remove: on a table with holes they may take as long as numbers are large, in C,
  // where no step is counted.
  KeepOnly(lua, {"sort"});
  lua_setfield(lua, -2, LUA_TABLIBNAME);
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  return 0;
}

void SetNumber(lua_State* lua, const char* field, double value) {
  lua_pushnumber(lua, value);
  lua_setfield(lua, -2, field);
}

void SetInteger(lua_State* lua, const char* field, int64_t value) {
  lua_pushinteger(lua, value);
  lua_setfield(lua, -2, field);
}

void SetText(lua_State* lua, const char* field, const std::string& value) {
  lua_pushlstring(lua, value.data(), value.size());
  lua_setfield(lua, -2, field);
}

void PushFields(lua_State* lua, const PendingJob& job) {
  lua_createtable(lua, 0, 8);
  SetInteger(lua, "id", job.id.value());
  SetInteger(lua, "priority", job.priority);
  SetText(lua, "tenant", job.tenant);
  SetInteger(lua, "memory_bytes", job.memory_bytes);
  if (job.seconds_left.has_value()) SetNumber(lua, "seconds_left", *job.seconds_left);
  if (job.deadline.has_value()) {
    SetNumber(lua, "deadline", static_cast<double>(job.deadline->ns()) * 1e-9);
  }
}

void PushFields(lua_State* lua, const DeviceSnapshot& device) {
  lua_createtable(lua, 0, 12);
  SetText(lua, "node", device.key.node);
  SetText(lua, "name", device.key.name);
  SetInteger(lua, "memory_bytes", device.memory_bytes);
  SetInteger(lua, "memory_free_bytes", device.memory_free_bytes);
  SetInteger(lua, "resident", device.resident);
  SetInteger(lua, "resident_limit", device.resident_limit);
  SetNumber(lua, "bubble_share", device.bubble_share);
  SetNumber(lua, "filled_share", device.filled_share);
  SetNumber(lua, "load_seconds", device.load_seconds);
}

// lua_CFunction(function's name, the noun): what the function returns for it. Nothing in here needs
// a destructor, since errors jump over it.
template <typename Noun>
int CallWithFields(lua_State* lua) {
  const auto* noun = static_cast<const Noun*>(lua_touserdata(lua, 2));
  lua_getglobal(lua, lua_tostring(lua, 1));
  PushFields(lua, *noun);
  lua_call(lua, 1, LUA_MULTRET);
  return lua_gettop(lua) - 2;
}

}  // namespace

struct LuaPolicy::Script {
  explicit Script(std::string origin_in)
      : origin(std::move(origin_in)), lua(lua_newstate(Allocate, &memory)) {}
  ~Script() {
    if (lua != nullptr) lua_close(lua);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Calls what lies on the stack below `arguments` values.
  absl::Status Call(int arguments) {
    memory.left_bytes = kBytesMax;
    lua_sethook(lua, StopAtLimit, LUA_MASKCOUNT, kStepsMax);
    const int result = lua_pcall(lua, arguments, LUA_MULTRET, 0);
    lua_sethook(lua, nullptr, 0, 0);
    if (result == LUA_OK) return absl::OkStatus();
    return absl::InvalidArgumentError(ErrorText(result));
  }

  // Takes the error off the stack.
  std::string ErrorText(int result) {
    std::string text;
    if (result == LUA_ERRMEM) {
      text = absl::StrCat(origin, ": more than ", kBytesMax, " bytes of memory in one call");
    } else {
      size_t size = 0;
      const char* message =
          lua_type(lua, -1) == LUA_TSTRING ? lua_tolstring(lua, -1, &size) : nullptr;
      text = message == nullptr ? absl::StrCat(origin, ": failed with something that is no text")
                                : std::string(message, size);
    }
    lua_settop(lua, 0);
    return text;
  }

  template <typename Noun>
  absl::StatusOr<Score> ScoreOf(const char* function, const Noun& noun, size_t* results) {
    lua_settop(lua, 0);
    lua_pushcfunction(lua, CallWithFields<Noun>);
    // Both as they are: pushing them allocates at most a short string.
    memory.left_bytes = kBytesMax;
    lua_pushstring(lua, function);
    lua_pushlightuserdata(lua, const_cast<Noun*>(&noun));
    const absl::Status called = Call(2);
    if (!called.ok()) return called;
    Score score;
    const int count = lua_gettop(lua);
    const auto bad = [&](absl::string_view what) {
      lua_settop(lua, 0);
      return absl::InvalidArgumentError(absl::StrCat(origin, ": function ", function, " ", what));
    };
    if (count < 1 || count > kResultsMax) return bad("must return 1 to 4 numbers");
    for (int i = 1; i <= count; ++i) {
      if (lua_type(lua, i) != LUA_TNUMBER) return bad("returned something that is no number");
      score.push_back(lua_tonumber(lua, i));
      if (!std::isfinite(score.back())) return bad("returned a number that is not finite");
    }
    if (*results == 0) *results = score.size();
    if (*results != score.size()) return bad("must return as many numbers each time");
    lua_settop(lua, 0);
    return score;
  }

  // The score; zeros once the script has failed.
  template <typename Noun>
  Score Try(const char* function, const Noun& noun, size_t* results) {
    if (error.ok()) {
      const absl::StatusOr<Score> score = ScoreOf(function, noun, results);
      if (score.ok()) return *score;
      error = score.status();
    }
    return Score(*results, 0.0);
  }

  absl::Status Run(const std::string& text) {
    lua_pushcfunction(lua, MakeGlobals);
    int result = lua_pcall(lua, 0, 0, 0);
    // Text only: bytecode is not checked by Lua and could do anything.
    if (result == LUA_OK) {
      result =
          luaL_loadbufferx(lua, text.data(), text.size(), absl::StrCat("@", origin).c_str(), "t");
    }
    if (result != LUA_OK) return absl::InvalidArgumentError(ErrorText(result));
    const absl::Status ran = Call(0);
    if (!ran.ok()) return ran;
    lua_settop(lua, 0);
    if (lua_getglobal(lua, "job") != LUA_TFUNCTION) {
      return absl::InvalidArgumentError(
          absl::StrCat(origin, ": defines no function job(j), which scores a waiting job"));
    }
    const int device_type = lua_getglobal(lua, "device");
    has_device = device_type == LUA_TFUNCTION;
    if (device_type != LUA_TFUNCTION && device_type != LUA_TNIL) {
      return absl::InvalidArgumentError(absl::StrCat(origin, ": device is no function"));
    }
    lua_settop(lua, 0);
    return absl::OkStatus();
  }

  const std::string origin;
  Memory memory;
  lua_State* const lua;  // uses `memory`
  bool has_device = false;
  size_t job_results = 0;  // numbers that a call returns; 0 = none was made
  size_t device_results = 0;
  absl::Status error;
};

LuaPolicy::LuaPolicy(std::unique_ptr<Script> script) : script_(std::move(script)) {}

LuaPolicy::~LuaPolicy() = default;

absl::StatusOr<std::unique_ptr<Policy>> LuaPolicy::Load(const std::string& text,
                                                        const std::string& origin) {
  auto script = std::make_unique<Script>(origin);
  if (script->lua == nullptr) return absl::ResourceExhaustedError("no memory for Lua");
  const absl::Status ran = script->Run(text);
  if (!ran.ok()) return ran;
  return std::unique_ptr<Policy>(new LuaPolicy(std::move(script)));
}

std::string LuaPolicy::name() const { return absl::StrCat("lua:", script_->origin); }

Score LuaPolicy::ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const {
  return script_->Try("job", job, &script_->job_results);
}

Score LuaPolicy::ScoreDevice(const DeviceSnapshot& device) const {
  if (!script_->has_device) return {};
  return script_->Try("device", device, &script_->device_results);
}

absl::Status LuaPolicy::error() const { return script_->error; }

}  // namespace pipefill
