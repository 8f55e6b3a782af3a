// Texts of a pool as the keys of order statistics.
#pragma once

#include "slidefold/engine/counts.hpp"

namespace slidefold::bindings {

// The keys of texts in order.
struct TextKeys {
  struct Key {
    const engine::Text* text = nullptr;
    bool operator==(const Key& other) const { return text == other.text; }
    bool operator<(const Key& other) const { return text->view() < other.text->view(); }
    bool operator<=(const Key& other) const { return !(other < *this); }
    bool operator>=(const Key& other) const { return !(*this < other); }
  };
  static Key key(engine::Word word) { return {engine::text_at(word)}; }
  static engine::Word word(Key key) { return reinterpret_cast<engine::Word>(key.text); }
};

}  // namespace slidefold::bindings
