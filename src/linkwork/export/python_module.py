"""The C code of a Python extension module with the functions, built by `make python`.

It needs neither ctypes nor NumPy. Its functions read and fill any object with the buffer protocol,
such as NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.export.code import Argument, Function, checks_norms
from linkwork.export.package import MARK, GeneratedFunction, Package
from linkwork.version import __version__

_HELPERS = """\
typedef struct {{
  const char *name;
  Py_ssize_t count; /* elements in a row */
}} Port;

static void released(Py_buffer *views, int count)
{{
  for (int k = 0; k < count; ++k) {{
    PyBuffer_Release(&views[k]);
  }}
}}

/* Open the arrays of a call, inputs first; return the number of rows, or -1. */
static Py_ssize_t opened(PyObject *args, const Port *ports, int inputs, int count, Py_buffer *views)
{{
  Py_ssize_t rows = -1;
  if (PyTuple_GET_SIZE(args) != count) {{
    PyErr_Format(PyExc_TypeError, "expected %d arrays, got %zd", count, PyTuple_GET_SIZE(args));
    return -1;
  }}
  for (int k = 0; k < count; ++k) {{
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (k < inputs ? 0 : PyBUF_WRITABLE);
    const Py_ssize_t size = ports[k].count * (Py_ssize_t)sizeof({t});
    if (PyObject_GetBuffer(PyTuple_GET_ITEM(args, k), &views[k], flags)) {{
      released(views, k);
      return -1;
    }}
    rows = k ? rows : views[k].len / size;
    if (strcmp(views[k].format, "{f}") || views[k].len != rows * size) {{
      PyErr_Format(PyExc_ValueError, "%s: expected %zd elements of C type {t} in each of %zd rows",
                   ports[k].name, ports[k].count, rows);
      released(views, k + 1);
      return -1;
    }}
    for (int j = 0; j < k && k >= inputs; ++j) {{
      const char *a = (const char *)views[j].buf, *b = (const char *)views[k].buf;
      if (a < b + views[k].len && b < a + views[j].len) {{
        PyErr_Format(PyExc_ValueError, "%s and %s overlap", ports[j].name, ports[k].name);
        released(views, k + 1);
        return -1;
      }}
    }}
  }}
  return rows;
}}
"""


def module_text(package: Package) -> str:
    """Return the source of the module, whose name is the prefix."""
    t, prefix = package.real.name, package.prefix
    lines = [f"/* A Python module; {MARK} {__version__}. `make python` compiles it. */"]
    lines += ["#define PY_SSIZE_T_CLEAN", "#include <Python.h>", "#include <string.h>", ""]
    lines += [f'#include "{prefix}.h"', ""]
    lines += [_HELPERS.format(t=t, f="d" if t == "double" else "f")]
    methods: list[str] = []
    for one in package.functions:
        name = one.function.name
        short = name.removeprefix(f"{prefix}_")
        lines += [*_wrapper(one, t), ""]
        names = ", ".join(a.name for a in _arrays(one.function))
        methods.append(f'  {{"{short}", py_{name}, METH_VARARGS, "{short}({names})"}},')
    lines += ["static PyMethodDef methods[] = {", *methods, "  {NULL, NULL, 0, NULL}", "};", ""]
    lines += ["static struct PyModuleDef module = {"]
    lines += [f'  PyModuleDef_HEAD_INIT, "{prefix}", NULL, 0, methods, NULL, NULL, NULL, NULL']
    lines += ["};", "", f"PyMODINIT_FUNC PyInit_{prefix}(void)", "{"]
    return "\n".join([*lines, "  return PyModule_Create(&module);", "}"]) + "\n"


def _arrays(function: Function) -> tuple[Argument, ...]:
    return (*function.inputs, *function.outputs)


def _wrapper(one: GeneratedFunction, t: str) -> Iterator[str]:
    function, work = one.function, one.code.work
    arrays, inputs = _arrays(function), len(function.inputs)
    yield f"static PyObject *py_{function.name}(PyObject *self, PyObject *args)"
    yield "{"
    ports = ", ".join(f'{{"{a.name}", {a.port.size}}}' for a in arrays)
    yield f"  static const Port ports[] = {{{ports}}};"
    yield f"  Py_buffer views[{len(arrays)}];"
    yield f"  const Py_ssize_t rows = opened(args, ports, {inputs}, {len(arrays)}, views);"
    yield "  Py_ssize_t row = 0;"
    yield "  (void)self;"
    yield "  if (rows < 0) {"
    yield "    return NULL;"
    yield "  }"
    if work:
        yield f"  {t} *work = ({t} *)PyMem_Malloc({work} * sizeof({t}));"
        yield "  if (!work) {"
        yield f"    released(views, {len(arrays)});"
        yield "    return PyErr_NoMemory();"
        yield "  }"
    arguments = [
        f"({'const ' if k < inputs else ''}{t} *)views[{k}].buf + row * {a.port.size}"
        for k, a in enumerate(arrays)
    ]
    arguments += ["work"] if work else []
    call = f"{function.name}({', '.join(arguments)})"
    yield "  Py_BEGIN_ALLOW_THREADS"
    yield "  for (; row < rows; ++row) {"
    if checks_norms(function):
        yield f"    if ({call}) {{"
        yield "      break;"
        yield "    }"
    else:
        yield f"    {call};"
    yield "  }"
    yield "  Py_END_ALLOW_THREADS"
    if work:
        yield "  PyMem_Free(work);"
    yield f"  released(views, {len(arrays)});"
    yield "  if (row < rows) {"
    message = "row %zd: the norm of a quaternion or (cos, sin) pair is not 1"
    yield f'    return PyErr_Format(PyExc_ValueError, "{message}", row);'
    yield "  }"
    yield "  Py_RETURN_NONE;"
    yield "}"
