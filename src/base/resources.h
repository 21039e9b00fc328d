// What this process may use of the machine's CPUs and memory, and what it uses. Any thread may
// call. Limits are those of the process's cgroup and its ancestors (v1 or v2); `root` is where
// /proc and /sys lie.
#pragma once

#include <cstdint>
#include <string>

namespace mlxforge {

// CPUs this process may use: its affinity mask, cut to the cgroup quota (rounded down: a pool that
// exceeds its quota is stopped for whole scheduling periods). At least 1.
int default_threads();
inline int threads_or_default(int threads) { return threads > 0 ? threads : default_threads(); }

// The CPU quota in cores; 0 when there is none.
double cgroup_cpu_quota(const std::string& root = "");

// Bytes that can be had without swapping: what the system has free or can reclaim, at most what the
// cgroup's limit leaves beside the memory of this process. Where the system does not tell: all.
int64_t available_memory(const std::string& root = "");

// Bytes of this process in memory, now and at most so far. 0 where the system does not tell.
int64_t resident_memory(const std::string& root = "");
int64_t peak_memory();

// Gives the system back what the allocator keeps of freed memory; for the end of loading, which
// frees much of it in small pieces.
void release_free_memory();

// Bytes; 0 when there is no limit.
int64_t cgroup_memory_limit(const std::string& root = "");

}  // namespace mlxforge
