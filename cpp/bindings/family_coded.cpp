// Operators over types that the native ones do not know: a codec in front of an operator.
#include <nanobind/stl/string.h>

#include "codec.hpp"
#include "family.hpp"
#include "forwarding.hpp"

namespace slidefold::bindings {
namespace {

struct Coded {
  PortTable table;
  ErasedOp inner;
  std::vector<CodecPtr> codecs;  // of a value, or of the parts of a tuple
  CodecPtr result;

  Coded(const ErasedOp& op, std::vector<CodecPtr> in, CodecPtr out)
      : table(Forwarding<Coded>::table(op)),
        inner(op),
        codecs(std::move(in)),
        result(std::move(out)) {
    table.lift = [](const void* self, PyObject* value, void* out) {
      using Front = Forwarding<Coded>;
      const nb::object code = Front::at(self).encoded(value);
      Front::port(self).lift(Front::context(self), code.ptr(), out);
    };
    table.lower = [](const void* self, const void* state, bool empty) {
      using Front = Forwarding<Coded>;
      const nb::object code =
          nb::steal(Front::port(self).lower(Front::context(self), state, empty));
      return decoded(*Front::at(self).result, code).release().ptr();
    };
    table.columns = [](const void* self, nb::handle values,
                       ResultCount count) -> std::unique_ptr<ErasedColumns> {
      return std::make_unique<Columns>(Forwarding<Coded>::at(self), values, count);
    };
  }
  const void* combining() const { return inner.context.get(); }

  nb::object encoded(PyObject* value) const {
    if (value == Py_None) return nb::none();
    if (codecs.size() == 1) return nb::steal(codecs[0]->in(value));
    if (!PyTuple_Check(value)) return nb::borrow(value);  // the operator itself refuses it
    return each_part(value, [](const Codec& codec, nb::handle item) -> nb::object {
      return item.is_none() ? nb::none() : nb::steal(codec.in(item.ptr()));
    });
  }

  // A tuple of its parts: the first has a codec, and all that follow have one.
  template <class Code>
  nb::object each_part(nb::handle tuple, Code&& code) const {
    nb::list parts;
    for (const nb::handle part : tuple) {
      parts.append(code(*codecs[nb::len(parts) == 0 ? 0 : 1], part));
    }
    return nb::steal(PyList_AsTuple(parts.ptr()));
  }

 private:
  // A whole column: encoded before it is read, decoded when it is done.
  struct Columns final : ErasedColumns {
    std::unique_ptr<ErasedColumns> inner;
    CodecPtr result;
    Columns(const Coded& op, nb::handle values, ResultCount count) : result(op.result) {
      nb::object codes;
      if (op.codecs.size() == 1) {
        codes = column(*op.codecs[0], values);
      } else if (PyTuple_Check(values.ptr())) {
        codes = op.each_part(values, column);
      } else {
        codes = nb::borrow(values);  // the operator itself refuses it
      }
      inner = ports(op.inner).columns(op.inner.context.get(), codes, count);
    }
    static nb::object column(const Codec& codec, nb::handle values) {
      const Sequence items(values);
      nb::list codes;
      const Signals signals;
      Pacer pace;
      for (std::size_t i = 0; i < items.size(); ++i) {
        pace();
        codes.append(items[i] == Py_None ? nb::none() : nb::steal(codec.in(items[i])));
      }
      return codes;
    }
    std::size_t rows() const override { return inner->rows(); }
    bool needs_gil() const override { return inner->needs_gil(); }
    bool null(std::size_t row) const override { return inner->null(row); }
    bool any_null() const override { return inner->any_null(); }
    void refuse_nulls() const override { inner->refuse_nulls(); }
    void lift(std::size_t row, void* out) const override { inner->lift(row, out); }
    void lower(std::size_t row, const void* state) override { inner->lower(row, state); }
    bool lower_or_blank(std::size_t row, const void* state, bool empty) override {
      return inner->lower_or_blank(row, state, empty);
    }
    void blank(std::size_t row) override { inner->blank(row); }
    void lower_empty(std::size_t row) override { inner->lower_empty(row); }
    nb::object finish() override {
      nb::object found = inner->finish();
      if (!PyList_CheckExact(found.ptr())) found = found.attr("tolist")();
      return decoded(*result, found);
    }
  };
};

}  // namespace

MaybeMade coded_family(const Spec& spec) {
  if (spec.name != "coded") return {};
  const Spec inner = spec_from(spec.params["inner"]);
  std::vector<CodecPtr> codecs;
  for (const nb::handle name : nb::object(spec.params["codecs"])) {
    codecs.push_back(codec_named(nb::cast<std::string>(name)));
  }
  ErasedOperator erased = erase(inner, false);
  auto coded = std::make_shared<const Coded>(
      erased.op, std::move(codecs), codec_named(nb::cast<std::string>(spec.params["result"])));
  erased.op = {&coded->table.algebra, coded};
  return Made{std::move(erased), traits(inner)};
}

}  // namespace slidefold::bindings
