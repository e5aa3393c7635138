-- Records: five bodies in a list, their fields read and written in place; 20 000
-- steps of the outer planets around the sun.
SET ?b AS [
  {x: 0.5, y: 0.25, z: 0.125, vx: 0.015625, vy: 0.0078125, vz: 0.00390625, mass: 39.47841760435743},
  {x: 4.84143144246472, y: -1.16032004402743, z: -0.103622044471123, vx: 0.606326392995832, vy: 2.81198684491626, vz: -0.0252183616598876, mass: 0.0376936749096657},
  {x: 8.34336671824458, y: 4.1247985641243, z: -0.403523417114321, vx: -1.01077434617879, vy: 1.82566237123041, vz: 0.00841576137658415, mass: 0.0112863261319687},
  {x: 12.8943695621391, y: -15.1111514016986, z: -0.223307578892656, vx: 1.08279100644154, vy: 0.868713018169608, vz: -0.0108326374013636, mass: 0.00172372405705971},
  {x: 15.3796971148509, y: -25.919314609988, z: 0.179258772950371, vx: 0.979090732243898, vy: 0.594698998647676, vz: -0.0347559555078104, mass: 0.00203368686992463}
]
SET ?dt AS 0.01
FOR ?step FROM 1 TO 20_000 DO
  FOR ?i FROM 0 TO 4 DO
    FOR ?j FROM ?i + 1 TO 4 DO
      SET ?dx AS ?b[?i].x - ?b[?j].x
      SET ?dy AS ?b[?i].y - ?b[?j].y
      SET ?dz AS ?b[?i].z - ?b[?j].z
      SET ?square AS ?dx * ?dx + ?dy * ?dy + ?dz * ?dz
      SET ?mag AS ?dt / (?square * SQRT(?square))
      SET ?mi AS ?b[?i].mass * ?mag
      SET ?mj AS ?b[?j].mass * ?mag
      SET ?b[?i].vx AS ?b[?i].vx - ?dx * ?mj
      SET ?b[?i].vy AS ?b[?i].vy - ?dy * ?mj
      SET ?b[?i].vz AS ?b[?i].vz - ?dz * ?mj
      SET ?b[?j].vx AS ?b[?j].vx + ?dx * ?mi
      SET ?b[?j].vy AS ?b[?j].vy + ?dy * ?mi
      SET ?b[?j].vz AS ?b[?j].vz + ?dz * ?mi
    END
  END
  FOR ?i FROM 0 TO 4 DO
    SET ?b[?i].x AS ?b[?i].x + ?dt * ?b[?i].vx
    SET ?b[?i].y AS ?b[?i].y + ?dt * ?b[?i].vy
    SET ?b[?i].z AS ?b[?i].z + ?dt * ?b[?i].vz
  END
END

EMIT FLOOR(?b[0].x * 1000) + FLOOR(?b[4].y * 1000)
