share "/a.pdf" set ?url share "/a.pdf" named "june.pdf" for 7 day times 5 set ?url share "/a" unlimited set ?url
share "/reports/2026/june/the-whole-report.pdf" times 5 for 7 days named "report-of-june-2026.pdf" set ?url
unshare ?url
for ?x in [1] do share "/a" set ?url for ?y in [2] do emit ?y end end
