;;emit 1;;emit 2; ;
; emit 3 ;-- three
if true then ; emit 4 ; end ; emit 5
;
emit 6;
