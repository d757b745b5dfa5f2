// What /proc and the page cache hold of this process and its files: memory, descriptors, calls.
// Owns nothing. Linux only. Pure reads, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace kvdyno::testing {

uint64_t ResidentBytes();   // of this process, after the allocator gave back what it only keeps
uint64_t AnonymousBytes();  // RssAnon of this process
uint64_t CachedBytes(const std::string& directory);  // of all files in it, in the page cache
uint64_t OpenFileDescriptors();                      // of this process

// The number behind `name`, a word of the file; with an empty name the first. 0 if there is none.
uint64_t ProcNumber(const std::string& path, const std::string& name);

}  // namespace kvdyno::testing
