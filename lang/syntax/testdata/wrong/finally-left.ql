DEFINE f()
  FOR ?x IN [1] DO
    TRY
      EMIT 1
    FINALLY
      BREAK
      CONTINUE
      RETURN 1
      STOP
      WHILE TRUE DO
        BREAK
      END
    END
  END
END
