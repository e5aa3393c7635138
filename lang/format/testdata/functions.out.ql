DEFINE net(?gross, ?rate DEFAULT 0.19)
  RETURN ROUND(?gross / (1 + ?rate), 2)
END
DEFINE Nothing()
END
DEFINE done()
  RETURN
END
DEFINE lots(
  ?first_parameter DEFAULT "a long default",
  ?second_parameter DEFAULT [1, 2, 3],
  ?third_parameter DEFAULT {a: -1}
)
END
CALL Nothing()
CALL lots(1, 2)
EMIT net(119), NET(107, 0.07)
