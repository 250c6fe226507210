// After including core/ir/opcode.def: undefines the row macros again.
#undef VXLA_ROW
#undef ELEMENTWISE
#undef INDEXING
#undef ALIAS
#undef KERNEL
#undef SCHEDULED
#undef EXPANDED
#undef PENDING
#undef UNEVALUATED
