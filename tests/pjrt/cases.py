"""What the scripts of JAX programs share: functions that are cases, run by name, each failure told in a line."""

import sys

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def run_cases():
    """Options: --only=PART of a name, --brief. The exit code: 1 where a case failed."""
    only = [argument.removeprefix("--only=") for argument in sys.argv if argument.startswith("--only=")]
    ran = failed = 0
    for name, function in CASES.items():
        if only and not any(part in name for part in only):
            continue
        ran += 1
        try:
            function()
            if "--brief" not in sys.argv:
                print(f"{name}: good", flush=True)
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
    print(f"{ran} cases, {failed} failed")
    sys.stdout.flush()
    if ran == 0:
        print(f"no case is called like {only}")
    return int(failed != 0 or ran == 0)
