// Before including core/ir/opcode.def: every row macro that the includer did not define falls back to VXLA_ROW, which it
// must define, or to nothing. After the include: core/ir/opcode_rows_end.h undefines them all.
#ifndef VXLA_ROW
#define VXLA_ROW(...)
#endif
#ifndef ELEMENTWISE
#define ELEMENTWISE VXLA_ROW
#endif
#ifndef INDEXING
#define INDEXING VXLA_ROW
#endif
#ifndef ALIAS
#define ALIAS VXLA_ROW
#endif
#ifndef KERNEL
#define KERNEL VXLA_ROW
#endif
#ifndef SCHEDULED
#define SCHEDULED VXLA_ROW
#endif
#ifndef EXPANDED
#define EXPANDED VXLA_ROW
#endif
#ifndef PENDING
#define PENDING VXLA_ROW
#endif
#ifndef UNEVALUATED
#define UNEVALUATED VXLA_ROW
#endif
