#include "engine_inputs.hpp"

#include <cmath>
#include <limits>

#include "expressions_in.hpp"
#include "times.hpp"

namespace slidefold::bindings {

using engine::Kind;

namespace {

[[noreturn]] void refuse(const Input& input, const char* takes, PyObject* value) {
  fail("ValueTypeError",
       "the field '" + input.name + "' must be " + takes + ", got " + shown(value));
}

// A value could not be read, and Python's error is set. That of a method which a class in Python
// defines comes out as it is; any other one is the value's fault.
[[noreturn]] void refuse_unread(const Input& input, const char* takes, PyObject* value) {
  const nb::python_error error;
  for (const char* name : {"__float__", "__index__"}) {
    const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(value)));
    if (PyFunction_Check(nb::getattr(type, name, nb::none()).ptr())) throw nb::python_error(error);
  }
  refuse(input, takes, value);
}

std::int64_t microseconds_of(const Input& input, PyObject* value) {
  try {
    return microseconds(value);
  } catch (nb::python_error& error) {  // a time zone's error comes out as it is
    const nb::object ours = nb::module_::import_("slidefold.errors").attr("ValueTypeError");
    if (nb::hasattr(value, "utcoffset") && !error.matches(ours)) throw;
  }
  refuse(input, "a datetime", value);
}

// Microseconds in units of a column of times.
std::int64_t in_unit(const Input& input, std::int64_t us, PyObject* value) {
  const char unit = input.format[2];
  if (unit == 'u') return us;
  if (unit == 'n') {
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(us, std::int64_t{1000}, &ns)) {
      refuse(input, "a time that fits nanoseconds", value);
    }
    return ns;
  }
  const std::int64_t per = unit == 'm' ? 1000 : 1000000;
  if (us % per != 0) {
    refuse(input, unit == 'm' ? "a time in whole milliseconds" : "a time in whole seconds", value);
  }
  return us / per;
}

}  // namespace

Word word_of(engine::Pool& pool, const Input& input, PyObject* value) {
  const engine::Type& type = input.type;
  if (type.kind == Kind::kText) {
    const bool bytes = input.format.back() == 'z' || input.format.back() == 'Z';
    if (bytes) {
      if (!PyBytes_Check(value)) refuse(input, "bytes", value);
      return pool.add(
          {PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value))});
    }
    if (!PyUnicode_Check(value)) refuse(input, "a string", value);
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) {
      PyErr_Clear();
      refuse(input, "a string without lone surrogates", value);
    }
    return pool.add({text, static_cast<std::size_t>(size)});
  }
  if (type.kind == Kind::kReal) {
    if (PyFloat_CheckExact(value)) return std::bit_cast<Word>(PyFloat_AS_DOUBLE(value));
    if (PyBool_Check(value)) refuse(input, "a number", value);
    double real = PyFloat_AsDouble(value);
    if (real == -1 && PyErr_Occurred() != nullptr) refuse_unread(input, "a number", value);
    if (type.width == 4) real = static_cast<float>(real);
    return std::bit_cast<Word>(real);
  }
  if (type.layout == 'b') {
    if (!PyBool_Check(value)) refuse(input, "True or False", value);
    return value == Py_True ? 1 : 0;
  }
  if (input.format.starts_with("ts") && !PyLong_Check(value)) {
    return static_cast<Word>(in_unit(input, microseconds_of(input, value), value));
  }
  if (PyBool_Check(value) || PyIndex_Check(value) == 0) refuse(input, "an integer", value);
  const nb::object index = nb::steal(PyNumber_Index(value));
  if (!index.is_valid()) refuse_unread(input, "an integer", value);
  if (type.kind == Kind::kUnsigned) {
    const std::uint64_t whole = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() == nullptr) return whole;
  } else {
    int overflow = 0;
    const std::int64_t whole = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    const bool is_unsigned = type.layout == 'u';
    const int bits = 8 * type.width - (is_unsigned ? 0 : 1);
    const bool fits = bits >= 63 || (whole < (std::int64_t{1} << bits) &&
                                     whole >= (is_unsigned ? 0 : -(std::int64_t{1} << bits)));
    if (overflow == 0 && fits) return static_cast<Word>(whole);
  }
  PyErr_Clear();
  refuse(input, ("an integer of " + std::to_string(8 * type.width) + " bits").c_str(), value);
}

