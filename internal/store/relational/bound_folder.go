package relational

// BoundFolder returns the mark of the data folder that a database is bound to; "" for none.
func (t Tx) BoundFolder() (mark string, err error) {
	_, err = t.one("SELECT mark FROM bound_folder WHERE one = 1", func(r row) { mark = r.text(0) })
	return mark, err
}

// HasBegun tells whether a server, or a command that makes accounts, has begun with the database.
func (t Tx) HasBegun() (bool, error) {
	return t.has("SELECT 1 FROM bound_folder UNION ALL SELECT 1 FROM master_check LIMIT 1")
}

// JoinNode returns the number of the node with a data folder, which it has from then on: 1 for the folder that
// the database is bound to.
func (t Tx) JoinNode(mark string) (id int64, err error) {
	if id, err = t.FindNode(mark); err != nil || id != 0 {
		return id, err
	}
	bound, err := t.BoundFolder()
	if err != nil {
		return 0, err
	}
	sql := "INSERT INTO nodes (id, mark) SELECT coalesce(max(id), 1) + 1, ? FROM nodes"
	if mark == bound {
		sql = "INSERT INTO nodes (id, mark) VALUES (1, ?)"
	}
	if _, err := t.exec(sql, mark); err != nil {
		return 0, err
	}
	return t.FindNode(mark)
}

// FindNode returns the number of the node with a data folder; 0 for none.
func (t Tx) FindNode(mark string) (id int64, err error) {
	_, err = t.one("SELECT id FROM nodes WHERE mark = ?", func(r row) { id = r.int(0) }, mark)
	return id, err
}

// BoundBlobs returns the mark of the bucket with the contents of files; "" where they are in the data folder that
// the database is bound to.
func (t Tx) BoundBlobs() (mark string, err error) {
	_, err = t.one("SELECT blobs FROM bound_folder WHERE one = 1", func(r row) { mark = r.text(0) })
	return mark, err
}

// BindBlobs notes the mark of the bucket with the contents of files.
func (t Tx) BindBlobs(mark string) error {
	_, err := t.exec("UPDATE bound_folder SET blobs = ? WHERE one = 1", mark)
	return err
}

// BindFolder binds a database to a data folder, unless it is bound, and returns the mark of the folder
// that it is bound to.
func (t Tx) BindFolder(mark string) (bound string, err error) {
	if _, err := t.exec("INSERT INTO bound_folder (one, mark) VALUES (1, ?) ON CONFLICT DO NOTHING", mark); err != nil {
		return "", err
	}
	return t.BoundFolder()
}
