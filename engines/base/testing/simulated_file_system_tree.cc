#include "simulated_file_system_tree.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

namespace kvdyno::testing {

bool Tree::Change::Touches(const NodePtr& directory) const {
  return directory && (from_directory == directory || to_directory == directory);
}

std::vector<Tree::Name> Tree::Change::Names() const {
  std::vector<Name> names;
  if (from_directory) names.emplace_back(from_directory.get(), from);
  if (to_directory) names.emplace_back(to_directory.get(), to);
  return names;
}

void Tree::Change::Apply() const {
  if (from_directory) from_directory->durable.erase(from);
  if (to_directory) to_directory->durable[to] = node;
}

// A change builds on earlier ones that share a name or the node with it: a rename of a file on its
// creation, a creation on the removal of what had the name before. No disk brings back a later
// state of a name without the earlier changes that made it possible.
class Tree::Group {
 public:
  void Add(const Change& change) {
    nodes_.insert(change.node.get());
    for (Name& name : change.Names()) names_.insert(std::move(name));
  }
  bool Shares(const Change& change) const {
    const std::vector<Name> names = change.Names();
    return nodes_.contains(change.node.get()) ||
           std::any_of(names.begin(), names.end(),
                       [this](const Name& name) { return names_.contains(name); });
  }

 private:
  std::set<const Node*> nodes_;
  std::set<Name> names_;
};

Tree::Place Tree::Find(const std::string& path) const {
  Place place{nullptr, "", root_};
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    if (!place.node || !place.node->directory) return {nullptr, name, nullptr};
    const auto found = place.node->now.find(name);
    const NodePtr next = found == place.node->now.end() ? nullptr : found->second;
    place = {place.node, name, next};
  }
  return place;
}

NodePtr Tree::Add(const Place& place, bool directory) {
  assert(place.parent && !place.node);
  auto node = std::make_shared<Node>(directory);
  place.parent->now[place.name] = node;
  changes_.push_back({++newest_, node, nullptr, place.parent, "", place.name});
  return node;
}

void Tree::Remove(const Place& place) {
  assert(place.parent && place.node);
  place.parent->now.erase(place.name);
  changes_.push_back({++newest_, place.node, place.parent, nullptr, place.name, ""});
}

void Tree::Rename(const Place& from, const Place& to) {
  assert(from.node && to.parent && from.node != to.node);
  from.parent->now.erase(from.name);
  to.parent->now[to.name] = from.node;
  changes_.push_back({++newest_, from.node, from.parent, to.parent, from.name, to.name});
}

std::vector<Tree::Change> Tree::Take(const NodePtr& directory, Group needed) {
  std::vector<Change> taken, rest;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    const bool take = change->Touches(directory) || needed.Shares(*change);
    if (take) needed.Add(*change);
    (take ? taken : rest).push_back(*change);
  }
  changes_.assign(rest.rbegin(), rest.rend());
  std::reverse(taken.begin(), taken.end());
  return taken;
}

void Tree::Keep(const std::vector<Change>& candidates, Choices* choices,
                std::vector<Change>* dropped) {
  const uint64_t bias = choices->Bias();
  Group lost;
  for (const Change& change : candidates) {
    if (!lost.Shares(change) && choices->Keep(bias)) {
      change.Apply();
    } else {
      lost.Add(change);
      dropped->push_back(change);
    }
  }
}

void Tree::Sync(const NodePtr& directory) {
  for (const Change& change : Take(directory, Group())) change.Apply();
}

void Tree::SyncInPart(const NodePtr& directory, Choices* choices) {
  std::vector<Change> dropped;
  Keep(Take(directory, Group()), choices, &dropped);
  changes_.insert(changes_.end(), dropped.begin(), dropped.end());
  std::sort(changes_.begin(), changes_.end(),
            [](const Change& a, const Change& b) { return a.number < b.number; });
}

void Tree::SyncNewest() {
  assert(!changes_.empty());
  Group newest;
  newest.Add(changes_.back());
  for (const Change& change : Take(nullptr, std::move(newest))) change.Apply();
}

void Tree::Settle(Loss loss, Choices* choices) {
  if (loss == Loss::kKeepAll) {
    for (const Change& change : changes_) change.Apply();
  } else if (loss != Loss::kDropAll) {
    std::vector<Change> dropped;
    Keep(changes_, choices, &dropped);
  }
  changes_.clear();
  SettleBelow(root_, loss, choices);
}

void Tree::SettleBelow(const NodePtr& directory, Loss loss, Choices* choices) {
  directory->now = directory->durable;
  for (const auto& [name, node] : directory->now) {
    node->opens = 0;
    if (node->directory) {
      SettleBelow(node, loss, choices);
    } else {
      node->content.Settle(loss, choices);
      node->content.Revert();
    }
  }
}

uint64_t Tree::BlocksBelow(const Node& directory) {
  uint64_t blocks = 0;
  for (const auto& [name, node] : directory.now) {
    blocks += node->directory ? BlocksBelow(*node) : node->content.blocks();
  }
  return blocks;
}

}  // namespace kvdyno::testing
