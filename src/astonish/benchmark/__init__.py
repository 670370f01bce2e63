"""How good are learners and detectors on public benchmarks, by the rules of each of them?"""
