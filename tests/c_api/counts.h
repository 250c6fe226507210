// What the thread allocates by operator new and how often it locks a mutex, since CountFromHere.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void CountFromHere(void);
// Ends the counting.
void Counted(int* allocations, int* locks);

#ifdef __cplusplus
}
#endif
