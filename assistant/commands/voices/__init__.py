"""The commands `repartee voices ...`: the voices that the program knows by name."""
