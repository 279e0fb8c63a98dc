"""What is loaded once and stays is not for the garbage collector to look at again and again."""

import gc


def settle() -> None:
    """Have the collector leave alone what there is now, for as long as the process runs; call it when much was loaded.

    The libraries alone are some 230,000 objects: a full collection stops every thread for 150 to 250 ms, under load
    every few seconds. What is given up is freed as before; only cycles among what stands now would stay.
    """
    gc.collect()
    gc.freeze()
