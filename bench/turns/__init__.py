"""Parts of `bench.turn_taking`: figures and tables of turns, and sounds that overlap a reply.

May import `end_of_turn`.
"""
