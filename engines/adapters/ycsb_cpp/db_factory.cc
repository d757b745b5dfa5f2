// YCSB-cpp's DBFactory without its DBWrapper, which would measure a second time. The class is
// declared by the checkout's header; bindings register with it before main.
#include "core/db_factory.h"

namespace ycsbc {

std::map<std::string, DBFactory::DBCreator>& DBFactory::Registry() {
  static std::map<std::string, DBCreator> registry;
  return registry;
}

bool DBFactory::RegisterDB(std::string db_name, DBCreator db_creator) {
  return Registry().emplace(db_name, db_creator).second;
}

// The binding that the property "dbname" names, or null when it has not registered.
DB* DBFactory::CreateDB(utils::Properties* props, Measurements*) {
  const auto creator = Registry().find((*props)["dbname"]);
  if (creator == Registry().end()) return nullptr;
  DB* db = creator->second();
  db->SetProps(props);
  return db;
}

}  // namespace ycsbc
