"""Do our learners make the errors that were published?

An independent test of eight learners: their errors in the Gaussian task of Liakoni, Modirshanechi, Gerstner & Brea
(2021, section 2.3.1 and Figure 3), at the authors' parameters, next to those in the authors' tables, which are not part
of this library.
"""
