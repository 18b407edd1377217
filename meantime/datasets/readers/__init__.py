"""Readers of the formats that other tools and publishers write, one file a format.

Each says in its text which command or download makes its input. `meantime.datasets.formats` lists them.
"""
