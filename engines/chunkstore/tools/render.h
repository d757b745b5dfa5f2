// Render: a JSON document as indented text for people. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace chunkstore {

using Json = nlohmann::ordered_json;

// Members one per line; members of lists that hold no further ones, one element per line.
std::string RenderText(const Json& document);
// The document itself; bytes that are not UTF-8 (of paths) become U+FFFD.
std::string RenderJson(const Json& document);

}  // namespace chunkstore
