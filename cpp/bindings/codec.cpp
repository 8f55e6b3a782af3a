#include "codec.hpp"

#include <datetime.h>

#include <cmath>
#include <limits>
#include <optional>

#include "slidefold/operators/arithmetic.hpp"
#include "times.hpp"

namespace slidefold::bindings {
namespace {

void import_datetime() {
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (PyDateTimeAPI == nullptr) throw nb::python_error();
}

PyObject* checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return made;
}

[[noreturn]] void refuse(const std::string& what, PyObject* value) {
  fail("ValueTypeError", "expected " + what + ", got " + shown(value));
}

struct Plain final : Codec {
  PyObject* in(PyObject* value) const override { return Py_NewRef(value); }
  PyObject* out(PyObject* value) const override { return Py_NewRef(value); }
};

struct Narrow final : Codec {
  std::string name;
  std::int64_t least, most;
  Narrow(std::string n, std::int64_t low, std::int64_t high)
      : name(std::move(n)), least(low), most(high) {}
  PyObject* in(PyObject* value) const override {
    const std::int64_t number = to_int64(value);
    if (number < least || most < number) {
      refuse("an integer from " + std::to_string(least) + " to " + std::to_string(most) + " (" +
                 name + ")",
             value);
    }
    return checked(PyLong_FromLongLong(number));
  }
  PyObject* out(PyObject* value) const override { return Py_NewRef(value); }
};

struct Unsigned final : Codec {
  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  PyObject* in(PyObject* value) const override {
    const nb::object whole = nb::steal(PyIndex_Check(value) ? PyNumber_Index(value) : nullptr);
    PyErr_Clear();
    const auto number = whole.is_valid() ? PyLong_AsUnsignedLongLong(whole.ptr()) : 0;
    if (!whole.is_valid() || PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse("an integer from 0 to 18446744073709551615 (uint64)", value);
    }
    return checked(PyLong_FromLongLong(static_cast<std::int64_t>(number ^ kTop)));
  }
  PyObject* out(PyObject* value) const override {
    const auto number = static_cast<std::uint64_t>(to_int64(value));
    return checked(PyLong_FromUnsignedLongLong(number ^ kTop));
  }
};

struct Single final : Codec {
  PyObject* in(PyObject* value) const override {
    return checked(PyFloat_FromDouble(static_cast<double>(static_cast<float>(to_double(value)))));
  }
  PyObject* out(PyObject* value) const override { return Py_NewRef(value); }
};

struct Truth final : Codec {
  PyObject* in(PyObject* value) const override { return checked(PyLong_FromLong(to_bool(value))); }
  PyObject* out(PyObject* value) const override { return PyBool_FromLong(to_int64(value) != 0); }
};

// Only states that were tampered with hold values that their type does not have.
[[noreturn]] void beyond(const char* type) {
  PyErr_Clear();
  fail("ResultOverflowError", std::string("the result is beyond what ") + type + " can hold");
}

PyObject* days_of(std::int64_t days) {
  constexpr std::int64_t most = 999'999'999;  // of a timedelta
  if (days < -most || most < days) beyond("a duration");
  return checked(PyDelta_FromDSU(static_cast<int>(days), 0, 0));
}

PyObject* moved(const nb::object& epoch, const nb::object& since, const char* type) {
  PyObject* made = PyNumber_Add(epoch.ptr(), since.ptr());
  if (made == nullptr) beyond(type);
  return made;
}

PyObject* timedelta_of(std::int64_t microseconds) {
  constexpr std::int64_t day = 86'400'000'000;
  const std::int64_t days = microseconds / day - (microseconds % day < 0 ? 1 : 0);
  const std::int64_t rest = microseconds - days * day;
  return checked(PyDelta_FromDSU(static_cast<int>(days), static_cast<int>(rest / 1'000'000),
                                 static_cast<int>(rest % 1'000'000)));
}

// Whole microseconds; a mean of some is rounded to the nearest.
std::int64_t whole_of(PyObject* value) {
  return PyFloat_Check(value) ? std::llround(PyFloat_AS_DOUBLE(value)) : to_int64(value);
}

struct Duration final : Codec {
  Duration() { import_datetime(); }
  PyObject* in(PyObject* value) const override {
    if (!PyDelta_Check(value)) refuse("a timedelta (duration)", value);
    const int128 microseconds = (static_cast<int128>(PyDateTime_DELTA_GET_DAYS(value)) * 86400 +
                                 PyDateTime_DELTA_GET_SECONDS(value)) *
                                    1'000'000 +
                                PyDateTime_DELTA_GET_MICROSECONDS(value);
    if (microseconds != static_cast<std::int64_t>(microseconds)) {
      refuse("a timedelta of 64 bits in microseconds", value);
    }
    return checked(PyLong_FromLongLong(static_cast<std::int64_t>(microseconds)));
  }
  PyObject* out(PyObject* value) const override { return timedelta_of(whole_of(value)); }
};

struct Days final : Codec {
  Days() { import_datetime(); }
  PyObject* in(PyObject* value) const override { return Py_NewRef(value); }
  PyObject* out(PyObject* value) const override { return days_of(to_int64(value)); }
};

struct Date final : Codec {
  nb::object epoch;
  Date() {
    import_datetime();
    epoch = nb::steal(checked(PyDate_FromDate(1970, 1, 1)));
  }
  PyObject* in(PyObject* value) const override {
    if (!PyDate_Check(value) || PyDateTime_Check(value)) refuse("a date", value);
    const nb::object since = nb::steal(checked(PyNumber_Subtract(value, epoch.ptr())));
    return checked(PyLong_FromLong(PyDateTime_DELTA_GET_DAYS(since.ptr())));
  }
  PyObject* out(PyObject* value) const override {
    return moved(epoch, nb::steal(days_of(to_int64(value))), "a date");
  }
};

struct Timestamp final : Codec {
  bool zoned;
  nb::object epoch;
  explicit Timestamp(bool with_zone) : zoned(with_zone) {
    import_datetime();
    PyObject* zone = zoned ? PyDateTime_TimeZone_UTC : Py_None;
    epoch = nb::steal(checked(PyDateTimeAPI->DateTime_FromDateAndTime(
        1970, 1, 1, 0, 0, 0, 0, zone, PyDateTimeAPI->DateTimeType)));
  }
  PyObject* in(PyObject* value) const override {
    const char* what = zoned ? "a datetime with a time zone (timestamp[UTC])"
                             : "a datetime without a time zone (timestamp)";
    if (!PyDateTime_Check(value)) refuse(what, value);
    PyObject* zone = PyDateTime_DATE_GET_TZINFO(value);
    const bool has_zone = zone == PyDateTime_TimeZone_UTC ||
                          (zone != Py_None && !nb::handle(value).attr("utcoffset")().is_none());
    if (has_zone != zoned) refuse(what, value);
    return checked(PyLong_FromLongLong(microseconds(value)));
  }
  PyObject* out(PyObject* value) const override {
    return moved(epoch, nb::steal(timedelta_of(to_int64(value))), "a datetime");
  }
};

struct Binary final : Codec {
  PyObject* in(PyObject* value) const override {
    if (!PyBytes_Check(value)) refuse("bytes (binary)", value);
    return checked(
        PyUnicode_DecodeLatin1(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value), nullptr));
  }
  PyObject* out(PyObject* value) const override {
    PyObject* bytes = PyUnicode_AsLatin1String(value);
    if (bytes == nullptr) beyond("bytes");
    return bytes;
  }
};

