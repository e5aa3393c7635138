gather "Rate" fields
  score integer min 1 max 5 required,
  note long text
set ?a
gather "Rate this person, and be honest: nobody will see it" fields score integer min 1 max 5 required, note long text set ?a
gather "Rate" fields size choice [
  "S", "M"] required set ?a
