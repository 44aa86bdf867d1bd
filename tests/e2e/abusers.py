"""Fill jobs that do what they should not, for abuse_test.py: python3 abusers.py NAME ARGS..."""
import errno
import os
import signal
import sys
import time


def endless_unit():
    """Its second unit never ends."""
    import pipefill
    for number in pipefill.fill(range(3)):
        while number > 0:
            pass


def never_attaches():
    """Burns its core, and knows nothing of bubbles."""
    while True:
        pass


def fork_bomb():
    """Forks until it may not any more, at most 500 times; ends with 1 and says why."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    children = 0
    try:
        while children < 500:
            if os.fork() == 0:
                signal.pause()
            children += 1
    except OSError as error:
        print(f"fork failed after {children} children: {errno.errorcode[error.errno]}", flush=True)
        if error.errno != errno.EAGAIN:
            raise
    time.sleep(3600 if "--wait" in sys.argv else 0)
    return 1


def glutton():
    """Takes a MiB at a time, up to 512."""
    import pipefill
    kept = []
    for _ in pipefill.fill(range(512)):
        kept.append(bytearray(os.urandom(1 << 20)))


def chatterbox():
    """Writes more than its disk holds, as many MiB as told, and does its work all the same."""
    import pipefill
    for _ in pipefill.fill(range(int(sys.argv[2]))):
        sys.stdout.write("blah blah blah\n" * ((1 << 20) // 15))
        sys.stdout.flush()
    print("done", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]())
