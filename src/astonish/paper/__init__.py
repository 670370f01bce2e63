"""The paper's figures, from simulation (Faraji, Preuschoff & Gerstner 2018); `pip install 'astonish[frames,plots]'`."""

from astonish.core.refusal import check_installed

check_installed("figures need", "matplotlib", "pandas")
