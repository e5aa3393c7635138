THROW "no"
