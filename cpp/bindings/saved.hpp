// The payload of to_bytes: what a face keeps, and how often its operator combined.
#pragma once

#include <memory>
#include <string_view>

#include "python.hpp"

namespace slidefold::bindings {

template <class AnyFace>
void save_face(Saver& a, AnyFace& face) {
  face.save(a);
  if (face.combines != nullptr) a(face.combines->load());
}

// Checks what it has loaded; the combines of that check do not count.
template <class AnyFace>
void load_face(Loader& a, AnyFace& face) {
  face.load(a);
  std::int64_t combines = 0;
  if (face.combines != nullptr) a.count(combines);
  face.check();
  if (face.combines != nullptr) face.combines->store(combines);
}

inline nb::bytes as_bytes(const Saver& saver) {
  return nb::bytes(saver.bytes().data(), saver.bytes().size());
}

inline std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

template <class AnyFace>
nb::bytes saved(AnyFace& face) {
  Saver saver;
  save_face(saver, face);
  return as_bytes(saver);
}

// A face like `fresh` with the state of these bytes: nothing is seen of it unless all of it is.
template <class AnyFace>
std::unique_ptr<AnyFace> loaded(const AnyFace& fresh, const nb::bytes& bytes) {
  std::unique_ptr<AnyFace> face = fresh.clone();
  Loader loader(view_of(bytes));
  load_face(loader, *face);
  loader.finish();
  return face;
}

}  // namespace slidefold::bindings
