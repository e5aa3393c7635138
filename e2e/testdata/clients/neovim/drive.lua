-- Drives Neovim as somebody who types: a mistake, its fix, completion, hover, definition, renaming, the
-- written form. The buffer is people.ql, and the folder has a database main with a table people (name, born).
local running

local function keys(typed)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(typed, true, false, true), 'nt', false)
end

local function text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, false), '\n')
end

-- await lets Neovim go on until the condition holds.
local function await(what, condition)
  local start = vim.loop.now()
  while not condition() do
    if vim.loop.now() - start > 60000 then
      error(what .. ' did not come; the text is\n' .. text())
    end
    vim.defer_fn(function() coroutine.resume(running) end, 10)
    coroutine.yield()
  end
end

local function shows(part)
  return function() return text():find(part, 1, true) ~= nil end
end

local function mistakes(n)
  return function() return #vim.diagnostic.get(0) == n end
end

-- floating is what the windows above the text show.
local function floating()
  local shown = ''
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      shown = shown .. text(vim.api.nvim_win_get_buf(window))
    end
  end
  return shown
end

local function clients()
  return (vim.lsp.get_clients or vim.lsp.get_active_clients)()
end

local function drive()
  await('the mistake', mistakes(1))
  local found = vim.diagnostic.get(0)[1]
  assert(found.message == '?woh is never set; ?who is', found.message)
  assert(found.lnum == 2 and found.col == 5 and found.end_col == 9, vim.inspect(found))

  vim.ui.select = function(items, _, choose) choose(items[1], 1) end
  vim.api.nvim_win_set_cursor(0, { 3, 6 })
  vim.lsp.buf.code_action()
  await('the fix', shows('EMIT ?who'))
  await('no mistake', mistakes(0))

  keys('oEMIT UPP<C-x><C-o>')
  await('a function', shows('EMIT UPPER('))
  keys('?w<C-x><C-o>')
  await('a variable', shows('EMIT UPPER(?who'))
  keys(')<Esc>oSELECT bo FROM people SET ?rows<Esc>0foa<C-x><C-o>')
  await('a column', shows('EMIT UPPER(?who)\nSELECT born FROM people SET ?rows'))
  keys('<Esc>')
  await('the end of typing', function() return vim.api.nvim_get_mode().mode == 'n' end)

  vim.api.nvim_win_set_cursor(0, { 4, 7 })
  vim.lsp.buf.hover()
  await('what UPPER does', function() return floating():find('UPPER(text)', 1, true) ~= nil end)
  vim.api.nvim_win_set_cursor(0, { 3, 7 })
  vim.lsp.buf.definition()
  await('the definition', function() return vim.api.nvim_win_get_cursor(0)[1] == 2 end)

  vim.lsp.buf.rename('name')
  await('the new name', shows('?name as "Ada"\nEMIT ?name\nEMIT UPPER(?name)'))
  if vim.lsp.buf.format then
    vim.lsp.buf.format({ timeout_ms = 60000 })
  else
    vim.lsp.buf.formatting_sync(nil, 60000)
  end
  await('the written form', shows('SET ?name AS "Ada"\nEMIT ?name\n'))
  await('no mistake', mistakes(0))

  vim.lsp.stop_client(clients())
  await('the end of the server', function() return #clients() == 0 end)
end

running = coroutine.create(function()
  local ok, wrong = pcall(drive)
  if not ok then
    io.stderr:write(wrong .. '\n')
    vim.cmd('cquit 1')
  end
  vim.cmd('qall!')
end)
coroutine.resume(running)
