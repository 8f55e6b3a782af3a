"""The glue around a user's compiled functions: it converts between raw bytes and tuples.

The glue is LLVM code, because that compiles quickly: the loop over a column takes 0.1 s, and from
Python source 0.5 s (`ready` in benchmarks/figures/user_operators.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import lower_cast, models, register_model

from slidefold.definition.operators.fields import Layout

if TYPE_CHECKING:
    from slidefold.definition.operators.definition import Definition

_TYPES = {
    "b1": types.boolean,
    **{f"i{size}": getattr(types, f"int{8 * size}") for size in (1, 2, 4, 8)},
    **{f"u{size}": getattr(types, f"uint{8 * size}") for size in (1, 2, 4, 8)},
    "f4": types.float32,
    "f8": types.float64,
}
_pointer = types.voidptr

# The number of pointers that the native core passes. The first is a context, which is not used.
_POINTERS = {"lift": 3, "combine": 4, "lower": 3, "remove": 4, "newer_wins": 3}
_numbers = count()  # machine code is linked by name, so names must be unique


class StateTuple(types.NamedTuple):  # type: ignore[misc]
    """A named tuple that numba can unify with a plain tuple from another branch.

    numba's own named tuples have no common type with tuples whose items all have the same type.
    """

    def unify(self, typing: Any, other: Any) -> Any:
        """Return the tuple type that both can be cast to; None if there is none."""
        if not isinstance(other, types.BaseTuple) or len(other) != len(self):
            return None
        items = [typing.unify_pairs(*pair) for pair in zip(self, other, strict=True)]
        return None if None in items else types.BaseTuple.from_types(items)


def _to_plain(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    items = cgutils.unpack_tuple(builder, value, len(source))
    cast = [context.cast(builder, *item) for item in zip(items, source, target, strict=True)]
    return context.make_tuple(builder, target, cast)


register_model(StateTuple)(models.TupleModel)
for _plain in (types.Tuple, types.UniTuple):
    lower_cast(StateTuple, _plain)(_to_plain)


class Glue:
    """The types of an operator, and its functions over raw bytes."""

    def __init__(self, definition: Definition, memory: Layout, marked: bool) -> None:
        assert definition.state is not None
        state, inputs, results = definition.state, definition.inputs, definition.results
        self.fields = [_TYPES[code] for code in state.codes]
        self.places = memory.offsets[: len(self.fields)]
        self.mark = memory.offsets[-1] if marked else None
        self.size = memory.dtype.itemsize
        self.inputs = [_TYPES[code] for code in inputs.codes]
        self.input_places = inputs.offsets
        self.input_sizes = [int(code[1]) for code in inputs.codes]
        self.one_result = isinstance(results, str)
        if isinstance(results, str):
            results = Layout(("result",), (results,))
        self.results = [_TYPES[code] for code in results.codes]
        self.result_places = results.offsets
        self.result_size = results.dtype.itemsize
        self.state = StateTuple(tuple(self.fields), definition.state_type)
        self.compiled: dict[str, Any] = {}  # numba's results, by function

    def link(self, names: Sequence[str]) -> tuple[Any, dict[str, int]]:
        """Compile functions over raw bytes; return the library that owns them, and addresses."""
        with global_compiler_lock:
            context = cpu_target.target_context
            library = context.codegen().create_library("slidefold")
            module = library.create_ir_module("slidefold")
            symbols = {name: f"slidefold_{next(_numbers)}_{name}" for name in names}
            with context.push_code_library(library):  # casts, such as to bool, add code to it
                for name, symbol in symbols.items():
                    self._write(context, module, name, symbol)
            for result in self.compiled.values():
                library.add_linking_library(result.library)
            library.add_ir_module(module)
            library.finalize()
            addresses = {n: library.get_pointer_to_function(s) for n, s in symbols.items()}
        return library, addresses

    def _write(self, context: Any, module: Any, name: str, symbol: str) -> None:
        pointer, number = (context.get_value_type(kind) for kind in (_pointer, types.intp))
        kinds = [pointer] * _POINTERS.get(name, 0) or [pointer, number, number, pointer, pointer]
        return_type = ir.IntType(8) if name == "newer_wins" else ir.VoidType()
        function = ir.Function(module, ir.FunctionType(return_type, kinds), symbol)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        arguments = function.args if name == "slide" else function.args[1:]
        result = getattr(_Emitter(self, context, builder), f"write_{name}")(*arguments)
        if result is None:
            builder.ret_void()
        else:
            builder.ret(builder.zext(result, return_type))


class _Emitter:
    """The emitter of one function's code. Pointers, rows and states are LLVM values."""

    def __init__(self, glue: Glue, context: Any, builder: Any) -> None:
        self.glue, self.context, self.builder = glue, context, builder

    # ---- the functions over raw bytes

    def write_lift(self, value: Any, out: Any) -> None:
        glue = self.glue
        places = zip(glue.inputs, glue.input_places, strict=True)
        self.store(out, self.lifted([self.get(value, place, item) for item, place in places]))

    def write_combine(self, older: Any, newer: Any, out: Any) -> None:
        """Write `combine`; empty states are neutral and are not passed to the user's function."""
        if self.glue.mark is None:
            return self.write_pair("combine", older, newer, out)
        with self.builder.if_else(self.is_empty(older)) as (no_older, further):
            with no_older:
                self.copy(out, newer)
            with further, self.builder.if_else(self.is_empty(newer)) as (no_newer, both):
                with no_newer:
                    self.copy(out, older)
                with both:
                    self.write_pair("combine", older, newer, out)
        return None

    def write_remove(self, whole: Any, older: Any, out: Any) -> None:
        self.write_pair("remove", whole, older, out)

    def write_pair(self, name: str, older: Any, newer: Any, out: Any) -> None:
        arguments = [self.load(older), self.load(newer)]
        self.store(out, self.as_state(*self.call(name, arguments)))

    def write_lower(self, state: Any, out: Any) -> None:
        self.emit(out, self.number(0), self.load(state))

    def write_newer_wins(self, older: Any, newer: Any) -> Any:
        arguments = [self.load(older), self.load(newer)]
        return self.call("newer_wins", arguments)[0]

    def write_slide(self, inputs: Any, rows: Any, window: Any, folds: Any, out: Any) -> None:
        """Write Two-Stacks over a whole column, with the functions inlined.

        This is the algorithm of `cpp/include/slidefold/columns/two_stacks.hpp`, which cannot inline
        functions compiled here. It processes blocks of `window` rows. `folds` holds the suffix
        folds of the previous block; those of the current block overwrite them from the same end.
        The native core calls it with 1 <= window <= rows.
        """
        builder, number = self.builder, self.number
        one = number(1)
        columns = [self.get(inputs, 8 * i, _pointer) for i in range(len(self.glue.inputs))]
        prefix, suffix = self.variable(self.state_type), self.variable(self.state_type)
        far = builder.sub(window, one)

        def row(at: Any) -> Any:
            return self.lifted(self.row_of(columns, at))

        def place_of(i: Any) -> Any:
            return builder.add(builder.load(first), builder.mul(i, builder.load(step)))

        def slot(i: Any) -> Any:
            """Return the slot of the previous block's suffix fold that starts at its row i."""
            return builder.gep(folds, [place_of(i)])

        def extend(at: Any) -> None:
            builder.store(self.folded(builder.load(prefix), row(at)), prefix)

        def answer(at: Any, i: Any) -> None:
            before = self.load(slot(builder.add(i, one)))
            self.emit(out, at, self.folded(before, builder.load(prefix)))

        builder.store(row(number(0)), prefix)
        self.emit(out, number(0), builder.load(prefix))
        with self.counting(one, window) as at:  # the window still grows
            extend(at)
            self.emit(out, at, builder.load(prefix))

        first, step = self.variable(self.number_type), self.variable(self.number_type)
        base = self.variable(self.number_type)
        builder.store(number(0), first)
        builder.store(number(self.glue.size), step)
        builder.store(window, base)
        with builder.if_then(builder.icmp_signed("<", window, rows)):
            builder.store(row(far), suffix)
            self.store(slot(far), builder.load(suffix))
            with self.counting(one, far) as i:
                at = builder.sub(far, i)
                builder.store(self.folded(row(at), builder.load(suffix)), suffix)
                self.store(slot(at), builder.load(suffix))

        with self.looping(lambda: builder.icmp_signed("<", builder.load(base), rows)):
            start = builder.load(base)
            after = builder.add(start, window)
            last = builder.add(start, far)
            whole = builder.icmp_signed("<=", after, rows)
            builder.store(row(start), prefix)
            with builder.if_else(whole) as (all_of_it, rest):
                with all_of_it:
                    end = row(last)
                    with builder.if_else(builder.icmp_signed(">", window, one)) as (many, single):
                        with many:
                            answer(start, number(0))
                        with single:
                            self.emit(out, start, end)
                    builder.store(end, suffix)
                    self.store(slot(number(0)), end)
                    with self.counting(one, far) as i:
                        at = builder.add(start, i)
                        extend(at)
                        mirrored = row(builder.sub(last, i))
                        builder.store(self.folded(mirrored, builder.load(suffix)), suffix)
                        answer(at, i)
                        self.store(slot(i), builder.load(suffix))
                    with builder.if_then(builder.icmp_signed(">", window, one)):
                        self.emit(out, last, self.folded(builder.load(prefix), end))
                    # The folds were written from the other end, so reverse the direction.
                    builder.store(place_of(far), first)
                    builder.store(builder.neg(builder.load(step)), step)
                with rest:
                    answer(start, number(0))
                    with self.counting(one, builder.sub(rows, start)) as i:
                        at = builder.add(start, i)
                        extend(at)
                        answer(at, i)
            builder.store(after, base)

    # ---- the user's functions

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """Call a user's function; return its result and the type of the result."""
        result = self.glue.compiled[name].fndesc
        function = self.context.declare_function(self.builder.module, result)
        # The status is ignored: an exception leaves zeros, because no caller could catch it.
        _, value = self.context.call_conv.call_function(
            self.builder, function, result.restype, result.argtypes, arguments
        )
        return value, result.restype

    def lifted(self, values: Sequence[Any]) -> Any:
        return self.as_state(*self.call("lift", values))

    def folded(self, older: Any, newer: Any) -> Any:
        return self.as_state(*self.call("combine", [older, newer]))

    def as_state(self, value: Any, kind: Any) -> Any:
        """Cast a function's result to the types of the fields."""
        parts = zip(cgutils.unpack_tuple(self.builder, value), kind, self.glue.fields, strict=True)
        cast = [self.context.cast(self.builder, *part) for part in parts]
        return self.context.make_tuple(self.builder, self.glue.state, cast)

    def emit(self, out: Any, row: Any, state: Any) -> None:
        """Lower a state and store it in a row of the results."""
        glue, builder = self.glue, self.builder
        value, kind = self.call("lower", [state])
        pointer = builder.gep(out, [builder.mul(row, self.number(glue.result_size))])
        values = [value] if glue.one_result else cgutils.unpack_tuple(builder, value)
        kinds = [kind] if glue.one_result else list(kind)
        for part, source, item, place in zip(
            values, kinds, glue.results, glue.result_places, strict=True
        ):
            self.set(pointer, place, item, self.context.cast(builder, part, source, item))

    # ---- memory

    @property
    def state_type(self) -> Any:
        return self.context.get_value_type(self.glue.state)

    @property
    def number_type(self) -> Any:
        return self.context.get_value_type(types.intp)

    def number(self, value: int) -> Any:
        return self.context.get_constant(types.intp, value)

    def variable(self, kind: Any) -> Any:
        return cgutils.alloca_once(self.builder, kind)

    def at(self, pointer: Any, place: int | Any, item: Any) -> Any:
        """Return a typed pointer to the field at offset `place`."""
        offset = self.number(place) if isinstance(place, int) else place
        data = self.context.data_model_manager[item].get_data_type()
        return self.builder.bitcast(self.builder.gep(pointer, [offset]), data.as_pointer())

    def get(self, pointer: Any, place: int | Any, item: Any) -> Any:
        model = self.context.data_model_manager[item]
        return model.from_data(self.builder, self.builder.load(self.at(pointer, place, item)))

    def set(self, pointer: Any, place: int, item: Any, value: Any) -> None:
        model = self.context.data_model_manager[item]
        self.builder.store(model.as_data(self.builder, value), self.at(pointer, place, item))

    def row_of(self, columns: Sequence[Any], row: Any) -> list[Any]:
        """Load the inputs of a row."""
        sizes = map(self.number, self.glue.input_sizes)
        return [
            self.get(column, self.builder.mul(row, size), item)
            for column, size, item in zip(columns, sizes, self.glue.inputs, strict=True)
        ]

    def load(self, pointer: Any) -> Any:
        places = zip(self.glue.fields, self.glue.places, strict=True)
        values = [self.get(pointer, place, item) for item, place in places]
        return self.context.make_tuple(self.builder, self.glue.state, values)

    def store(self, pointer: Any, state: Any) -> None:
        glue = self.glue
        values = cgutils.unpack_tuple(self.builder, state)
        for value, item, place in zip(values, glue.fields, glue.places, strict=True):
            self.set(pointer, place, item, value)
        if glue.mark is not None:
            full = self.context.get_constant(types.uint8, 1)
            self.set(pointer, glue.mark, types.uint8, full)

    def is_empty(self, pointer: Any) -> Any:
        mark = self.get(pointer, self.glue.mark, types.uint8)
        return self.builder.icmp_unsigned("==", mark, self.context.get_constant(types.uint8, 0))

    def copy(self, out: Any, source: Any) -> None:
        cgutils.raw_memcpy(self.builder, out, source, self.number(self.glue.size), 1)

    # ---- loops

    @contextmanager
    def counting(self, start: Any, stop: Any) -> Iterator[Any]:
        """Write a loop from start to stop, without stop."""
        one = self.number(1)
        with cgutils.for_range_slice(self.builder, start, stop, one, stop.type) as (index, _):
            yield index

    @contextmanager
    def looping(self, goes_on: Callable[[], Any]) -> Iterator[None]:
        """Write a loop that runs while a condition holds."""
        test = self.builder.append_basic_block("test")
        body = self.builder.append_basic_block("body")
        end = self.builder.append_basic_block("end")
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.builder.cbranch(goes_on(), body, end)
        self.builder.position_at_end(body)
        yield
        self.builder.branch(test)
        self.builder.position_at_end(end)
