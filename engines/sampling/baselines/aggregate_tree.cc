#include <algorithm>
#include <array>
#include <tuple>

#include "baselines/accepted.h"
#include "sampling/alias_table.h"
#include "sampling/baselines.h"

namespace sampling {
namespace {

constexpr size_t kFanout = 64;

struct Node;

// A node's child and what lies below it; or in a leaf, where `node` is null, a record.
struct Child {
  Record least;  // of the pairs below, a lower bound; its weight is the sum below
  std::unique_ptr<Node> node;
};

// Underfull nodes stay as they are; empty ones go.
struct Node {
  bool leaf = true;
  size_t count = 0;
  std::array<Child, kFanout> children;

  double Sum() const {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += children[i].least.weight;
    return sum;
  }
  void InsertAt(size_t at, Child child) {
    std::move_backward(children.begin() + static_cast<ptrdiff_t>(at),
                       children.begin() + static_cast<ptrdiff_t>(count),
                       children.begin() + static_cast<ptrdiff_t>(count) + 1);
    children[at] = std::move(child);
    ++count;
  }
  void RemoveAt(size_t at) {
    std::move(children.begin() + static_cast<ptrdiff_t>(at) + 1,
              children.begin() + static_cast<ptrdiff_t>(count),
              children.begin() + static_cast<ptrdiff_t>(at));
    children[--count] = Child();
  }
  // The upper half, as a node of its own.
  std::unique_ptr<Node> Split() {
    auto upper = std::make_unique<Node>();
    upper->leaf = leaf;
    const size_t kept = count / 2;
    for (size_t i = kept; i < count; ++i) upper->children[upper->count++] = std::move(children[i]);
    count = kept;
    return upper;
  }
};

bool Before(const Record& a, const Record& b) {
  return std::tie(a.key, a.value) < std::tie(b.key, b.value);
}

// The first child whose pair lies behind the record's.
size_t Behind(const Node& node, const Record& record) {
  const auto begin = node.children.begin();
  return static_cast<size_t>(
      std::upper_bound(begin, begin + static_cast<ptrdiff_t>(node.count), record,
                       [](const Record& r, const Child& child) { return Before(r, child.least); }) -
      begin);
}

class AggregateTree final : public Sampler {
 public:
  Status Insert(const Record& record) override {
    if (Status status = CheckRecord(record); !status.ok()) return status;
    Insert(root_.get(), record);
    ++records_;
    if (root_->count == kFanout) {
      auto root = std::make_unique<Node>();
      root->leaf = false;
      std::unique_ptr<Node> upper = root_->Split();
      for (std::unique_ptr<Node>* half : {&root_, &upper}) {
        Record least = (*half)->children[0].least;
        least.weight = (*half)->Sum();
        root->InsertAt(root->count, {least, std::move(*half)});
      }
      root_ = std::move(root);
      ++nodes_;
      ++nodes_;
    }
    return Status::Ok();
  }

  Status Delete(uint64_t key, uint64_t value) override {
    if (!Delete(root_.get(), {key, value, 0})) return Status::NotFound();
    --records_;
    if (root_->count == 0) root_ = std::make_unique<Node>();  // all children went
    return Status::Ok();
  }

  Status Sample(const Query& query, size_t k, Random* random,
                std::vector<Record>* samples) override {
    samples->clear();
    if (Status status = CheckQuery(query, k); !status.ok()) return status;
    samples->reserve(k);
    std::vector<const Child*> cover;
    Cover(*root_, query, UINT64_MAX, &cover);
    std::vector<double> weights;
    for (const Child* child : cover) weights.push_back(child->least.weight);
    const AliasTable table(weights);
    if (!(table.total() > 0)) return NothingToDraw();
    Status status = DrawAccepted(
        query, k, records_,
        [&]() -> const Record& { return Descend(*cover[table.Draw(random)], random); },
        [&](auto visit) {
          for (const Child* child : cover) Visit(*child, visit);
        },
        random, samples, &draws_);
    if (!status.ok()) samples->clear();
    accepted_ += samples->size();
    return status;
  }

  Statistics statistics() const override {
    Statistics statistics;
    statistics.records = records_;
    statistics.bytes = nodes_ * sizeof(Node);
    statistics.draws = draws_;
    statistics.accepted = accepted_;
    return statistics;
  }

 private:
  // The node has room.
  void Insert(Node* node, const Record& record) {
    const size_t behind = Behind(*node, record);
    if (node->leaf) {
      node->InsertAt(behind, {record, nullptr});
      return;
    }
    const size_t at = behind == 0 ? 0 : behind - 1;
    Child& child = node->children[at];
    if (behind == 0) {
      child.least.key = record.key;
      child.least.value = record.value;
    }
    Insert(child.node.get(), record);
    if (child.node->count == kFanout) {
      std::unique_ptr<Node> upper = child.node->Split();
      ++nodes_;
      Record least = upper->children[0].least;
      least.weight = upper->Sum();
      child.least.weight = child.node->Sum();
      node->InsertAt(at + 1, {least, std::move(upper)});
    } else {
      child.least.weight = child.node->Sum();
    }
  }

  bool Delete(Node* node, const Record& pair) {
    const size_t behind = Behind(*node, pair);
    if (behind == 0) return false;
    Child& child = node->children[behind - 1];
    if (node->leaf) {
      if (Before(child.least, pair)) return false;
      node->RemoveAt(behind - 1);
      return true;
    }
    if (!Delete(child.node.get(), pair)) return false;
    if (child.node->count == 0) {
      node->RemoveAt(behind - 1);
      --nodes_;
    } else {
      child.least.weight = child.node->Sum();
    }
    return true;
  }

  // The children that lie within the range, and records at its ends. Keys below the node are at most `last`.
  static void Cover(const Node& node, const Query& query, uint64_t last,
                    std::vector<const Child*>* cover) {
    for (size_t i = 0; i < node.count; ++i) {
      const Child& child = node.children[i];
      const uint64_t child_last = node.leaf            ? child.least.key
                                  : i + 1 < node.count ? node.children[i + 1].least.key
                                                       : last;
      if (child.least.key > query.last) break;
      if (child_last < query.first) continue;
      if (child.least.key >= query.first && child_last <= query.last) {
        cover->push_back(&child);
      } else if (!node.leaf) {
        Cover(*child.node, query, child_last, cover);
      }
    }
  }

  static const Record& Descend(const Child& from, Random* random) {
    const Child* at = &from;
    while (at->node != nullptr) {
      const Node& node = *at->node;
      double rest = random->Real() * at->least.weight;
      size_t chosen = 0;
      for (size_t i = 0; i < node.count; ++i) {
        const double weight = node.children[i].least.weight;
        if (weight > 0) chosen = i;  // rounding may lead behind the last one
        if (rest < weight) break;
        rest -= weight;
      }
      at = &node.children[chosen];
    }
    return at->least;
  }

  template <typename Function>
  static void Visit(const Child& child, Function visit) {
    if (child.node == nullptr) return visit(child.least);
    for (size_t i = 0; i < child.node->count; ++i) Visit(child.node->children[i], visit);
  }

  std::unique_ptr<Node> root_ = std::make_unique<Node>();
  size_t records_ = 0;
  size_t nodes_ = 1;
  uint64_t draws_ = 0;
  uint64_t accepted_ = 0;
};

}  // namespace

std::unique_ptr<Sampler> MakeAggregateTree() { return std::make_unique<AggregateTree>(); }

}  // namespace sampling
