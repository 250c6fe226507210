// Nothing of it is used by kernels.
