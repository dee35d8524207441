"""The C type `Call` itself: no arguments end the process, nothing leaks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.calls import GIVEN, Call, make
from tests.support.kernels import run_python


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"in_shapes": ((-1,),)}, ValueError),
        ({"in_shapes": ((1.5,),)}, TypeError),
        ({"in_shapes": (("a",),)}, TypeError),
        ({"in_shapes": ((None,),)}, TypeError),
        ({"in_shapes": ((2**70,),)}, OverflowError),
        ({"in_shapes": (2,)}, ValueError),
        ({"in_shapes": [(2,)]}, TypeError),
        ({"in_shapes": None}, TypeError),
        ({"out_shapes": ()}, ValueError),
        ({"out_shapes": (2,)}, ValueError),
        ({"out_shapes": ([2],)}, ValueError),
        ({"out_shapes": ((-1,),)}, ValueError),
        ({"out_shapes": ((2**70,),)}, OverflowError),
        ({"out_shapes": ((2**62, 4),)}, (ValueError, OverflowError)),
        ({"out_shapes": (("a",),)}, TypeError),
        ({"units": (1,)}, (TypeError, ValueError)),
        ({"units": ((0, 0),)}, (TypeError, ValueError)),
        ({"units": ((0, 0, 3),)}, ValueError),
        ({"units": ((0, -1, 1),)}, ValueError),
        ({"units": ((0, 0, 0),)}, ValueError),
        ({"units": ((1, 0, 1),)}, ValueError),
        ({"units": ((-1, 0, 1),)}, ValueError),
        ({"units": ((0, 2**63 - 1, 1),)}, ValueError),
        ({"units": ((0, 1, 2**63 - 1),)}, ValueError),
        ({"units": None}, TypeError),
        ({"most_rows": "many"}, TypeError),
        ({"most_rows": 2**70}, OverflowError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_a_call_that_cannot_be_is_refused(changes, error):
    with pytest.raises(error):
        make(**changes)


def test_a_call_needs_all_of_its_arguments():
    for count in range(7):
        with pytest.raises(TypeError):
            Call(*list(GIVEN.values())[:count])
    with pytest.raises(TypeError):
        Call(*GIVEN.values(), 1)


@pytest.mark.parametrize("args", [(), (1,), (None,), (np.zeros(2),), (np.zeros((5, 2)), 3)])
@pytest.mark.parametrize("named", [{}, {"x": 1}])
def test_without_code_every_call_goes_to_slow(args, named):
    assert make()(*args, **named) == ("slow", args, named)


def test_slow_may_raise_or_be_no_function():
    def angry(*args: object) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        make(slow=angry)()
    with pytest.raises(TypeError):
        make(slow=None)()


def test_a_call_that_was_never_initialised_says_so():
    call = Call.__new__(Call)
    with pytest.raises(RuntimeError, match="the call has no slow path"):
        call()
    with pytest.raises(RuntimeError, match="the call has no slow path"):
        call(np.zeros(2))
    with pytest.raises(ValueError, match="rows: arguments that do not fit the function"):
        call._rows((), (), (), 0, 0)


@pytest.mark.parametrize(
    "args", [(), (0, 0, 1), (0, 0, 0, None), (0, 0, -1, None), ("a", 0, 1, None), (0, 0, 2**70, 0)]
)
def test_use_refuses_what_are_no_addresses(args):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        make()._use(*args)


def test_no_address_is_no_code():
    call = make()
    call._use(0, 0, 1, None)
    assert call(np.zeros(2))[0] == "slow"
    with pytest.raises(ValueError, match="rows: arguments that do not fit the function"):
        call._rows((np.zeros(2),), (2,), (np.zeros(4),), 0, 1)


TWO, FOUR = np.zeros((5, 2)), np.zeros((5, 2, 2))
READ_ONLY = FOUR.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "args",
    [
        (),
        ((TWO,), (2,), (FOUR,), 0),
        ([TWO], (2,), (FOUR,), 0, 1),
        ((TWO,), [2], (FOUR,), 0, 1),
        ((TWO,), (2,), FOUR, 0, 1),
        ((), (), (), 0, 1),
        ((TWO, TWO), (2, 2), (FOUR,), 0, 1),
        ((TWO,), (2, 2), (FOUR,), 0, 1),
        ((TWO,), (2,), (FOUR, FOUR), 0, 1),
        ((TWO,), (1,), (FOUR,), 0, 1),
        ((TWO,), (-2,), (FOUR,), 0, 1),
        ((TWO,), (2**70,), (FOUR,), 0, 1),
        ((TWO,), ("2",), (FOUR,), 0, 1),
        ((TWO,), (None,), (FOUR,), 0, 1),
        ((TWO,), (2,), (FOUR,), -1, 1),
        ((TWO,), (2,), (FOUR,), 3, 2),
        ((TWO,), (2,), (FOUR,), 0, 6),
        ((TWO,), (2,), (FOUR,), 5, 6),
        ((TWO,), (0,), (FOUR,), 0, 6),
        ((TWO[:4],), (2,), (FOUR,), 0, 5),
        ((TWO[:0],), (0,), (FOUR,), 0, 1),
        ((TWO[:, :1],), (2,), (FOUR,), 0, 1),
        ((TWO[::-1],), (2,), (FOUR,), 0, 1),
        ((TWO.astype("f4"),), (2,), (FOUR,), 0, 1),
        ((TWO.astype(">f8"),), (2,), (FOUR,), 0, 1),
        ((TWO.astype(object),), (2,), (FOUR,), 0, 1),
        ((TWO,), (2,), (FOUR.astype("f4"),), 0, 1),
        ((TWO,), (2,), (FOUR[..., ::-1],), 0, 1),
        ((TWO,), (2,), (READ_ONLY,), 0, 1),
        ((None,), (2,), (FOUR,), 0, 1),
        ((TWO,), (2,), (None,), 0, 1),
        ((TWO.tolist(),), (2,), (FOUR,), 0, 1),
        ((TWO,), (2,), (FOUR,), 0.5, 1),
        ((TWO,), (2,), (FOUR,), 0, 2**70),
        ((TWO,), (2,), (FOUR,), 0, 2**62),
        ((TWO,), (2,), (FOUR,), 2**62 - 1, 2**62),
        ((TWO,), (2,), (FOUR,), 2**63 - 2, 2**63 - 1),
        ((TWO,), (0,), (FOUR,), 2**61, 2**61 + 1),
    ],
    ids=str,
)
def test_rows_refuses_arrays_and_ranges_that_do_not_fit(kernel, args):
    before = FOUR.copy()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        kernel._rows(*args)
    np.testing.assert_array_equal(FOUR, before)


def test_rows_writes_its_range_and_nothing_else(kernel):
    q = np.linspace(-1, 1, 26).reshape(13, 2)
    expected = kernel(q)
    for start in range(13):
        for stop in range(start, 14):
            out = np.full((13, 2, 2), 7.0)
            kernel._rows((q,), (2,), (out,), start, stop)
            np.testing.assert_allclose(out[start:stop], expected[start:stop], rtol=1e-13)
            np.testing.assert_array_equal(out[:start], 7.0)
            np.testing.assert_array_equal(out[stop:], 7.0)
            kernel._rows((q[:1],), (0,), (out,), start, stop)
            np.testing.assert_allclose(out[start:stop] - expected[0], 0.0, atol=1e-13)


HOSTILE = {
    "initialised again with other sizes": """
        for _ in range(100):
            again(((1,),), ((1,),), (), False, False, 10, lambda *args: "slow")
            attempt(lambda: kernel(np.zeros(1)))
        """,
    "initialised again with less to keep": """
        again(((2,),), ((1,),), (), False, False, 10, lambda *args: "slow")
        for _ in range(100):
            attempt(lambda: kernel(np.zeros(2)))
        """,
    "initialised again and failing half-way": """
        for bad in (("x",), ((1,), "x")):
            again(((1,),), bad, (), False, False, 10, print)
            ones = (np.zeros(1),) * len(bad)
            for _ in range(100):
                attempt(lambda: kernel._rows((np.zeros(1),), (1,), ones, 0, 1))
        """,
    "initialised again for float32": """
        again(((2,),), ((2, 2),), (), True, False, 10, lambda *args: "slow")
        for _ in range(100):
            attempt(lambda: kernel(np.zeros(2, "f4")))
        """,
    "slow is itself": """
        call = Call.__new__(Call)
        Call.__init__(call, ((1,),), ((1,),), (), False, False, 10, call)
        attempt(call)
        """,
    "slow deletes itself": """
        import gc
        class Own(Call):
            pass
        def slow(*args):
            holder.clear()
            gc.collect()
            return "gone"
        holder = [Own(((1,),), ((1,),), (), False, False, 10, slow)]
        assert holder[0]() == "gone"
        """,
    "a stride that raises": """
        class Odd:
            def __index__(self):
                raise KeyError("odd")
        attempt(lambda: kernel._rows((np.zeros(2),), (Odd(),), (np.zeros(4),), 0, 1))
        """,
    "a stride that shrinks the array it is of": """
        array, out = np.zeros((100_000, 2)), np.zeros((100_000, 2, 2))
        class Odd:
            def __index__(self):
                array.resize((1, 2), refcheck=False)
                return 2
        attempt(lambda: kernel._rows((array,), (Odd(),), (out,), 0, 100_000))
        """,
    "a stride that brings other sizes": """
        class Odd:
            def __index__(self):
                again(((2,),), ((1,),) * 30, (), False, False, 10, print)
                return 2
        attempt(lambda: kernel._rows((np.zeros((3, 2)),), (Odd(),), (np.zeros(4),), 0, 1))
        """,
    "a stride that frees another array": """
        fused = floater(floating=False).function("bias_force")
        fused.warmup()
        holder = [np.zeros((100_000, 2))]
        class Odd:
            def __index__(self):
                holder[0].resize((0, 2), refcheck=False)
                return 2
        inputs = (holder[0], np.zeros((100_000, 2)))
        out = np.zeros((100_000, 2))
        attempt(lambda: fused._rows(inputs, (2, Odd()), (out,), 0, 100_000))
        """,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_hostile_use_ends_the_process(case):
    code = """
        from linkwork.kernel._call import Call
        kernel = floater(floating=False).function("mass_matrix")
        kernel.warmup()
        def attempt(what):
            try:
                what()
            except (KeyError, TypeError, ValueError, RuntimeError):
                pass
        def again(*args):
            attempt(lambda: Call.__init__(kernel, *args))
        """
    returncode, _, err = run_python(code + HOSTILE[case], PYTHONMALLOC="debug")
    assert (returncode, err) == (0, "")
