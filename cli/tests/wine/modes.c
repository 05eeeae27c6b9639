/* Runs the rest of its command line, and says the modes of the console before and after; its exit code is the command's. */
#include <stdio.h>
#include <string.h>
#include <windows.h>

static BOOL WINAPI ignore(DWORD event)
{
    return event == CTRL_C_EVENT;
}

static void say(const char *when)
{
    DWORD in = 0, out = 0;
    GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &in);
    GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &out);
    printf("(%s %lx %lx)\n", when, in, out);
    fflush(stdout);
}

int main(void)
{
    STARTUPINFOA how = { sizeof how };
    PROCESS_INFORMATION made;
    DWORD code = 99;
    /* The name of this program is its first word, without quotes. */
    char *command = strchr(GetCommandLineA(), ' ');
    SetConsoleCtrlHandler(ignore, TRUE);
    say("before");
    if (command && CreateProcessA(NULL, command + 1, NULL, NULL, TRUE, 0, NULL, NULL, &how, &made)) {
        WaitForSingleObject(made.hProcess, INFINITE);
        GetExitCodeProcess(made.hProcess, &code);
    }
    say("after");
    return code;
}