namespace {

// A decimal of more than 18 digits, as a whole number of its last digit.
class Wide {
 public:
  explicit Wide(std::string_view bytes) {  // little-endian
    const bool negative = (bytes.back() & 0x80) != 0;
    std::memset(limbs_, negative ? 0xFF : 0, sizeof limbs_);
    std::memcpy(limbs_, bytes.data(), bytes.size());
  }
  bool negative() const { return limbs_[3] >> 63 != 0; }
  std::string digits() const {
    Wide rest = *this;
    if (negative()) rest.negate();
    std::string found;
    do {
      uint128 carry = 0;
      for (int i = 3; i >= 0; --i) {
        carry = carry << 64 | rest.limbs_[i];
        rest.limbs_[i] = static_cast<Word>(carry / 10);
        carry %= 10;
      }
      found.insert(found.begin(), static_cast<char>('0' + static_cast<int>(carry)));
    } while ((rest.limbs_[0] | rest.limbs_[1] | rest.limbs_[2] | rest.limbs_[3]) != 0);
    return found;
  }
  // The digits after 10 to the precision is added: one length, no sign.
  std::string code(const std::string& format) const {
    const int precision = std::atoi(format.c_str() + 2);
    Wide limit(std::string_view("\1\0", 2));
    for (int i = 0; i < precision; ++i) {
      uint128 carry = 0;
      for (Word& limb : limit.limbs_) {
        carry += uint128{limb} * 10;
        limb = static_cast<Word>(carry);
        carry >>= 64;
      }
    }
    uint128 carry = 0;
    for (int i = 0; i < 4; ++i) {
      carry += uint128{limit.limbs_[i]} + limbs_[i];
      limit.limbs_[i] = static_cast<Word>(carry);
      carry >>= 64;
    }
    const std::string found = limit.digits();
    return std::string(found.size() < 39 ? 39 - found.size() : 0, '0') + found;
  }

 private:
  void negate() {
    Word carry = 1;
    for (Word& limb : limbs_) {
      limb = ~limb + carry;
      carry = carry != 0 && limb == 0 ? 1 : 0;
    }
  }
  Word limbs_[4];
};

// The float nearest to a decimal.
double nearest(const engine::Type& type, Word word) {
  const Wide wide(engine::text_of(word));
  const std::string text = wide.digits() + "e" + std::to_string(-type.scale);
  const double size = std::strtod(text.c_str(), nullptr);
  return wide.negative() ? -size : size;
}

// A number in the type of a declared field, as the lowest bytes of a word; nothing if it does not
// fit.
std::optional<Word> coded(const engine::Type& type, const Stored& stored, Word word) {
  Word out = 0;
  const bool real = type.kind == Kind::kReal;
  const int128 unit = type.scale > 0 && type.kind == Kind::kWhole ? power_of_ten(type.scale) : 1;
  const double as_real = real                          ? std::bit_cast<double>(word)
                         : type.kind == Kind::kDecimal ? nearest(type, word)
                         : unit != 1 ? ratio(static_cast<std::int64_t>(word), unit)
                         : type.kind == Kind::kUnsigned
                             ? static_cast<double>(word)
                             : static_cast<double>(static_cast<std::int64_t>(word));
  if (stored.code == 'f') {
    if (stored.bytes == 8) return std::bit_cast<Word>(as_real);
    const auto narrow = static_cast<float>(as_real);
    std::memcpy(&out, &narrow, sizeof narrow);
    return out;
  }
  if (stored.code == 'b') return word != 0 ? 1 : 0;
  int128 whole = type.kind == Kind::kUnsigned
                     ? static_cast<int128>(word)
                     : static_cast<int128>(static_cast<std::int64_t>(word));
  if (whole % unit != 0) return std::nullopt;
  whole /= unit;
  if (real) {
    if (!(std::floor(as_real) == as_real) || !(std::fabs(as_real) < 1.9e19)) return std::nullopt;
    whole = static_cast<int128>(as_real);
  }
  const int bits = 8 * stored.bytes - (stored.code == 'u' ? 0 : 1);
  const int128 limit = int128{1} << bits;
  if (whole >= limit || whole < (stored.code == 'u' ? int128{0} : -limit)) return std::nullopt;
  return static_cast<Word>(static_cast<uint128>(whole));
}

}  // namespace

void Inputs::read_row(engine::Pool& pool, const std::vector<PyObject*>& values) {
  count_ = 1;
  for (std::size_t i = 0; i < given_inputs; ++i) {
    Input& input = inputs[i];
    input.holes = values[i] == Py_None;
    input.valid.assign(1, input.holes ? 0 : 1);
    input.words.assign(1, input.holes ? Word{0} : word_of(pool, input, values[i]));
  }
}

void Inputs::convert(engine::Pool& pool, const Stored& stored, std::vector<Word>& out) const {
  const Input& input = inputs[stored.input];
  out.resize(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const Word word = input.words[i];
    if (stored.reading == Reading::kFlag) {
      out[i] = input.valid[i];
      continue;
    }
    if (input.valid[i] == 0) {
      out[i] = 0;
      continue;
    }
    switch (stored.reading) {
      case Reading::kReal: {
        double real = 0;
        if (input.type.kind == Kind::kReal) {
          real = std::bit_cast<double>(word);
        } else if (input.type.kind == Kind::kUnsigned) {
          real = static_cast<double>(word);
        } else if (input.type.kind == Kind::kDecimal) {
          real = nearest(input.type, word);
        } else if (input.type.scale > 0) {
          real = ratio(static_cast<std::int64_t>(word), power_of_ten(input.type.scale));
        } else {
          real = static_cast<double>(static_cast<std::int64_t>(word));
        }
        out[i] = std::bit_cast<Word>(real);
        break;
      }
      case Reading::kShifted:
        out[i] = word ^ (Word{1} << 63);
        break;
      case Reading::kLatin:
        out[i] = pool.add(latin_text(engine::text_of(word)));
        break;
      case Reading::kOrdered:
        out[i] = pool.add(ordered_text(engine::text_of(word)));
        break;
      case Reading::kDigits:
        out[i] = pool.add(Wide(engine::text_of(word)).code(input.format));
        break;
      case Reading::kCode: {
        const std::optional<Word> fits = coded(input.type, stored, word);
        if (!fits) throw std::domain_error(stored.complaint);
        out[i] = *fits;
        break;
      }
      default:
        out[i] = word;
    }
  }
}

