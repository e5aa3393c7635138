package relational

// BoundFolder returns the mark of the data folder that a database is bound to; "" for none.
func (t Tx) BoundFolder() (mark string, err error) {
	_, err = t.one("SELECT mark FROM bound_folder WHERE one = 1", func(r row) { mark = r.text(0) })
	return mark, err
}

// BindFolder binds a database to a data folder, unless it is bound, and returns the mark of the folder
// that it is bound to.
func (t Tx) BindFolder(mark string) (bound string, err error) {
	if _, err := t.exec("INSERT INTO bound_folder (one, mark) VALUES (1, ?) ON CONFLICT DO NOTHING", mark); err != nil {
		return "", err
	}
	return t.BoundFolder()
}
