// How much memory a store really takes: the process's anonymous pages and the pages of its files
// that the kernel keeps. Linux only. Pure reads.
#pragma once

#include <cstdint>
#include <string>

namespace chunkstore::testing {

uint64_t AnonymousBytes();                           // RssAnon of this process
uint64_t CachedBytes(const std::string& directory);  // of all files in it, in the page cache
uint64_t OpenFileDescriptors();                      // of this process

}  // namespace chunkstore::testing
