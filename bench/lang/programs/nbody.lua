-- Records: five bodies in a list, their fields read and written in place; 20 000
-- steps of the outer planets around the sun.
local b = {
  {x = 0.5, y = 0.25, z = 0.125, vx = 0.015625, vy = 0.0078125, vz = 0.00390625, mass = 39.47841760435743},
  {x = 4.84143144246472, y = -1.16032004402743, z = -0.103622044471123, vx = 0.606326392995832, vy = 2.81198684491626, vz = -0.0252183616598876, mass = 0.0376936749096657},
  {x = 8.34336671824458, y = 4.1247985641243, z = -0.403523417114321, vx = -1.01077434617879, vy = 1.82566237123041, vz = 0.00841576137658415, mass = 0.0112863261319687},
  {x = 12.8943695621391, y = -15.1111514016986, z = -0.223307578892656, vx = 1.08279100644154, vy = 0.868713018169608, vz = -0.0108326374013636, mass = 0.00172372405705971},
  {x = 15.3796971148509, y = -25.919314609988, z = 0.179258772950371, vx = 0.979090732243898, vy = 0.594698998647676, vz = -0.0347559555078104, mass = 0.00203368686992463},
}
local sqrt = math.sqrt
local dt = 0.01
for step = 1, 20000 do
  for i = 1, 5 do
    for j = i + 1, 5 do
      local dx = b[i].x - b[j].x
      local dy = b[i].y - b[j].y
      local dz = b[i].z - b[j].z
      local square = dx * dx + dy * dy + dz * dz
      local mag = dt / (square * sqrt(square))
      local mi = b[i].mass * mag
      local mj = b[j].mass * mag
      b[i].vx = b[i].vx - dx * mj
      b[i].vy = b[i].vy - dy * mj
      b[i].vz = b[i].vz - dz * mj
      b[j].vx = b[j].vx + dx * mi
      b[j].vy = b[j].vy + dy * mi
      b[j].vz = b[j].vz + dz * mi
    end
  end
  for i = 1, 5 do
    b[i].x = b[i].x + dt * b[i].vx
    b[i].y = b[i].y + dt * b[i].vy
    b[i].z = b[i].z + dt * b[i].vz
  end
end

return math.floor(b[1].x * 1000) + math.floor(b[5].y * 1000)
