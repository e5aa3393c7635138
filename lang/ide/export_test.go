package ide

// Renames returns Rename of one text, which is parsed once.
func Renames(text string) func(offset int, name string) ([]Edit, error) { return namesOf(text).rename }
