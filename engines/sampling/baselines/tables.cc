// Baselines over a table: a rebuilt alias table, a Fenwick tree, reservoirs.
#include <cmath>

#include "baselines/table.h"
#include "sampling/alias_table.h"
#include "sampling/baselines.h"

namespace sampling {
namespace {

class StaticAlias final : public WholeTable {
 private:
  void Changed(size_t, double) override { stale_ = true; }
  double Prepare() override {
    if (stale_) {
      std::vector<double> weights;
      weights.reserve(records().size());
      for (const Record& record : records()) weights.push_back(record.weight);
      table_ = AliasTable(weights);
      stale_ = false;
    }
    return table_.total();
  }
  size_t DrawSlot(Random* random) override { return table_.Draw(random); }
  size_t WeightBytes() const override { return table_.bytes(); }

  bool stale_ = false;
  AliasTable table_;
};

class FenwickTree final : public WholeTable {
 private:
  // Node i, from 1, is the sum of the `i & -i` weights that end with weight i - 1.
  void Changed(size_t slot, double weight) override {
    if (slot == weights_.size()) {
      weights_.push_back(weight);
      nodes_.push_back(SumOf(nodes_.size()));
    } else {
      weights_[slot] = weight;
      for (size_t node = slot + 1; node < nodes_.size(); node += node & -node)
        nodes_[node] = SumOf(node);
    }
    if (slot + 1 == weights_.size() && slot == records().size()) {  // the last record went
      weights_.pop_back();
      nodes_.pop_back();
    }
  }
  double SumOf(size_t node) const {
    double sum = weights_[node - 1];
    for (size_t width = 1; width < (node & -node); width *= 2) sum += nodes_[node - width];
    return sum;
  }
  double Prepare() override {
    double total = 0;
    for (size_t node = weights_.size(); node > 0; node &= node - 1) total += nodes_[node];
    return total_ = total;
  }
  size_t DrawSlot(Random* random) override {
    while (true) {  // rounding may lead behind the last slot, or to one without weight
      double rest = random->Real() * total_;
      size_t node = 0;
      size_t width = 1;
      while (width * 2 < nodes_.size()) width *= 2;
      for (; width > 0; width /= 2) {
        if (node + width < nodes_.size() && nodes_[node + width] <= rest) {
          node += width;
          rest -= nodes_[node];
        }
      }
      if (node < weights_.size() && weights_[node] > 0) return node;
    }
  }
  size_t WeightBytes() const override {
    return (weights_.capacity() + nodes_.capacity()) * sizeof(double);
  }

  std::vector<double> weights_;
  std::vector<double> nodes_ = {0};  // the first one is unused
  double total_ = 0;
};

class Reservoir final : public Table {
 private:
  void Changed(size_t, double) override {}
  size_t WeightBytes() const override { return 0; }

  // Each of k reservoirs takes a record with probability weight / weights so far. The gaps between the reservoirs
  // that take one record are geometric, so the pass skips those that do not.
  Status Draw(const Query& query, size_t k, Random* random, std::vector<Record>* samples) override {
    double total = 0;
    for (const Record& record : records()) {
      if (!(record.weight > 0) || !query.Accepts(record)) continue;
      total += record.weight;
      if (samples->empty()) {
        samples->assign(k, record);
        continue;
      }
      const double log_stay = std::log1p(-record.weight / total);
      const auto gap = [&] { return std::floor(std::log1p(-random->Real()) / log_stay); };
      const auto end = static_cast<double>(k);
      for (double at = gap(); at < end; at += 1 + gap())
        (*samples)[static_cast<size_t>(at)] = record;
    }
    return samples->empty() ? NothingToDraw() : Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Sampler> MakeStaticAlias() { return std::make_unique<StaticAlias>(); }
std::unique_ptr<Sampler> MakeFenwickTree() { return std::make_unique<FenwickTree>(); }
std::unique_ptr<Sampler> MakeReservoir() { return std::make_unique<Reservoir>(); }

}  // namespace sampling
