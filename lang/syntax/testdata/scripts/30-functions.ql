DEFINE net(?gross, ?rate DEFAULT 0.19)
  RETURN ROUND(?gross / (1 + ?rate), 2)
END
DEFINE line(?label, ?value) RETURN PAD_RIGHT(?label, 20) + TEXT(?value) END
EMIT LINE line("Net", net(119))
EMIT LINE line("Net, reduced", net(107, 0.07))
