UPDATE t SET ?column = 1;
