"""All ranks draw points and count those in a circle. Run: mpirun -n 4 python3 pi.py"""
import random

import tern

with tern.Context() as context:
    # One word in the memory of rank 0, to which every rank adds.
    inside = context.alloc(8)
    if context.rank == 0:
        context.store(inside, 0)
    context.broadcast(0, inside)  # where it lies

    # Rank 0 has all the work. Ranks without any take pieces from it, until all is done.
    work = tern.DistributedQueue(context, item="iq", capacity=64)
    if context.rank == 0:
        for piece in range(40):
            work.push((piece, 10000))
    for seed, points in work:
        draw = random.Random(seed).random
        hits = sum(draw() ** 2 + draw() ** 2 < 1 for _ in range(points))
        context.fetch_add(inside, hits)
    if context.rank == 0:
        print(f"pi is about {4 * context.load(inside) / 400000:.5f}")