engine::Engine::Given Inputs::given(engine::Pool& pool, std::uint64_t first_number) {
  const Input& clock = inputs[time];
  times_.resize(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    times_[i] = static_cast<engine::Time>(clock.words[i]);
    if (clock.type.kind == Kind::kUnsigned && clock.words[i] >> 63 != 0 && clock.valid[i] != 0) {
      throw std::domain_error("the column '" + clock.name +
                              "' has values that do not fit in a signed 64-bit integer");
    }
  }
  columns_.clear();
  converted_.resize(stored.size());
  for (std::size_t c = 0; c < stored.size(); ++c) {
    if (c == number) {
      numbers_.resize(count_);
      for (std::size_t i = 0; i < count_; ++i) numbers_[i] = first_number + i;
      columns_.push_back(numbers_.data());
    } else if (stored[c].reading == Reading::kRaw) {
      columns_.push_back(inputs[stored[c].input].words.data());
    } else {
      convert(pool, stored[c], converted_[c]);
      columns_.push_back(converted_[c].data());
    }
  }
  bool holes = false;
  for (std::size_t p = 0; p < presences.size(); ++p) holes = holes || has_holes(p);
  const std::size_t bytes = (presences.size() + 7) / 8;
  if (holes) {
    masks_.assign(count_ * bytes, 0xFF);
    for (std::size_t p = 0; p < presences.size(); ++p) {
      for (const std::uint32_t in : presences[p]) {
        if (!inputs[in].holes) continue;
        for (std::size_t i = 0; i < count_; ++i) {
          if (inputs[in].valid[i] == 0) {
            std::uint8_t& mask = masks_[i * bytes + p / 8];
            mask = static_cast<std::uint8_t>(mask & ~(1u << (p % 8)));
          }
        }
      }
    }
  }
  const std::size_t words = key_words();
  keys_.assign(count_ * words, 0);
  for (std::size_t i = 0; i < count_; ++i) {
    Word* const nulls = keys_.data() + i * words + keys.size();
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const Input& input = inputs[keys[k]];
      Word word = input.words[i];
      if (input.valid[i] == 0) {
        word = 0;
        nulls[k / 64] |= Word{1} << (k % 64);
      } else if (input.type.kind == Kind::kReal) {
        const auto real = std::bit_cast<double>(word);
        if (real == 0) word = 0;  // -0.0 is 0.0, and NaN is one key
        if (real != real) word = std::bit_cast<Word>(std::numeric_limits<double>::quiet_NaN());
      }
      keys_[i * words + k] = word;
    }
  }
  return {count_, times_.data(), columns_.data(), holes ? masks_.data() : nullptr, keys_.data()};
}

std::string latin_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text.push_back(c);
    } else {
      text.push_back(static_cast<char>(0xC0 | byte >> 6));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
    }
  }
  return text;
}

std::string latin_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80 || i + 1 == text.size()) {
      bytes.push_back(text[i]);
    } else {
      const auto second = static_cast<unsigned char>(text[++i]);
      bytes.push_back(static_cast<char>((first & 0x03) << 6 | (second & 0x3F)));
    }
  }
  return bytes;
}

std::string ordered_text(std::string_view decimal) {
  std::string bytes(decimal.rbegin(), decimal.rend());
  bytes[0] = static_cast<char>(bytes[0] ^ 0x80);
  return latin_text(bytes);
}

std::string decimal_bytes(std::string_view text) {
  std::string bytes = latin_bytes(text);
  if (!bytes.empty()) bytes[0] = static_cast<char>(bytes[0] ^ 0x80);
  return {bytes.rbegin(), bytes.rend()};
}

PyObject* object_of(const engine::Type& type, const std::string& format, Word word) {
  switch (type.kind) {
    case Kind::kReal:
      return PyFloat_FromDouble(std::bit_cast<double>(word));
    case Kind::kUnsigned:
      return PyLong_FromUnsignedLongLong(word);
    case Kind::kText: {
      const std::string_view text = engine::text_of(word);
      const auto size = static_cast<Py_ssize_t>(text.size());
      const bool bytes = format.back() == 'z' || format.back() == 'Z';
      return bytes ? PyBytes_FromStringAndSize(text.data(), size)
                   : PyUnicode_FromStringAndSize(text.data(), size);
    }
    default:
      if (type.layout == 'b') return PyBool_FromLong(word != 0 ? 1 : 0);
      return PyLong_FromLongLong(static_cast<std::int64_t>(word));
  }
}

}  // namespace slidefold::bindings
