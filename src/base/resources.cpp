#include "base/resources.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace mlxforge {
namespace {

// The text of a small system file, or "" when it cannot be read.
std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  if (in) text << in.rdbuf();
  return text.str();
}

// The number that the file begins with; 0 for "max", -1 and files that cannot be read.
double limit_in(const std::string& path) {
  std::istringstream in(read_text(path));
  double limit;
  return in >> limit && limit > 0 ? limit : 0;
}

double cpu_v2(const std::string& group) {  // "max 100000" or "150000 100000", microseconds
  std::istringstream in(read_text(group + "/cpu.max"));
  double quota, period;
  return in >> quota >> period && period > 0 ? quota / period : 0;
}

double cpu_v1(const std::string& group) {
  const double quota = limit_in(group + "/cpu.cfs_quota_us");
  const double period = limit_in(group + "/cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : 0;
}

double memory_v2(const std::string& group) { return limit_in(group + "/memory.max"); }
double memory_v1(const std::string& group) { return limit_in(group + "/memory.limit_in_bytes"); }

// How to read one kind of limit from a group's folder; 0: none.
using ReadLimit = double (*)(const std::string& group);

double lesser(double a, double b) { return a == 0 || (b > 0 && b < a) ? b : a; }

// The least limit on the way from mount/path up to mount; inside a container the path may not exist
// below the mount.
double least_up(const std::string& mount, std::string path, ReadLimit read) {
  double least = 0;
  for (;;) {
    least = lesser(least, read(mount + path));
    if (path.empty()) return least;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

double cgroup_limit(const std::string& root, std::string_view controller, ReadLimit v1,
                    ReadLimit v2) {
  const std::string mount = root + "/sys/fs/cgroup", wanted = "," + std::string(controller) + ",";
  double least = 0;
  std::istringstream groups(read_text(root + "/proc/self/cgroup"));
  // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty())
      least = lesser(least, least_up(mount, path, v2));
    else if (("," + controllers + ",").find(wanted) != std::string::npos)
      least = lesser(least, least_up(mount + "/" + controllers, path, v1));
  }
  return least;
}

}  // namespace

double cgroup_cpu_quota(const std::string& root) {
  return cgroup_limit(root, "cpu", cpu_v1, cpu_v2);
}

int64_t cgroup_memory_limit(const std::string& root) {
  constexpr double kMost = 1e18;  // v1 writes "no limit" as 2^63 less a page
  const double limit = cgroup_limit(root, "memory", memory_v1, memory_v2);
  return limit < kMost ? static_cast<int64_t>(limit) : 0;
}

int default_threads() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cpus = CPU_COUNT(&allowed);
#endif
  const double quota = cgroup_cpu_quota();
  if (quota > 0) cpus = std::min(cpus, static_cast<int>(quota));
  return std::max(cpus, 1);
}

int64_t available_memory(const std::string& root) {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const std::string info = read_text(root + "/proc/meminfo");
  constexpr std::string_view kKey = "MemAvailable:";  // followed by a number of KiB
  if (const size_t at = info.find(kKey); at != std::string::npos)
    bytes = std::stoll(info.substr(at + kKey.size())) * 1024;
  if (const int64_t limit = cgroup_memory_limit(root); limit > 0)
    bytes = std::min(bytes, std::max<int64_t>(limit - resident_memory(root), 0));
  return bytes;
}

int64_t resident_memory(const std::string& root) {
  std::istringstream in(read_text(root + "/proc/self/statm"));  // pages: all, resident, ...
  int64_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return int64_t{usage.ru_maxrss} * 1024;
#endif
}

void release_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace mlxforge
