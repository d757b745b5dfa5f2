// Draws of accepted records, for baselines that draw from more than a query asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/alias_table.h"
#include "sampling/sampler.h"

namespace sampling {

// Appends draws until there are k: by rejection, and when that succeeds too rarely, from a list of the accepted
// records. `draw()` returns a record; `visit(f)` calls f with each of `count` records that it may return.
template <typename Draw, typename Visit>
Status DrawAccepted(const Query& query, size_t k, size_t count, Draw draw, Visit visit,
                    Random* random, std::vector<Record>* samples, uint64_t* draws) {
  const size_t most_rejected = 256 + count / 8;
  for (size_t rejected = 0; samples->size() < k && rejected <= most_rejected; ++*draws) {
    const Record& record = draw();
    if (query.Accepts(record)) {
      samples->push_back(record);
    } else {
      ++rejected;
    }
  }
  if (samples->size() == k) return Status::Ok();

  std::vector<Record> accepted;
  std::vector<double> weights;
  visit([&](const Record& record) {
    if (!query.Accepts(record)) return;
    accepted.push_back(record);
    weights.push_back(record.weight);
  });
  const AliasTable table(weights);
  if (!(table.total() > 0)) return NothingToDraw();
  while (samples->size() < k) samples->push_back(accepted[table.Draw(random)]);
  return Status::Ok();
}

}  // namespace sampling
