#include "registry.hpp"

namespace slidefold::bindings {

FacePtr make_recalc(const Spec&, const Options&);
FacePtr make_subtract_on_evict(const Spec&, const Options&);
FacePtr make_two_stacks(const Spec&, const Options&);
FacePtr make_two_stacks_lite(const Spec&, const Options&);
FacePtr make_daba(const Spec&, const Options&);
FacePtr make_daba_lite(const Spec&, const Options&);
FacePtr make_flat_fat(const Spec&, const Options&);
FacePtr make_flat_fit(const Spec&, const Options&);
FacePtr make_amta(const Spec&, const Options&);
FacePtr make_slick_deque(const Spec&, const Options&);

const std::vector<AlgorithmEntry>& algorithms() {
  static const std::vector<AlgorithmEntry> table = {
      {"recalc", make_recalc, false, false},
      {"subtract_on_evict", make_subtract_on_evict, true, false},
      {"two_stacks", make_two_stacks, false, false},
      {"two_stacks_lite", make_two_stacks_lite, false, false},
      {"daba", make_daba, false, false},
      {"daba_lite", make_daba_lite, false, false},
      {"flat_fat", make_flat_fat, false, false},
      {"flat_fit", make_flat_fit, false, false},
      {"amta", make_amta, false, false},
      {"slick_deque", make_slick_deque, false, true},
  };
  return table;
}

}  // namespace slidefold::bindings
