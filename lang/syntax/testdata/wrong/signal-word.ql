SIGNAL paid TO ?job
