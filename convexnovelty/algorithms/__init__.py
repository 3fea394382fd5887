"""Algorithms that solve a formulation without a modelling layer: pair-step and block solvers of the dual."""
