// Baselines: other ways to sample a changing set, behind the index's interface, to compare with and to test against.
// One thread at a time.
#pragma once

#include <memory>

#include "sampling/sampler.h"

namespace sampling {

// An alias table over all records, built again by the first query after a change. O(n) per change,
// O(1) per sample. A range is met by rejection.
std::unique_ptr<Sampler> MakeStaticAlias();

// A Fenwick tree over weights (Fenwick 1994), whose nodes are sums made again from their parts, so
// that no rounding error outlives a record. O(log^2 n) per change, O(log n) per sample. A range is met by
// rejection.
std::unique_ptr<Sampler> MakeFenwickTree();

// A B+-tree whose nodes hold their subtrees' weights (Olken 1993). O(log n) per change and per sample,
// with or without a range.
std::unique_ptr<Sampler> MakeAggregateTree();

// One pass over all records per query, with k reservoirs of one record each (Chao 1982). O(1) per
// change, O(n + k log n) per query.
std::unique_ptr<Sampler> MakeReservoir();

}  // namespace sampling
