// The switches of seeded bugs and moments; only the build for their tests has them.
#include "testing/seeded_bugs.h"

#include "testing/moments.h"

#ifdef CHUNKSTORE_SEEDED_BUGS
namespace chunkstore {
Bug seeded_bug = Bug::kNone;
std::function<void(Moment)> at_moment;
}  // namespace chunkstore
#endif
