// The switch of the seeded bugs; only the build for their test has one.
#include "testing/seeded_bugs.h"

#ifdef CHUNKSTORE_SEEDED_BUGS
namespace chunkstore {
Bug seeded_bug = Bug::kNone;
}  // namespace chunkstore
#endif
