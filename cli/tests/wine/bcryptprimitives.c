/* The random numbers of Windows 10, which Rust's library asks for and Wine 8 has not, from where Windows XP had them. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG len);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len)
{
    return SystemFunction036(data, (ULONG)len);
}