// The Decimal of these digits, `scale` of them behind the point.
nb::object with_point(const std::string& digits, int scale, const nb::object& type) {
  return type(nb::str((digits + "E-" + std::to_string(scale)).c_str()));
}

// A Decimal or an integer times `factor`, which must be a whole number.
nb::object scaled_up(PyObject* value, const nb::object& type, const nb::object& factor,
                     const std::string& name) {
  const bool decimal = PyObject_IsInstance(value, type.ptr()) == 1;
  if (!decimal && (!PyLong_Check(value) || PyBool_Check(value))) refuse("a Decimal", value);
  const nb::object ratio = nb::steal(PyObject_CallMethod(value, "as_integer_ratio", nullptr));
  if (!ratio.is_valid()) {  // NaN and infinities
    PyErr_Clear();
    refuse("a finite Decimal", value);
  }
  const nb::object scaled =
      nb::steal(checked(PyNumber_Multiply(PyTuple_GET_ITEM(ratio.ptr(), 0), factor.ptr())));
  const nb::object both =
      nb::steal(checked(PyNumber_Divmod(scaled.ptr(), PyTuple_GET_ITEM(ratio.ptr(), 1))));
  if (PyObject_IsTrue(PyTuple_GET_ITEM(both.ptr(), 1)) != 0) {
    refuse("a Decimal that fits " + name, value);
  }
  return nb::borrow(PyTuple_GET_ITEM(both.ptr(), 0));
}

// Up to 18 digits, of which `scale` are behind the point.
struct Decimal final : Codec {
  std::string name;
  int scale;
  std::int64_t limit = 1;  // no number has more digits
  nb::object type, factor;
  Decimal(std::string n, int digits, int behind) : name(std::move(n)), scale(behind) {
    type = nb::module_::import_("decimal").attr("Decimal");
    for (int i = 0; i < digits; ++i) limit *= 10;
    factor = nb::steal(checked(PyLong_FromLongLong(power(scale))));
  }
  static std::int64_t power(int n) {
    std::int64_t result = 1;
    while (n-- > 0) result *= 10;
    return result;
  }
  PyObject* in(PyObject* value) const override {
    const nb::object scaled = scaled_up(value, type, factor, name);
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(scaled.ptr(), &overflow);
    if (overflow != 0 || whole >= limit || whole <= -limit) {
      refuse("a Decimal that fits " + name, value);
    }
    return checked(PyLong_FromLongLong(whole));
  }
  PyObject* out(PyObject* value) const override {  // by its digits: no context rounds them
    return with_point(std::to_string(to_int64(value)), scale, type).release().ptr();
  }
};

