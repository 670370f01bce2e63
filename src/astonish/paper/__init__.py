"""The paper's figures, from simulation (Faraji, Preuschoff & Gerstner 2018)."""
