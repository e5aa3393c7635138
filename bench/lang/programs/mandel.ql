-- Floating point: how many points of a 300 × 300 grid over the Mandelbrot set
-- have not escaped after 50 rounds.
SET ?size AS 300
SET ?inside AS 0
FOR ?row FROM 0 TO ?size - 1 DO
  SET ?ci AS ?row / ?size * 2.0 - 1.0
  FOR ?column FROM 0 TO ?size - 1 DO
    SET ?cr AS ?column / ?size * 3.0 - 2.0
    SET ?zr AS 0.0
    SET ?zi AS 0.0
    SET ?rounds AS 0
    WHILE ?rounds < 50 AND ?zr * ?zr + ?zi * ?zi <= 4.0 DO
      SET ?next AS ?zr * ?zr - ?zi * ?zi + ?cr
      SET ?zi AS 2.0 * ?zr * ?zi + ?ci
      SET ?zr AS ?next
      SET ?rounds AS ?rounds + 1
    END
    IF ?rounds = 50 THEN
      SET ?inside AS ?inside + 1
    END
  END
END

EMIT ?inside
