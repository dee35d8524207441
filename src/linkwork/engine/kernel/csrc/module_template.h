/* Template of the end of an extension module; the file that includes it defines the function `execute`.
 *
 *     #define MODULE_NAME _call
 *     #define MODULE_DOC "..."
 *     #define MODULE_METHODS methods     or NULL
 *     #include "module_template.h"
 */
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

#define MODULE_TEXT_OF(name) #name
#define MODULE_TEXT(name) MODULE_TEXT_OF(name)
#define MODULE_INIT_OF(name) PyInit_##name
#define MODULE_INIT(name) MODULE_INIT_OF(name)

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = MODULE_TEXT(MODULE_NAME),
    .m_doc = MODULE_DOC,
    .m_methods = MODULE_METHODS,
    .m_slots = module_slots,
};

PyMODINIT_FUNC MODULE_INIT(MODULE_NAME)(void) { return PyModuleDef_Init(&module_definition); }
