"""The glue around a user's compiled functions: raw bytes on one side, tuples on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic, lower_cast

from slidefold.operators.fields import Layout

if TYPE_CHECKING:
    from slidefold.operators.definition import Definition

_TYPES = {
    "b1": types.boolean,
    **{f"i{size}": getattr(types, f"int{8 * size}") for size in (1, 2, 4, 8)},
    **{f"u{size}": getattr(types, f"uint{8 * size}") for size in (1, 2, 4, 8)},
    "f4": types.float32,
    "f8": types.float64,
}
_pointer, _rows = types.voidptr, types.intp

# What the native core calls; the first argument is its context, which no function needs.
SIGNATURES = {
    "lift": types.void(_pointer, _pointer, _pointer),
    "combine": types.void(_pointer, _pointer, _pointer, _pointer),
    "lower": types.void(_pointer, _pointer, _pointer),
    "remove": types.void(_pointer, _pointer, _pointer, _pointer),
    "newer_wins": types.boolean(_pointer, _pointer, _pointer),
    "slide": types.void(_pointer, _rows, _rows, _pointer, _pointer),
}


def _named_to_plain(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    items = cgutils.unpack_tuple(builder, value, len(source))
    cast = [context.cast(builder, *item) for item in zip(items, source, target, strict=True)]
    return context.make_tuple(builder, target, cast)


# numba finds a common type for `return older` and `return (1, 2)`, but lacks the cast to it.
for _named in (types.NamedTuple, types.NamedUniTuple):
    for _plain in (types.Tuple, types.UniTuple):
        lower_cast(_named, _plain)(_named_to_plain)


def _tuple_of(items: Sequence[Any], named: type[Any] | None = None) -> Any:
    if named is None:
        return types.Tuple(tuple(items))
    if len(set(items)) == 1:
        return types.NamedUniTuple(items[0], len(items), named)
    return types.NamedTuple(tuple(items), named)


def _at(context: Any, builder: Any, pointer: Any, offset: Any, item: Any) -> Any:
    """A typed pointer to a field that lies `offset` bytes on."""
    if isinstance(offset, int):
        offset = context.get_constant(types.intp, offset)
    data = context.data_model_manager[item].get_data_type()
    moved = builder.gep(pointer, [offset], inbounds=True)
    return builder.bitcast(moved, data.as_pointer())


def _get(context: Any, builder: Any, pointer: Any, offset: Any, item: Any) -> Any:
    model = context.data_model_manager[item]
    return model.from_data(builder, builder.load(_at(context, builder, pointer, offset, item)))


def _set(context: Any, builder: Any, pointer: Any, offset: int, item: Any, value: Any) -> None:
    model = context.data_model_manager[item]
    target = _at(context, builder, pointer, offset, item)
    builder.store(model.as_data(builder, value), target)


class Glue:
    """Loads, stores and the loop over a column for one operator."""

    def __init__(self, definition: Definition, memory: Layout, marked: bool) -> None:
        assert definition.state is not None
        state, inputs, results = definition.state, definition.inputs, definition.results
        self.fields = [_TYPES[code] for code in state.codes]
        self.inputs = [_TYPES[code] for code in inputs.codes]
        self.state = _tuple_of(self.fields, definition.state_type)
        self.size = memory.dtype.itemsize
        self.mark = memory.offsets[-1] if marked else None
        places = memory.offsets[: len(self.fields)]
        self.load = self._loader(self.fields, places, self.state)
        self.store = self._storer(self.fields, places, self.mark)
        self.load_inputs = self._loader(self.inputs, inputs.offsets, _tuple_of(self.inputs))
        if isinstance(results, str):
            self.result_size = _TYPES[results].bitwidth // 8 if results != "b1" else 1
            self.store_result = self._scalar_storer(_TYPES[results])
        else:
            self.result_size = results.dtype.itemsize
            self.store_result = self._storer([_TYPES[c] for c in results.codes], results.offsets)

    # ---- loads and stores

    def _loader(self, items: list[Any], offsets: Sequence[int], made: Any) -> Any:
        @intrinsic
        def load(typing: Any, pointer: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                values = [
                    _get(context, builder, arguments[0], offset, item)
                    for item, offset in zip(items, offsets, strict=True)
                ]
                return context.make_tuple(builder, made, values)

            return made(_pointer), code

        return load

    def _storer(self, items: list[Any], offsets: Sequence[int], mark: int | None = None) -> Any:
        @intrinsic
        def store(typing: Any, pointer: Any, value: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                pointer, value = arguments
                given = cgutils.unpack_tuple(builder, value)
                for item, offset, part, found in zip(
                    items, offsets, given, signature.args[1], strict=True
                ):
                    cast = context.cast(builder, part, found, item)
                    _set(context, builder, pointer, offset, item, cast)
                if mark is not None:
                    full = context.get_constant(types.uint8, 1)
                    _set(context, builder, pointer, mark, types.uint8, full)
                return context.get_dummy_value()

            return types.void(_pointer, value), code

        return store

    def _scalar_storer(self, item: Any) -> Any:
        @intrinsic
        def store(typing: Any, pointer: Any, value: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                cast = context.cast(builder, arguments[1], signature.args[1], item)
                _set(context, builder, arguments[0], 0, item, cast)
                return context.get_dummy_value()

            return types.void(_pointer, value), code

        return store

    def _as_state(self) -> Any:
        """What a function returned, with the types of the fields."""
        made, items = self.state, self.fields

        @intrinsic
        def as_state(typing: Any, value: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                given = cgutils.unpack_tuple(builder, arguments[0])
                found = signature.args[0]
                cast = [
                    context.cast(builder, *part) for part in zip(given, found, items, strict=True)
                ]
                return context.make_tuple(builder, made, cast)

            return made(value), code

        return as_state

    def _row_loader(self) -> Any:
        """The inputs of a row: `inputs` points to one pointer a column."""
        items, made = self.inputs, _tuple_of(self.inputs)

        @intrinsic
        def load_row(typing: Any, inputs: Any, row: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                values = []
                for number, item in enumerate(items):
                    column = _get(context, builder, arguments[0], 8 * number, _pointer)
                    bytes_of = 1 if item is types.boolean else item.bitwidth // 8
                    width = context.get_constant(types.intp, bytes_of)
                    offset = builder.mul(arguments[1], width)
                    values.append(_get(context, builder, column, offset, item))
                return context.make_tuple(builder, made, values)

            return made(_pointer, types.intp), code

        return load_row

    # ---- functions over raw bytes

    def around(self, name: str, function: Any) -> Callable[..., Any]:
        """A compiled function with its glue, to be compiled with the signature of its name."""
        load, store, store_result = self.load, self.store, self.store_result
        load_inputs = self.load_inputs

        def lift(context, value, out):  # type: ignore[no-untyped-def]
            store(out, function(*load_inputs(value)))

        def pair(context, older, newer, out):  # type: ignore[no-untyped-def]
            store(out, function(load(older), load(newer)))

        def lower(context, state, out):  # type: ignore[no-untyped-def]
            store_result(out, function(load(state)))

        def newer_wins(context, older, newer):  # type: ignore[no-untyped-def]
            return function(load(older), load(newer))

        if name == "combine" and self.mark is not None:
            return self._marked_combine(function)
        return {"lift": lift, "lower": lower, "newer_wins": newer_wins}.get(name, pair)

    def _marked_combine(self, function: Any) -> Callable[..., Any]:
        """Empty states are neutral; the user's function does not see them."""
        load, store, mark, size = self.load, self.store, self.mark, self.size

        @intrinsic
        def full(typing: Any, pointer: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return _get(context, builder, arguments[0], mark, types.uint8)

            return types.uint8(_pointer), code

        @intrinsic
        def copy(typing: Any, out: Any, source: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                count = context.get_constant(types.intp, size)
                cgutils.raw_memcpy(builder, arguments[0], arguments[1], count, 1)
                return context.get_dummy_value()

            return types.void(_pointer, _pointer), code

        def combine(context, older, newer, out):  # type: ignore[no-untyped-def]
            if full(older) == 0:
                copy(out, newer)
            elif full(newer) == 0:
                copy(out, older)
            else:
                store(out, function(load(older), load(newer)))

        return combine

    def loop(self, lift: Any, combine: Any, lower: Any) -> Callable[..., Any]:
        """Two-Stacks over a whole column, the functions inlined.

        This is `cpp/include/slidefold/columns/two_stacks.hpp` once more, because a compiled operator
        cannot be inlined there: blocks of `window` rows, the suffix folds of the block before in
        `folds`, read in one direction and overwritten in the same one.
        """
        as_state, load_row = self._as_state(), self._row_loader()
        load, store, store_result = self.load, self.store, self.store_result
        size, result_size = self.size, self.result_size
        moved = _moved()
        njit = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

        @njit
        def lifted(inputs, row):  # type: ignore[no-untyped-def]
            return as_state(lift(*load_row(inputs, row)))

        @njit
        def folded(older, newer):  # type: ignore[no-untyped-def]
            return as_state(combine(older, newer))

        @njit
        def emit(out, row, state):  # type: ignore[no-untyped-def]
            store_result(moved(out, row * result_size), lower(state))

        def slide(inputs, rows, window, folds, out):  # type: ignore[no-untyped-def]
            if rows == 0:
                return
            if window == 1:
                for row in range(rows):
                    emit(out, row, lifted(inputs, row))
                return
            prefix = lifted(inputs, 0)
            emit(out, 0, prefix)
            for row in range(1, window):  # the window still grows
                prefix = folded(prefix, lifted(inputs, row))
                emit(out, row, prefix)
            if window >= rows:
                return
            far = window - 1
            suffix = lifted(inputs, far)
            store(moved(folds, far * size), suffix)
            for i in range(far - 1, 0, -1):
                suffix = folded(lifted(inputs, i), suffix)
                store(moved(folds, i * size), suffix)
            first, step = 0, size  # slot i of the block before lies at first + i * step
            base = window
            while base < rows:
                whole = base + window <= rows
                prefix = lifted(inputs, base)
                emit(out, base, folded(load(moved(folds, first + step)), prefix))
                if whole:
                    suffix = lifted(inputs, base + far)
                    store(moved(folds, first), suffix)
                    for i in range(1, far):
                        prefix = folded(prefix, lifted(inputs, base + i))
                        suffix = folded(lifted(inputs, base + far - i), suffix)
                        before = load(moved(folds, first + (i + 1) * step))
                        emit(out, base + i, folded(before, prefix))
                        store(moved(folds, first + i * step), suffix)
                    emit(out, base + far, folded(prefix, lifted(inputs, base + far)))
                    # The slots were filled from the other end.
                    first, step = first + far * step, -step
                else:
                    for i in range(1, rows - base):
                        prefix = folded(prefix, lifted(inputs, base + i))
                        before = load(moved(folds, first + (i + 1) * step))
                        emit(out, base + i, folded(before, prefix))
                base += window

        return slide


def _moved() -> Any:
    @intrinsic
    def moved(typing: Any, pointer: Any, offset: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.gep(arguments[0], [arguments[1]], inbounds=True)

        return _pointer(_pointer, types.intp), code

    return moved
