"""Decontamination: is a candidate, or any text, already in a benchmark, or twice in one collection?"""
