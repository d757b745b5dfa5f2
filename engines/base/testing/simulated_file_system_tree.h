// Tree: the directories of a simulated disk, as the process sees them and as they are durable.
// Owns the nodes and the changes of directories that are not durable yet; of files it knows that
// they have content. Knows neither power nor handles. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulated_file_system_content.h"

namespace kvdyno::testing {

struct Node;
using NodePtr = std::shared_ptr<Node>;
using Entries = std::map<std::string, NodePtr>;

struct Node {
  explicit Node(bool is_directory) : directory(is_directory) {}
  const bool directory;
  Content content;       // of a file
  Entries now, durable;  // of a directory
  int opens = 0;         // handles of this power-on
};

class Tree {
 public:
  // Where a path leads: the directory that holds (or would hold) its last name, and what is there.
  struct Place {
    NodePtr parent;  // null: there is no such directory, or the path is the root's
    std::string name;
    NodePtr node;  // null: nothing there
  };

  Tree() : root_(std::make_shared<Node>(true)) {}
  Place Find(const std::string& path) const;

  // Changes of what the process sees, to become durable later.
  NodePtr Add(const Place& place, bool directory);  // nothing is there
  void Remove(const Place& place);
  void Rename(const Place& from, const Place& to);

  void Sync(const NodePtr& directory);
  // A Sync that is interrupted: some of the changes become durable.
  void SyncInPart(const NodePtr& directory, Choices* choices);
  void SyncNewest();  // the last change, and those it builds on
  // What `loss` leaves of directories and files is now durable, and what the process sees.
  void Settle(Loss loss, Choices* choices);

  uint64_t blocks() const { return BlocksBelow(*root_); }

 private:
  using Name = std::pair<const Node*, std::string>;
  // One atomic change: `node` leaves `from` (if that is in a directory) and appears at `to`
  // (likewise).
  struct Change {
    uint64_t number;
    NodePtr node, from_directory, to_directory;
    std::string from, to;

    bool Touches(const NodePtr& directory) const;
    std::vector<Name> Names() const;
    void Apply() const;
  };
  class Group;  // names and nodes that changes have in common

  // Takes out of changes_ what touches the directory (if any) or shares something with `needed`,
  // and whatever that builds on.
  std::vector<Change> Take(const NodePtr& directory, Group needed);
  // Applies some of them; the others go to *dropped.
  static void Keep(const std::vector<Change>& candidates, Choices* choices,
                   std::vector<Change>* dropped);
  static void SettleBelow(const NodePtr& directory, Loss loss, Choices* choices);
  static uint64_t BlocksBelow(const Node& directory);

  NodePtr root_;
  std::vector<Change> changes_;  // oldest first
  uint64_t newest_ = 0;
};

}  // namespace kvdyno::testing