// Up to 38 digits: integers that are made positive, as strings of one length, which sort as they
// do.
struct WideDecimal final : Codec {
  std::string name;
  int scale;
  nb::object type, factor, limit;  // no number has more digits
  WideDecimal(std::string n, int digits, int behind) : name(std::move(n)), scale(behind) {
    type = nb::module_::import_("decimal").attr("Decimal");
    factor = power(scale);
    limit = power(digits);
  }
  static nb::object power(int n) {
    const nb::object ten = nb::int_(10), exponent = nb::int_(n);
    return nb::steal(checked(PyNumber_Power(ten.ptr(), exponent.ptr(), Py_None)));
  }
  PyObject* in(PyObject* value) const override {
    const nb::object whole = scaled_up(value, type, factor, name);
    const nb::object size = nb::steal(checked(PyNumber_Absolute(whole.ptr())));
    if (PyObject_RichCompareBool(size.ptr(), limit.ptr(), Py_GE) != 0) {
      refuse("a Decimal that fits " + name, value);
    }
    const nb::object moved = nb::steal(checked(PyNumber_Add(whole.ptr(), limit.ptr())));
    return nb::object(nb::str(nb::handle(moved)).attr("zfill")(39)).release().ptr();
  }
  PyObject* out(PyObject* value) const override {
    const nb::object moved = nb::steal(PyLong_FromUnicodeObject(value, 10));
    if (!moved.is_valid()) beyond(name.c_str());
    const nb::object whole = nb::steal(checked(PyNumber_Subtract(moved.ptr(), limit.ptr())));
    return with_point(nb::str(nb::handle(whole)).c_str(), scale, type).release().ptr();
  }
};

// What values beside times give, from steps of those to seconds.
struct Multiple final : Codec {
  double factor;
  explicit Multiple(double f) : factor(f) {}
  PyObject* in(PyObject* value) const override { return Py_NewRef(value); }
  PyObject* out(PyObject* value) const override {
    return checked(PyFloat_FromDouble(to_double(value) * factor));
  }
};

std::optional<Narrow> narrow_named(const std::string& name) {
  const std::size_t sign = name.starts_with("u") ? 1 : 0;
  for (const int bits : {8, 16, 32}) {
    if (name.substr(sign) != "int" + std::to_string(bits)) continue;
    const std::int64_t half = std::int64_t{1} << (bits - 1);
    return sign == 1 ? Narrow(name, 0, 2 * half - 1) : Narrow(name, -half, half - 1);
  }
  return {};
}

}  // namespace

CodecPtr codec_named(const std::string& name) {
  if (name == "plain") return std::make_shared<Plain>();
  if (const auto narrow = narrow_named(name)) return std::make_shared<Narrow>(*narrow);
  if (name == "uint64") return std::make_shared<Unsigned>();
  if (name == "float32") return std::make_shared<Single>();
  if (name == "bool") return std::make_shared<Truth>();
  if (name == "date") return std::make_shared<Date>();
  if (name == "days") return std::make_shared<Days>();
  if (name == "timestamp") return std::make_shared<Timestamp>(false);
  if (name == "timestamp[UTC]") return std::make_shared<Timestamp>(true);
  if (name == "duration") return std::make_shared<Duration>();
  if (name == "binary") return std::make_shared<Binary>();
  int digits = 0, behind = 0;
  if (std::sscanf(name.c_str(), "decimal(%d, %d)", &digits, &behind) == 2 && 1 <= digits &&
      digits <= 38 && 0 <= behind && behind <= digits) {
    if (digits > 18) return std::make_shared<WideDecimal>(name, digits, behind);
    return std::make_shared<Decimal>(name, digits, behind);
  }
  double factor = 0;
  if (std::sscanf(name.c_str(), "times(%lf)", &factor) == 1) {
    return std::make_shared<Multiple>(factor);
  }
  if (CodecPtr sketches = sketch_codec(name)) return sketches;
  fail("ValueTypeError", "there is no dtype '" + name + "'");
}

nb::object decoded(const Codec& codec, nb::handle value) {
  if (value.is_none()) return nb::none();
  if (PyList_CheckExact(value.ptr())) {
    nb::list items;
    for (const nb::handle item : value) items.append(decoded(codec, item));
    return items;
  }
  if (PyTuple_CheckExact(value.ptr())) {
    nb::list items;
    for (const nb::handle item : value) items.append(decoded(codec, item));
    return nb::steal(checked(PyList_AsTuple(items.ptr())));
  }
  return nb::steal(codec.out(value.ptr()));
}

}  // namespace slidefold::bindings
