"""The C type `Call`: invalid arguments do not crash the process, and nothing leaks."""

from __future__ import annotations

import subprocess
import sys
import textwrap

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
        ({"unit_norms": (1,)}, (TypeError, ValueError)),
        ({"unit_norms": ((0, 0),)}, (TypeError, ValueError)),
        ({"unit_norms": ((0, 0, 3),)}, ValueError),
        ({"unit_norms": ((0, -1, 1),)}, ValueError),
        ({"unit_norms": ((0, 0, 0),)}, ValueError),
        ({"unit_norms": ((1, 0, 1),)}, ValueError),
        ({"unit_norms": ((-1, 0, 1),)}, ValueError),
        ({"unit_norms": ((0, 2**63 - 1, 1),)}, ValueError),
        ({"unit_norms": ((0, 1, 2**63 - 1),)}, ValueError),
        ({"unit_norms": None}, TypeError),
        ({"norm_limits": "some"}, TypeError),
        ({"norm_limits": (1.0,)}, TypeError),
        ({"norm_limits": None}, TypeError),
        ({"slow": make()}, TypeError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_an_invalid_call_is_rejected(changes, error):
    with pytest.raises(error):
        make(**changes)


def test_a_call_needs_all_of_its_arguments():
    for count in range(9):
        with pytest.raises(TypeError):
            Call(*list(GIVEN.values())[:count])
    with pytest.raises(TypeError):
        Call(*GIVEN.values(), 1)


@pytest.mark.parametrize("args", [(), (1,), (None,), (np.zeros(2),), (np.zeros((5, 2)), 3)])
@pytest.mark.parametrize("named", [{}, {"x": 1}])
def test_without_code_every_call_goes_to_slow(args, named):
    assert make()(*args, **named) == ("slow", args, named)


def test_slow_may_raise_or_not_be_callable():
    def angry(*args: object) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        make(slow=angry)()
    with pytest.raises(TypeError):
        make(slow=None)()


def test_an_uninitialized_call_raises():
    call = Call.__new__(Call)
    with pytest.raises(RuntimeError, match="initialized"):
        call()
    with pytest.raises(RuntimeError, match="initialized"):
        call(np.zeros(2))
    with pytest.raises(RuntimeError, match="initialized"):
        call._use(1, 0, 1, 1, None)
    with pytest.raises(ValueError, match="run: "):
        call._run((), (), 0, None)


@pytest.mark.parametrize(
    "args",
    [
        (),
        (0, 0, 1, 1),
        (0, 0, 0, 1, None),
        (0, 0, 1, -1, None),
        ("a", 0, 1, 1, None),
        (0, 0, 2**70, 1, 0),
    ],
)
def test_use_rejects_invalid_arguments(args):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        make()._use(*args)


def test_a_null_address_removes_the_code():
    call = make()
    call._use(0, 0, 1, 1, None)
    assert call(np.zeros(2))[0] == "slow"
    with pytest.raises(ValueError, match="run: "):
        call._run((np.zeros((1, 2)),), (np.zeros((1, 4)),), 1, None)


TWO, FOUR = np.zeros((5, 2)), np.zeros((5, 4))
READ_ONLY = FOUR.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "args",
    [
        (),
        ((TWO,), (FOUR,), 5),
        ([TWO], (FOUR,), 5, None),
        ((TWO,), [FOUR], 5, None),
        ((TWO,), FOUR, 5, None),
        ((), (), 5, None),
        ((TWO, TWO), (FOUR,), 5, None),
        ((TWO,), (FOUR, FOUR), 5, None),
        ((TWO,), (FOUR,), -1, None),
        ((TWO,), (FOUR,), 4, None),
        ((TWO,), (FOUR,), 6, None),
        ((TWO,), (FOUR,), 0, None),
        ((TWO,), (FOUR,), 2**62, None),
        ((TWO,), (FOUR,), 2**70, None),
        ((TWO,), (FOUR,), 0.5, None),
        ((TWO,), (FOUR,), 5, "2"),
        ((TWO[:4],), (FOUR,), 5, None),
        ((TWO[:0],), (FOUR,), 5, None),
        ((TWO[:, :1],), (FOUR,), 5, None),
        ((TWO[::-1],), (FOUR,), 5, None),
        ((TWO[0],), (FOUR,), 5, None),
        ((TWO.astype("f4"),), (FOUR,), 5, None),
        ((TWO.astype(">f8"),), (FOUR,), 5, None),
        ((TWO.astype(object),), (FOUR,), 5, None),
        ((TWO,), (FOUR[:1],), 5, None),
        ((TWO,), (FOUR.astype("f4"),), 5, None),
        ((TWO,), (FOUR[..., ::-1],), 5, None),
        ((TWO,), (FOUR.reshape(5, 2, 2),), 5, None),
        ((TWO,), (READ_ONLY,), 5, None),
        ((None,), (FOUR,), 5, None),
        ((TWO,), (None,), 5, None),
        ((TWO.tolist(),), (FOUR,), 5, None),
    ],
    ids=str,
)
def test_run_rejects_arrays_that_do_not_match(kernel, args):
    before = FOUR.copy()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        kernel._run(*args)
    np.testing.assert_array_equal(FOUR, before)


def test_run_writes_its_rows_and_nothing_else(kernel):
    q = np.linspace(-1, 1, 26).reshape(13, 2)
    expected = kernel(q).reshape(13, 4)
    for start in range(13):
        for stop in range(start, 14):
            out = np.full((13, 4), 7.0)
            assert kernel._run((q[start:stop],), (out[start:stop],), stop - start, None) is True
            np.testing.assert_allclose(out[start:stop], expected[start:stop], rtol=1e-13)
            np.testing.assert_array_equal(out[:start], 7.0)
            np.testing.assert_array_equal(out[stop:], 7.0)
            kernel._run((q[:1],), (out[start:stop],), stop - start, None)
            np.testing.assert_allclose(out[start:stop] - expected[0], 0.0, atol=1e-13)


