// What Go 1.26 needs of Windows and Wine 8 lacks, in a DLL that Go's runtime loads before all else.
//
// ProcessPrng: where the runtime takes its random numbers from. Here it is over what Wine does have.
//
// SIO_UDP_CONNRESET and SIO_UDP_NETRESET: package net turns both off on each UDP socket, and without them there is none.
// They have a socket that is not connected report the refusals of earlier datagrams, which Wine's, being Linux's, never
// do. So it is enough to say that they are off: WSAIoctl, as GetProcAddress finds it, comes here.
// NtSetInformationFile: of what it lacks Wine says STATUS_NOT_IMPLEMENTED, Windows STATUS_INVALID_INFO_CLASS, on which
// package os removes files the old way.
#include <winsock2.h>
#include <windows.h>
#include <winternl.h>
#include <string.h>

BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG length); // RtlGenRandom

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length) {
	while (length > 0) {
		ULONG part = length > 1 << 20 ? 1 << 20 : (ULONG)length;
		if (!SystemFunction036(buffer, part))
			return FALSE;
		buffer += part;
		length -= part;
	}
	return TRUE;
}

#define SIO_UDP_CONNRESET _WSAIOW(IOC_VENDOR, 12)
#define SIO_UDP_NETRESET _WSAIOW(IOC_VENDOR, 15)

static int(WINAPI *ioctl)(SOCKET, DWORD, void *, DWORD, void *, DWORD, DWORD *, WSAOVERLAPPED *, LPWSAOVERLAPPED_COMPLETION_ROUTINE);

static int WINAPI wrapped_ioctl(SOCKET s, DWORD code, void *in, DWORD in_size, void *out, DWORD out_size, DWORD *got,
                                WSAOVERLAPPED *ov, LPWSAOVERLAPPED_COMPLETION_ROUTINE done) {
	if ((code == SIO_UDP_CONNRESET || code == SIO_UDP_NETRESET) && in_size >= sizeof(BOOL) && !*(BOOL *)in) {
		if (got)
			*got = 0;
		return 0;
	}
	return ioctl(s, code, in, in_size, out, out_size, got, ov, done);
}

#define STATUS_NOT_IMPLEMENTED ((NTSTATUS)0xc0000002)
#define STATUS_INVALID_INFO_CLASS ((NTSTATUS)0xc0000003)

static NTSTATUS(NTAPI *set_information)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);

static NTSTATUS NTAPI wrapped_set_information(HANDLE file, IO_STATUS_BLOCK *status, void *info, ULONG size, ULONG class) {
	NTSTATUS s = set_information(file, status, info, size, class);
	return s == STATUS_NOT_IMPLEMENTED ? STATUS_INVALID_INFO_CLASS : s;
}

// redirect has the export of a DLL be a jump to f, which has to lie within 4 GiB behind it.
static void *redirect(BYTE *base, const char *name, void *f) {
	IMAGE_NT_HEADERS *nt = (IMAGE_NT_HEADERS *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
	IMAGE_EXPORT_DIRECTORY *dir =
		(IMAGE_EXPORT_DIRECTORY *)(base + nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT].VirtualAddress);
	DWORD *names = (DWORD *)(base + dir->AddressOfNames), *functions = (DWORD *)(base + dir->AddressOfFunctions);
	WORD *ordinals = (WORD *)(base + dir->AddressOfNameOrdinals);
	for (DWORD i = 0; i < dir->NumberOfNames; i++) {
		if (strcmp((char *)base + names[i], name) != 0)
			continue;
		BYTE *jump = NULL;
		for (SIZE_T off = nt->OptionalHeader.SizeOfImage; !jump && off < 0x7fff0000; off += 0x10000) // the granularity
			jump = VirtualAlloc((void *)(((SIZE_T)base + off) & ~(SIZE_T)0xffff), 0x1000, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
		if (!jump || jump < base)
			return NULL;
		memcpy(jump, "\xff\x25\0\0\0\0", 6); // jmp [rip]
		memcpy(jump + 6, &f, sizeof f);
		DWORD *entry = &functions[ordinals[i]], old;
		void *was = base + *entry;
		if (!VirtualProtect(entry, sizeof *entry, PAGE_READWRITE, &old))
			return NULL;
		*entry = (DWORD)(jump - base);
		VirtualProtect(entry, sizeof *entry, old, &old);
		return was;
	}
	return NULL;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved) {
	(void)self, (void)reserved;
	if (reason != DLL_PROCESS_ATTACH)
		return TRUE;
	HMODULE ws2 = LoadLibraryA("ws2_32.dll"), nt = LoadLibraryA("ntdll.dll");
	if (!ws2 || !nt)
		return FALSE;
	ioctl = redirect((BYTE *)ws2, "WSAIoctl", (void *)wrapped_ioctl);
	set_information = redirect((BYTE *)nt, "NtSetInformationFile", (void *)wrapped_set_information);
	return ioctl && set_information;
}
