"""stub until the commands exist"""


def run() -> int:
    return 0
