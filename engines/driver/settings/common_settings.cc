// Checks that every driver makes. Settings are a value; nothing here is shared.
#include "settings/common_settings.h"

namespace kvdyno {

Status CommonSettings::CheckCommon(const std::string& engine_name) const {
  if (!db_name.empty() && db_name != engine_name) {
    return Status::InvalidArgument("dbname: expected '" + engine_name +
                                   "', which this program drives, got '" + db_name +
                                   "'; run kvdyno-" + db_name);
  }
  if (data_dir.empty())
    return Status::InvalidArgument("data.dir: expected the store's directory, got nothing");
  return Status::Ok();
}

}  // namespace kvdyno
