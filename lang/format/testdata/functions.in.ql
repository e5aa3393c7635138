define net(?gross,?rate default 0.19) return round(?gross/(1+?rate),2) end
DEFINE Nothing() END
define   done ( ) return end
define lots(?first_parameter default "a long default", ?second_parameter default [1, 2, 3], ?third_parameter default {a: -1}) end
call Nothing() call   lots ( 1 ,2 )
emit net(119),NET( 107 , 0.07 )