HOSTILE = {
    "initialised again with other sizes": """
        for _ in range(100):
            again(((1,),), ((1,),), (), (0.0, 0.0), False, False, False, 6, None, lambda *_: "slow")
            attempt(lambda: kernel(np.zeros(1)))
        """,
    "initialised again with less to keep": """
        again(((2,),), ((1,),), (), (0.0, 0.0), False, False, False, 6, None, lambda *args: "slow")
        for _ in range(100):
            attempt(lambda: kernel(np.zeros(2)))
        """,
    "initialised again and failing half-way": """
        for bad in (("x",), ((1,), "x")):
            again(((1,),), bad, (), (0.0, 0.0), False, False, False, 6, None, print)
            ones = (np.zeros((1, 1)),) * len(bad)
            for _ in range(100):
                attempt(lambda: kernel._run((np.zeros((1, 1)),), ones, 1, None))
        """,
    "initialised again for float32": """
        again(((2,),), ((2, 2),), (), (0.0, 0.0), True, False, False, 6, None, lambda *args: "slow")
        for _ in range(100):
            attempt(lambda: kernel(np.zeros(2, "f4")))
        """,
    "slow is itself": """
        import functools
        def make(slow):
            call = Call.__new__(Call)
            Call.__init__(call, ((1,),), ((1,),), (), (0.0, 0.0), False, False, False, 6, None,
                          slow(call))
            return call
        attempt(lambda: make(lambda call: call))
        attempt(make(functools.partial))
        attempt(make(lambda call: lambda *args: call(*args)))
        """,
    "slow deletes itself": """
        import gc
        class Own(Call):
            pass
        def slow(*args):
            holder.clear()
            gc.collect()
            return "gone"
        holder = [Own(((1,),), ((1,),), (), (0.0, 0.0), False, False, False, 6, None, slow)]
        assert holder[0]() == "gone"
        """,
    "a number of rows that shrinks the array": """
        array, out = np.zeros((100_000, 2)), np.zeros((100_000, 4))
        class Odd:
            def __index__(self):
                array.resize((1, 2), refcheck=False)
                return 100_000
        attempt(lambda: kernel._run((array,), (out,), Odd(), None))
        """,
    "a number of rows that brings other sizes": """
        class Odd:
            def __index__(self):
                again(((2,),), ((1,),) * 30, (), (0.0, 0.0), False, False, False, 6, None, print)
                return 3
        attempt(lambda: kernel._run((np.zeros((3, 2)),), (np.zeros((3, 4)),), Odd(), None))
        """,
    "used without having been made": """
        for call in (Call.__new__(Call), type("Own", (Call,), {}).__new__(Call)):
            attempt(call)
            attempt(lambda: call(np.zeros(2), out=np.zeros(3), threads=2))
            attempt(lambda: call._use(0, 0, 1, 1, None))
            attempt(lambda: call._use(1, 1, 1, 1, None))
            attempt(lambda: call._run((), (), 3, None))
            attempt(lambda: Call.__init__(call, 3))
            attempt(call)
        """,
    "made by an argument while it is made": """
        def make(call, size, check):
            Call.__init__(call, ((size,),), ((size,),), (), (0.0, 0.0), False, check, False, 6,
                          None, lambda *args: "slow")
        class Odd:
            def __bool__(self):
                make(call, 2, False)
                return False
        call = Call.__new__(Call)
        attempt(lambda: make(call, 50_000, Odd()))
        assert call(np.zeros(2)) == "slow"
        """,
    "poses made by an argument while they are made": """
        from linkwork.workcell._poses import Poses
        from linkwork.workcell.kinematics.steps import StepBuilder
        (frames, slots, *rest), *arrays = StepBuilder(
            lw.WorkCell("bench").with_joint("hinge", "revolute")).arrays()
        class Odd:
            def __index__(self):
                poses.__init__((frames, slots, *rest), *arrays)
                return 1_000_000
        poses = Poses.__new__(Poses)
        attempt(lambda: poses.__init__((Odd(), Odd(), *rest), *arrays))
        found = poses.run(np.zeros(1), np.zeros(0, np.int32), None, -1, None, None)
        assert found.shape == (frames, 4, 4)
        """,
    "made half-way and used": """
        call = Call.__new__(Call)
        for _ in range(20):
            attempt(lambda: Call.__init__(call, ((2,),), ((2,),), ((5, 0, 1),), (0.0, 0.0),
                                          False, False, False, 6, None, print))
            attempt(lambda: call(np.zeros(2)))
            attempt(lambda: call._use(0, 0, 1, 1, None))
        """,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_hostile_use_crashes_the_process(case):
    code = """
        from linkwork.engine.kernel._call import Call
        kernel = floater(floating=False).function("mass_matrix")
        kernel.warmup()
        def attempt(what):
            try:
                what()
            except (KeyError, TypeError, ValueError, RuntimeError, RecursionError):
                pass
        def again(*args):
            attempt(lambda: Call.__init__(kernel, *args))
        """
    returncode, _, err = run_python(code + HOSTILE[case], PYTHONMALLOC="debug")
    assert (returncode, err) == (0, "")


def test_a_python_whose_gil_is_disabled_is_rejected():
    """Such as a free-threaded Python with PYTHON_GIL=0, which no extension can override."""
    code = """
    import sys
    sys._is_gil_enabled = lambda: False
    import linkwork
    linkwork.KinDyn
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ImportError: linkwork needs the GIL" in done.stderr
    assert "PYTHON_GIL=1" in done.stderr
