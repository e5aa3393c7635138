IF !GET('theme') IN ["dark", "light"] THEN
  SET "theme" AS !GET('theme') OF !COOKIE
END
EMIT HTML """<body class="{!COOKIE('theme') DEFAULT "light"}">"""
